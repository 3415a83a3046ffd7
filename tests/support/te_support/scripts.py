# SPDX-License-Identifier: Apache-2.0
"""The schedules that te-era scripts wrote for GPUs, with what they compute."""

import numpy as np

from axisfold import te


def thread(tag):
    return te.thread_axis(tag)


def row_sum(n, m):
    A = te.placeholder((n, m), "int32", name="A")
    k = te.reduce_axis((0, m), "k")
    return A, te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")


def tutorial():
    """Threads along x fold a row, threads along y take rows, blocks take 32 of them."""
    A, B = row_sum(te.var("n"), te.var("m"))
    s = te.create_schedule(B.op)
    _, inner = s[B].split(B.op.reduce_axis[0], factor=16)
    BF = s.rfactor(B, inner)
    outer, row = s[B].split(s[B].op.axis[0], factor=32)
    s[B].bind(outer, thread("blockIdx.x"))
    s[B].bind(row, thread("threadIdx.y"))
    tx = thread("threadIdx.x")
    s[B].bind(s[B].op.reduce_axis[0], tx)
    s[BF].compute_at(s[B], s[B].op.reduce_axis[0])
    s[B].set_store_predicate(tx.var.equal(0))
    return s, [A, B], lambda a: a.sum(axis=1)


def topi_rows():
    """Blocks of 32 rows by 32 threads: what topi chose for a reduction with data axes."""
    A, B = row_sum(te.var("n"), te.var("m"))
    s = te.create_schedule(B.op)
    _, inner = s[B].split(B.op.reduce_axis[0], factor=32)
    BF = s.rfactor(B, inner)
    tx = thread("threadIdx.x")
    s[B].bind(s[B].op.reduce_axis[0], tx)
    s[BF].compute_at(s[B], s[B].op.reduce_axis[0])
    block, row = s[B].split(s[B].op.axis[0], factor=32)
    s[B].bind(block, thread("blockIdx.x"))
    s[B].bind(row, thread("threadIdx.y"))
    return s, [A, B], lambda a: a.sum(axis=1)


def topi_all():
    """One block for everything: both reduce axes fused, and split by 128 threads."""
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), "int32", name="A")
    k, j = te.reduce_axis((0, n), "k"), te.reduce_axis((0, m), "j")
    B = te.compute((), lambda: te.max(A[k, j], axis=[k, j]), name="B")
    s = te.create_schedule(B.op)
    fused = s[B].fuse(*B.op.reduce_axis)
    _, inner = s[B].split(fused, factor=128)
    BF = s.rfactor(B, inner)
    tx = thread("threadIdx.x")
    s[B].bind(s[B].op.reduce_axis[0], tx)
    s[BF].compute_at(s[B], s[B].op.reduce_axis[0])
    s[B].set_store_predicate(tx.var.equal(0))
    return s, [A, B], lambda a: a.max()


def softmax():
    """A block of 64 threads for each row: maximum, sum of the exponentials, quotient."""
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), "float64", name="A")
    k, h = te.reduce_axis((0, m), "k"), te.reduce_axis((0, m), "h")
    M = te.compute((n,), lambda i: te.max(A[i, k], axis=k), name="M")
    S = te.compute((n,), lambda i: te.sum(te.exp(A[i, h] - M[i]), axis=h), name="S")
    C = te.compute((n, m), lambda i, j: te.exp(A[i, j] - M[i]) / S[i], name="C")
    s = te.create_schedule(C.op)
    row, column = C.op.axis
    s[C].bind(row, thread("blockIdx.x"))
    for stage in (S, M):
        s[stage].compute_at(s[C], row)
        _, inner = s[stage].split(s[stage].op.reduce_axis[0], factor=64)
        s[stage].bind(inner, thread("threadIdx.x"))
    _, inner = s[C].split(column, factor=64)
    s[C].bind(inner, thread("threadIdx.x"))

    def answer(a):
        e = np.exp(a - a.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    return s, [A, C], answer


SCHEDULES = (tutorial, topi_rows, topi_all, softmax)
