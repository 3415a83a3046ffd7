# SPDX-License-Identifier: Apache-2.0
"""The forms in which GPUs fold, for any extents and each dtype, with exact answers."""

import numpy as np

from axisfold import te
from axisfold.bfloat16 import bits_of, value_of

# What each element type is added up in.
SUM_TYPES = {
    "float32": "float32", "float64": "float64", "float16": "float32", "bfloat16": "float32",
    "int8": "int32", "bool": "int32",
}  # fmt: skip
TAILS = (1, 2, 7, 31, 32, 33, 127, 257, 1000, 1009, 1023, 1025)


def elements(shape, dtype, seed=3):
    """Return small integers of a dtype, whose sums are exact; bfloat16 as its bits."""
    low, high = (0, 2) if dtype == "bool" else (-4, 5)
    values = np.random.default_rng(seed).integers(low, high, shape)
    return bits_of(values.astype("float32")) if dtype == "bfloat16" else values.astype(dtype)


def numbers(a, dtype):
    """Return elements as float64 or int64, which hold them and their sums."""
    if dtype == "bfloat16":
        return value_of(a).astype("float64")
    return a.astype("float64" if a.dtype.kind == "f" else "int64")


def threads(*tags):
    return [te.thread_axis(tag) for tag in tags]


def _matrix(dtype):
    A = te.placeholder((te.var("n"), te.var("m")), dtype, name="A")
    return A, lambda i, k: A[i, k].astype(SUM_TYPES[dtype])


def _row_sums(dtype):
    A, value = _matrix(dtype)
    k = te.reduce_axis((0, A.shape[1]), "k")
    B = te.compute((A.shape[0],), lambda i: te.sum(value(i, k), axis=k), name="B")
    return te.create_schedule(B.op), A, B


def _column_sums(dtype):
    A, value = _matrix(dtype)
    k = te.reduce_axis((0, A.shape[0]), "k")
    B = te.compute((A.shape[1],), lambda j: te.sum(value(k, j), axis=k), name="B")
    return te.create_schedule(B.op), A, B


def rows(dtype):
    """The tutorial's kernel: rfactor, a fold over threadIdx.x, rows along threadIdx.y."""
    s, A, B = _row_sums(dtype)
    bx, tx, ty = threads("blockIdx.x", "threadIdx.x", "threadIdx.y")
    _, inner = s[B].split(B.op.reduce_axis[0], factor=16)
    BF = s.rfactor(B, inner)
    outer, row = s[B].split(s[B].op.axis[0], factor=32)
    s[B].bind(outer, bx)
    s[B].bind(row, ty)
    s[B].bind(s[B].op.reduce_axis[0], tx)
    s[BF].compute_at(s[B], s[B].op.reduce_axis[0])
    s[B].set_store_predicate(tx.var.equal(0))
    return s, [A, B]


def columns(dtype):
    """A thread for each column, and eight of them that share its rows."""
    s, A, B = _column_sums(dtype)
    bx, tx, ty = threads("blockIdx.x", "threadIdx.x", "threadIdx.y")
    outer, column = s[B].split(B.op.axis[0], factor=32)
    _, row = s[B].split(B.op.reduce_axis[0], factor=8)
    s[B].bind(outer, bx)
    s[B].bind(column, tx)
    s[B].bind(row, ty)
    return s, [A, B]


def narrow(dtype):
    """A few columns: 13 blocks take parts of the rows, the last one adds the parts."""
    s, A, B = _column_sums(dtype)
    bx, tx = threads("blockIdx.x", "threadIdx.x")
    part, _ = s[B].split(B.op.reduce_axis[0], nparts=13)
    BF = s.rfactor(B, part)
    _, row = s[BF].split(s[BF].op.reduce_axis[0], factor=64)
    s[BF].bind(s[BF].op.axis[0], bx)
    s[BF].bind(row, tx)
    outer, _ = s[B].split(s[B].op.reduce_axis[0], nparts=13)
    s[B].bind(outer, tx)
    s[B].last_block(s[BF])
    return s, [A, B]


def full(dtype):
    """Everything to one number: 24 blocks leave sums, the last one adds them."""
    n = te.var("n")
    A = te.placeholder((n,), dtype, name="A")
    k = te.reduce_axis((0, n), "k")
    B = te.compute((), lambda: te.sum(A[k].astype(SUM_TYPES[dtype]), axis=k), name="B")
    s = te.create_schedule(B.op)
    bx, tx = threads("blockIdx.x", "threadIdx.x")
    part, _ = s[B].split(k, nparts=24)
    BF = s.rfactor(B, part)
    s[BF].bind(s[BF].op.axis[0], bx)
    _, inner = s[BF].split(s[BF].op.reduce_axis[0], factor=96)
    s[BF].bind(inner, tx)
    outer, _ = s[B].split(s[B].op.reduce_axis[0], nparts=24)
    s[B].bind(outer, tx)
    s[B].last_block(s[BF])
    return s, [A, B]


def cluster(dtype):
    """A cluster of four blocks for each row."""
    s, A, B = _row_sums(dtype)
    bx, cx, tx = threads("blockIdx.x", "clusterCtaIdx.x", "threadIdx.x")
    rest, inner = s[B].split(B.op.reduce_axis[0], factor=64)
    _, block = s[B].split(rest, factor=4)
    s[B].bind(B.op.axis[0], bx)
    s[B].bind(block, cx)
    s[B].bind(inner, tx)
    return s, [A, B]


def grid(dtype):
    """Blocks along y take parts of a row each; the last of them folds what they leave."""
    s, A, B = _row_sums(dtype)
    bx, by, tx = threads("blockIdx.x", "blockIdx.y", "threadIdx.x")
    part, rest = s[B].split(B.op.reduce_axis[0], nparts=5)
    _, inner = s[B].split(rest, factor=32)
    s[B].bind(B.op.axis[0], bx)
    s[B].bind(part, by)
    s[B].bind(inner, tx)
    s[B].last_block()
    return s, [A, B]


def argmax(dtype):
    """The first place of the largest element of each row: 48 threads, two components."""
    A, _ = _matrix(dtype)
    kind = "int32" if dtype == "bool" else dtype
    k = te.reduce_axis((0, A.shape[1]), "k")

    def better(a, b):
        wins = te.any(a[1] > b[1], te.all(a[1].equal(b[1]), a[0] < b[0]))
        return te.Select(wins, a[0], b[0]), te.Select(wins, a[1], b[1])

    first = te.comm_reducer(better, lambda i, v: (te.const(2**31 - 1, i), te.min_value(v)), "first")
    at, best = te.compute(
        (A.shape[0],), lambda i: first((k.var, A[i, k].astype(kind)), axis=k), name="B"
    )
    s = te.create_schedule(at.op)
    bx, tx = threads("blockIdx.x", "threadIdx.x")
    _, inner = s[at].split(k, factor=48)
    s[at].bind(at.op.axis[0], bx)
    s[at].bind(inner, tx)
    return s, [A, at, best]


def _largest(a):
    return [a.argmax(axis=1), a.max(axis=1)]


# form -> schedule of a dtype, answer for float64 or int64, shape whose long extent is given
FORMS = {
    "rows": (rows, lambda a: [a.sum(axis=1)], lambda e: (3, e)),
    "many rows": (rows, lambda a: [a.sum(axis=1)], lambda e: (e, 17)),
    "columns": (columns, lambda a: [a.sum(axis=0)], lambda e: (e, 35)),
    "many columns": (columns, lambda a: [a.sum(axis=0)], lambda e: (9, e)),
    "narrow": (narrow, lambda a: [a.sum(axis=0)], lambda e: (e, 3)),
    "full": (full, lambda a: [a.sum()], lambda e: (e,)),
    "cluster": (cluster, lambda a: [a.sum(axis=1)], lambda e: (3, e)),
    "grid": (grid, lambda a: [a.sum(axis=1)], lambda e: (3, e)),
    "argmax": (argmax, _largest, lambda e: (3, e)),
}  # fmt: skip
