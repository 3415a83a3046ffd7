# SPDX-License-Identifier: Apache-2.0
"""Programs for threads as the pipeline makes them, written by hand."""

from te_support.kernels import buffer, index

from axisfold.dtypes import BOOL, INT32, INT64, parse
from axisfold.ir import build
from axisfold.ir.buffer import Buffer, Facts
from axisfold.ir.expr import Broadcast, Call, Compare, Load, Ramp, Var
from axisfold.ir.stmt import (
    Allocate,
    Barrier,
    For,
    If,
    Kernel,
    Launch,
    Let,
    Shuffle,
    Store,
    Ticket,
)

WARP = 32


def size(name):
    return Var(name, INT64, is_size=True)


def array(name, dtype, *shape, bits=64, align=16, **more):
    """Return an argument with extents that may be variables."""
    shape = tuple(build.as_expr(e, INT64) for e in shape)
    return Buffer(name, parse(dtype), shape, facts=Facts(align, (), bits), **more)


def local(name, dtype, count=1):
    return buffer(name, dtype, count, scope="local")


def shared(name, dtype, count, scope="shared"):
    return buffer(name, dtype, count, scope=scope)


def serial(var, extent, *body, stop=None):
    return For(var, index(0), build.as_expr(extent, INT64), "serial", build.seq(*body), stop)


def put(target, value, at=0):
    return Store(target, build.as_expr(at, INT64), value)


def get(source, at=0, **more):
    return Load(source, build.as_expr(at, INT64), **more)


def lanes(base, count):
    return Ramp(build.as_expr(base, INT64), index(1), count)


def within(scope, *body):
    """Return statements inside allocations; shared memory is ``(buffer, offset)``."""
    inside = build.seq(*body)
    for entry in reversed(scope):
        place, offset = entry if isinstance(entry, tuple) else (entry, None)
        inside = Allocate(place, inside, offset=offset)
    return inside


def launch(name, body, shared_bytes=0, **extents):
    """Return a launch; an extent is ``block_x=(var, n)`` or the like."""
    kinds = {"grid": "blockIdx", "cluster": "clusterCtaIdx", "block": "threadIdx"}
    tags = [f"{kinds[key[:-2]]}.{key[-1]}" for key in extents]
    variables, counts = zip(*extents.values(), strict=True)
    counts = tuple(build.as_expr(c, INT64) for c in counts)
    return Launch(name, tuple(tags), variables, counts, body, shared_bytes)


def warp_sum(total, other):
    """Return a tree over the lanes of a warp; the first lane finds the sum."""
    steps = []
    for distance in (16, 8, 4, 2, 1):
        steps += [
            Shuffle(other, get(total), "down", build.const(distance, INT32)),
            put(total, get(total) + get(other)),
        ]
    return steps


def row_sums(bits=32, dtype="float32", threads=128):
    """A block for each row: 16-byte loads, shuffles, shared memory, shuffles."""
    n, m = size("n"), size("m")
    A, B = array("A", dtype, n, m, bits=bits), array("B", "float32", n, bits=bits)
    i, t, k = Var("i", INT64), Var("k.inner", INT64), Var("k.outer", INT64)
    count = 16 // A.dtype.itemsize
    parts, total, other = (
        local("B.rf", "float32", count),
        local("B.sum", "float32"),
        local("o", "float32"),
    )
    slots = shared("B.warps", "float32", threads // WARP)
    start = i * m + (k * threads + t) * count
    vector = build.cast("float32", get_lanes(A, start, count))
    fold = Store(parts, lanes(0, count), get_lanes(parts, 0, count, align=0) + vector)
    lane = Var("lane", INT64)
    body = within(
        [parts, total, other, (slots, 0)],
        Store(parts, lanes(0, count), Broadcast(build.const(0.0, "float32"), count)),
        serial(
            k,
            build.ceildiv(m, threads * count),
            If(Call("likely", ((k * threads + t) * count < m,), BOOL), fold),
        ),
        put(total, get(parts)),
        serial(lane, count - 1, put(total, get(total) + get(parts, lane + 1))),
        *warp_sum(total, other),
        If((t % WARP).equal(0), put(slots, get(total), t // WARP)),
        Barrier(),
        put(
            total,
            build.select(
                t < threads // WARP, get(slots, build.minimum(t, threads // WARP - 1)), 0.0
            ),
        ),
        *warp_sum(total, other),
        If(t.equal(0), put(B, get(total), i)),
    )
    only = launch("row_sums", body, 4 * (threads // WARP), grid_x=(i, n), block_x=(t, threads))
    return Kernel("row_sums", (A, B), (B,), only)


def get_lanes(source, base, count, align=16, **more):
    return Load(source, lanes(base, count), align=align, **more)


def last_block(blocks=64, threads=256):
    """All blocks fold a part each; the last one to finish folds the parts, in order."""
    n = size("n")
    A, B = array("A", "float32", n), array("B", "float32")
    W, counter = array("B.rf", "float32", blocks), array("tickets", "uint32", 1)
    b, t, k = Var("k.block", INT64), Var("k.thread", INT64), Var("k.round", INT64)
    total, other, last = (
        local("total", "float32"),
        local("other", "float32"),
        local("is_last", "bool"),
    )
    slots, flag = shared("B.warps", "float32", threads // WARP), shared("flag", "bool", 1)
    element, r, w = (k * blocks + b) * threads + t, Var("r", INT64), Var("w", INT64)
    body = within(
        [total, other, last, (slots, 0), (flag, 4 * threads // WARP)],
        put(total, build.const(0.0, "float32")),
        serial(
            k,
            build.ceildiv(n, blocks * threads),
            If(Call("likely", (element < n,), BOOL), put(total, get(total) + get(A, element))),
        ),
        *warp_sum(total, other),
        If((t % WARP).equal(0), put(slots, get(total), t // WARP)),
        Barrier(),
        If(
            t.equal(0),
            build.seq(
                serial(w, threads // WARP - 1, put(total, get(total) + get(slots, w + 1))),
                put(W, get(total), b),
                Ticket(last, counter, index(0), index(blocks)),
                put(flag, get(last)),
            ),
        ),
        Barrier(),
        If(
            get(flag),
            If(
                t.equal(0),
                build.seq(
                    put(total, build.const(0.0, "float32")),
                    serial(r, blocks, put(total, get(total) + get(W, r))),
                    put(B, get(total)),
                ),
            ),
        ),
    )
    shared_bytes = 4 * threads // WARP + 16
    only = launch("last_block", body, shared_bytes, grid_x=(b, blocks), block_x=(t, threads))
    return Kernel("last_block", (A, B), (B,), Allocate(W, Allocate(counter, only, zeroed=True)))


def cluster_sums(blocks=4, threads=64):
    """A cluster for each row; its blocks meet in the shared memory of the first."""
    n, m = size("n"), size("m")
    A, B = array("A", "float64", n, m), array("B", "float64", n)
    i, c, t, k = Var("i", INT64), Var("c", INT64), Var("t", INT64), Var("k", INT64)
    total, meeting = (
        local("total", "float64"),
        shared("meeting", "float64", blocks * threads, "cluster"),
    )
    element, w = (k * blocks + c) * threads + t, Var("w", INT64)
    body = within(
        [total, (meeting, 0)],
        put(total, build.const(0.0, "float64")),
        serial(
            k,
            build.ceildiv(m, blocks * threads),
            If(element < m, put(total, get(total) + get(A, i * m + element))),
        ),
        put(meeting, get(total), c * threads + t),
        Barrier("cluster"),
        If(
            build.all_of([c.equal(0), t.equal(0)]),
            build.seq(
                put(total, build.const(0.0, "float64")),
                serial(w, blocks * threads, put(total, get(total) + get(meeting, w))),
                put(B, get(total), i),
            ),
        ),
    )
    only = launch(
        "cluster_sums", body, 8 * blocks * threads,
        grid_x=(i, n), cluster_x=(c, blocks), block_x=(t, threads),
    )  # fmt: skip
    return Kernel("cluster_sums", (A, B), (B,), only)


def argmax_of_rows(dtype="float16"):
    """A warp for each row, four to a block; the state is an index and a value."""
    n, m = size("n"), size("m")
    A, B = array("A", dtype, n, m), array("B", "int64", n)
    i, y, x, k = (
        Var("i.outer", INT64),
        Var("i.inner", INT64),
        Var("k.inner", INT64),
        Var("k.outer", INT64),
    )
    at, value = local("T.at", "int64"), local("T.value", dtype)
    at2, value2 = local("T.at.other", "int64"), local("T.value.other", dtype)
    row, column, p, v = i * 4 + y, k * WARP + x, Var("p", INT64), Var("v", parse(dtype))

    def better(a, va, b, vb):
        keeps = build.any_of([va > vb, build.all_of([va.equal(vb), a < b])])
        return build.select(keeps, a, b), build.select(keeps, va, vb)

    def fold(a, va, b, vb):
        first, second = better(a, va, b, vb)
        return Let(p, first, Let(v, second, build.seq(put(at, p), put(value, v))))

    def fresh():
        nonlocal p, v
        p, v = Var("p", INT64), Var("v", parse(dtype))

    state = (get(at), get(value))
    steps = []
    body_of_loop = If(column < m, fold(*state, column, get(A, row * m + column)))
    for distance in (16, 8, 4, 2, 1):
        fresh()
        steps += [
            Shuffle(at2, get(at), "xor", build.const(distance, INT32)),
            Shuffle(value2, get(value), "xor", build.const(distance, INT32)),
            fold(*state, get(at2), get(value2)),
        ]
    body = within(
        [at, value, at2, value2],
        put(at, build.const(0, INT64)),
        put(value, build.const(float("-inf"), dtype)),
        If(
            row < n,
            build.seq(serial(k, build.ceildiv(m, WARP), body_of_loop)),
        ),
        *steps,
        If(build.all_of([row < n, x.equal(0)]), put(B, get(at), row)),
    )
    only = launch(
        "argmax_of_rows", body, grid_x=(i, build.ceildiv(n, 4)), block_x=(x, WARP), block_y=(y, 4)
    )
    return Kernel("argmax_of_rows", (A, B), (B,), only)


def doubled(dtype, count, align=16, mask=None, cache="", threads=128):
    """``B = A + A``, ``count`` lanes to a thread."""
    A, B = array("A", dtype, 1 << 16), array("B", dtype, 1 << 16)
    t = Var("t", INT64)
    base = t * count
    holds = None if mask is None else mask(base, count)
    value = Load(A, lanes(base, count), holds, align, cache)
    result = build.binary("or", value, value) if A.dtype.is_bool else value + value
    body = Store(B, lanes(base, count), result, holds, align, cache)
    return Kernel("doubled", (A, B), (B,), launch("doubled", body, block_x=(t, threads)))


def below(bound):
    """Return a mask that differs between lanes."""
    return lambda base, count: Compare("lt", lanes(base, count), Broadcast(index(bound), count))
