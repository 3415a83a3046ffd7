# SPDX-License-Identifier: Apache-2.0
"""Small programs with bound loops, each as a schedule and its arguments."""

from axisfold import te


def rows(n=None, m=None, where=None):
    n, m = n or te.var("n"), m or te.var("m")
    A = te.placeholder((n, m), "int32", name="A")
    k = te.reduce_axis((0, m), "k")

    def body(i):
        return te.sum(A[i, k], axis=k, where=None if where is None else where(i, k))

    B = te.compute((n,), body, name="B")
    return te.create_schedule(B.op), A, B


def bound():
    s, A, B = rows()
    s[B].split(B.op.reduce_axis[0], factor=16)
    outer, inner = s[B].split(B.op.axis[0], factor=32)
    s[B].bind(outer, te.thread_axis("blockIdx.x"))
    s[B].bind(inner, te.thread_axis((0, 32), "threadIdx.x"))
    return s, [A, B]


def cross_thread():
    s, A, B = rows()
    _, inner = s[B].split(B.op.reduce_axis[0], factor=16)
    first = s.rfactor(B, inner)
    outer, row = s[B].split(s[B].op.axis[0], factor=32)
    s[B].bind(outer, te.thread_axis("blockIdx.x"))
    s[B].bind(row, te.thread_axis("threadIdx.y"))
    tx = te.thread_axis("threadIdx.x")
    s[B].bind(s[B].op.reduce_axis[0], tx)
    s[first].compute_at(s[B], s[B].op.reduce_axis[0])
    s[B].set_store_predicate(tx.var.equal(0))
    return s, [A, B]


def cross_thread_where():
    """Masked threads bring the identity, and thread 0 stores, masked or not."""
    s, A, B = rows(m=16, where=lambda i, k: te.floormod(k, 2).equal(1))
    s[B].bind(B.op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    return s, [A, B]


def cross_thread_mixed():
    s, A, B = rows(where=lambda i, k: i > k)
    _, inner = s[B].split(B.op.reduce_axis[0], factor=8)
    s[B].bind(inner, te.thread_axis("threadIdx.x"))
    return s, [A, B]


def cross_thread_tail():
    """40 threads for 37 elements: the last three bring the identity and read nothing."""
    s, A, B = rows(m=37)
    outer, inner = s[B].split(B.op.reduce_axis[0], factor=8)
    s[B].bind(outer, te.thread_axis("threadIdx.y"))
    s[B].bind(inner, te.thread_axis("threadIdx.x"))
    return s, [A, B]


def shared_tile():
    """The copy is for all threads of a block: its region spans threadIdx, and they share work."""
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), "int32", name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    copy = s.cache_read(A, "shared", [B])
    outer, inner = s[B].split(B.op.axis[0], factor=32)
    ko, _ = s[B].split(k, factor=8)
    tx = te.thread_axis("threadIdx.x")
    s[B].bind(outer, te.thread_axis("blockIdx.x"))
    s[B].bind(inner, tx)
    s[copy].compute_at(s[B], ko)
    s[copy].bind(s[copy].op.axis[0], tx)
    return s, [A, B]


BOUND = (
    bound, cross_thread, cross_thread_where, cross_thread_mixed, cross_thread_tail, shared_tile,
)  # fmt: skip
