# SPDX-License-Identifier: Apache-2.0
"""Reductions for a GPU, each a te computation and a schedule written by hand."""

from __future__ import annotations

from typing import Any

from axisfold import te

Scheduled = tuple[Any, list[Any]]


def threads(*tags: str) -> list[Any]:
    """Return one thread axis for each of ``tags``."""
    return [te.thread_axis(tag) for tag in tags]


def full_sum(
    n: int, blocks: int = 1056, width: int = 256, unroll: int = 8, dtype: str = "float32"
) -> Scheduled:
    """Sum all of ``n`` elements in one launch: the last block adds what the others left."""
    bx, tx = threads("blockIdx.x", "threadIdx.x")
    A = te.placeholder((n,), dtype, name="A", align=16)
    k = te.reduce_axis((0, n), "k")
    B = te.compute((), lambda: te.sum(A[k], axis=k), name="B")
    s = te.create_schedule(B.op)
    part, _ = s[B].split(k, nparts=blocks)
    BF = s.rfactor(B, part)
    in_threads(s, BF, s[BF].op.reduce_axis[0], width, unroll, tx)
    s[BF].bind(s[BF].op.axis[0], bx)
    outer, _ = s[B].split(s[B].op.reduce_axis[0], nparts=width)
    s[B].bind(outer, tx)
    s[B].last_block(s[BF])
    return s, [A, B]


def row_sum(
    rows: int, columns: int, width: int = 256, unroll: int = 4, dtype: str = "float32"
) -> Scheduled:
    """Sum each row: a block for each."""
    bx, tx = threads("blockIdx.x", "threadIdx.x")
    A = te.placeholder((rows, columns), dtype, name="A", align=16)
    k = te.reduce_axis((0, columns), "k")
    B = te.compute((rows,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    in_threads(s, B, k, width, unroll, tx)
    s[B].bind(s[B].op.axis[0], bx)
    return s, [A, B]


def column_sum(
    rows: int,
    columns: int,
    parts: int = 16,
    width: int = 32,
    height: int = 16,
    unroll: int = 8,
    dtype: str = "float32",
) -> Scheduled:
    """Sum each column: a thread has 4 of them, ``height`` threads and ``parts`` blocks share it."""
    bx, by, tx, ty = threads("blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.y")
    A = te.placeholder((rows, columns), dtype, name="A", align=16)
    k = te.reduce_axis((0, rows), "k")
    B = te.compute((columns,), lambda j: te.sum(A[k, j], axis=k), name="B")
    s = te.create_schedule(B.op)
    total = s.cache_write(B, "local")
    part, _ = s[total].split(s[total].op.reduce_axis[0], nparts=parts)
    BF = s.rfactor(total, part)
    partial = s.cache_write(BF, "local")
    _, rest = s[partial].split(s[partial].op.reduce_axis[0], factor=unroll * height)
    _, row = s[partial].split(rest, factor=height)
    BS = s.rfactor(partial, row)  # one sum for each row of threads, in shared memory
    BL = s.cache_write(BS, "local")

    # A tile of columns for each block; the first rows of threads take its columns one by one.
    for stage in (s[BF], s[B]):
        outer, inner = stage.split(stage.op.axis[-1], factor=width * 4)
        y, x = stage.split(inner, factor=width)
        stage.bind(outer, bx)
        stage.bind(y, ty)
        stage.bind(x, tx)
        (s[partial] if stage is s[BF] else s[total]).compute_at(stage, x)
        if stage is s[BF]:
            stage.bind(stage.op.axis[0], by)
            s[BS].compute_at(stage, outer)
    row, _, j = s[BS].op.axis
    x, lane = s[BS].split(j, factor=4)
    s[BS].bind(row, ty)
    s[BS].bind(x, tx)
    s[BS].vectorize(lane)
    s[BL].compute_at(s[BS], x)
    sweep, step = s[BL].op.reduce_axis
    s[BL].reorder(sweep, step, s[BL].op.axis[-1])
    s[BL].unroll(step)
    s[BL].vectorize(s[BL].op.axis[-1])
    s[B].last_block(s[BF])
    return s, [A, B]


def narrow_column_sum(
    rows: int,
    columns: int,
    blocks: int = 528,
    width: int = 256,
    unroll: int = 4,
    dtype: str = "float32",
) -> Scheduled:
    """Sum each of a few columns: ``width`` threads sweep whole rows, 4 elements each."""
    bx, tx, ty = threads("blockIdx.x", "threadIdx.x", "threadIdx.y")
    A = te.placeholder((rows, columns), dtype, name="A", align=16)
    k = te.reduce_axis((0, rows), "k")
    B = te.compute((columns,), lambda j: te.sum(A[k, j], axis=k), name="B")
    s = te.create_schedule(B.op)
    height = width // columns
    swept = height * 4  # rows of one sweep
    part, _ = s[B].split(k, nparts=blocks)
    BF = s.rfactor(B, part)
    _, rest = s[BF].split(s[BF].op.reduce_axis[0], factor=unroll * swept)
    _, row = s[BF].split(rest, factor=swept)
    BS = s.rfactor(BF, row, factor_axis=1)  # [part, row, column]: a flat row of lanes
    BL = s.cache_write(BS, "local")

    part = s[BF].op.axis[0]
    s[BF].bind(part, bx)
    s[BS].compute_at(s[BF], part)
    flat = s[BS].fuse(s[BS].op.axis[1], s[BS].op.axis[2])
    thread, lane = s[BS].split(flat, factor=4)
    y, x = s[BS].split(thread, factor=columns)
    s[BS].bind(y, ty)
    s[BS].bind(x, tx)
    s[BS].vectorize(lane)
    s[BL].compute_at(s[BS], x)
    flat = s[BL].fuse(s[BL].op.axis[1], s[BL].op.axis[2])
    sweep, step = s[BL].op.reduce_axis
    s[BL].reorder(sweep, step, flat)
    s[BL].unroll(step)
    s[BL].vectorize(flat)
    for stage in (s[BF], s[B]):
        y, _ = stage.split(stage.op.reduce_axis[0], nparts=height)
        stage.bind(stage.op.axis[-1], tx)
        stage.bind(y, ty)
    s[B].last_block(s[BF])
    return s, [A, B]


def row_argmax(
    rows: int,
    columns: int,
    width: int = 512,
    tile: int = 8,
    unroll: int = 4,
    dtype: str = "bfloat16",
) -> Scheduled:
    """Find the first maximum of each row: the best tile of each thread, then within the tile."""
    bx, tx = threads("blockIdx.x", "threadIdx.x")
    A = te.placeholder((rows, columns), dtype, name="A", align=16)
    tiles = columns // tile

    def better(a: Any, b: Any) -> tuple[Any, Any]:
        wins = te.any(a[1] > b[1], te.all(a[1].equal(b[1]), a[0] < b[0]))
        return te.Select(wins, a[0], b[0]), te.Select(wins, a[1], b[1])

    first = te.comm_reducer(
        better, lambda i, v: (te.const(2**31 - 1, i), te.const(float("-inf"), v)), name="first"
    )
    e = te.reduce_axis((0, tile), "e")
    T = te.compute(
        (rows, tiles),
        lambda i, g: te.max(A[i, g * tile + e].astype("float32"), axis=e),
        name="T",
    )
    g = te.reduce_axis((0, tiles), "g")
    at, best = te.compute((rows,), lambda i: first((g.var, T[i, g]), axis=g), name="P")
    f = te.reduce_axis((0, tile), "f")

    def place(i: Any) -> Any:
        same = A[i, at[i] * tile + f].astype("float32").equal(best[i])
        return te.min(te.Select(same, at[i] * tile + f, te.const(2**31 - 1)), axis=f)

    B = te.compute((rows,), place, name="B")
    s = te.create_schedule(B.op)
    AL = s.cache_read(A, "local", [T])
    s[B].bind(B.op.axis[0], bx)
    s[B].bind(f, threads("threadIdx.x")[0])
    s[at].compute_at(s[B], B.op.axis[0])
    _, rest = s[at].split(g, factor=unroll * width)
    step, thread = s[at].split(rest, factor=width)
    s[at].bind(thread, tx)
    s[at].unroll(step)
    s[T].compute_at(s[at], step)
    s[T].unroll(e)
    s[AL].compute_at(s[at], step)
    s[AL].vectorize(s[AL].op.axis[-1])
    return s, [A, B]


def in_threads(s: Any, B: Any, k: Any, width: int, unroll: int, tx: Any, lanes: int = 4) -> None:
    """Fold axis ``k`` of ``B``: vectors of ``lanes``, ``unroll`` of them under way, a block."""
    _, rest = s[B].split(k, factor=unroll * width * lanes)
    _, rest = s[B].split(rest, factor=width * lanes)
    thread, _ = s[B].split(rest, factor=lanes)
    BT = s.rfactor(B, thread)
    k = s[B].op.reduce_axis[0]
    s[B].bind(k, tx)
    s[BT].compute_at(s[B], k)
    lane = s[BT].op.reduce_axis[-1]
    BV = s.rfactor(BT, lane, factor_axis=-1)
    s[BT].unroll(s[BT].op.reduce_axis[0])
    s[BV].compute_at(s[BT], s[BT].op.axis[-1])
    sweep, step = s[BV].op.reduce_axis
    s[BV].reorder(sweep, step, s[BV].op.axis[-1])
    s[BV].unroll(step)
    s[BV].vectorize(s[BV].op.axis[-1])
