# SPDX-License-Identifier: Apache-2.0
"""Bound loops: what each thread does, run by an interpreter of threads."""

import numpy as np
import pytest
from te_support.threads import run_threads
from te_support.traces import replays

from axisfold import te
from axisfold.build import build, lower

SHAPES = [(0, 0), (1, 1), (5, 7), (33, 37), (3, 0), (0, 5), (32, 64)]


def rows(n=None, m=None, reducer=te.sum, where=None, dtype="int32"):
    n, m = n or te.var("n"), m or te.var("m")
    A = te.placeholder((n, m), dtype, name="A")
    k = te.reduce_axis((0, m), "k")

    def body(i):
        return reducer(A[i, k], axis=k, where=None if where is None else where(i, k, A))

    B = te.compute((n,), body, name="B")
    return te.create_schedule(B.op), A, B


def thread(tag):
    return te.thread_axis(tag)


def checked(s, A, B, answer, shapes=SHAPES):
    """Run a program for all threads, and replay its trace."""
    replays(s, [A, B])
    program = lower(s, [A, B])
    for shape in shapes:
        a = np.random.default_rng(1).integers(-50, 50, shape).astype("int32")
        found = np.full(shape[0], 77, "int32")
        run_threads(program, [a, found])
        np.testing.assert_array_equal(found, answer(a), err_msg=str(program))


def total(a):
    return a.sum(axis=1)


def test_data_axes_on_blocks_and_threads_with_a_tail():
    s, A, B = rows()
    s[B].split(B.op.reduce_axis[0], factor=16)
    outer, inner = s[B].split(B.op.axis[0], factor=32)
    s[B].bind(outer, thread("blockIdx.x"))
    s[B].bind(inner, thread("threadIdx.x"))
    checked(s, A, B, total)


def test_the_tutorials_cross_thread_reduction():
    s, A, B = rows()
    _, inner = s[B].split(B.op.reduce_axis[0], factor=16)
    first = s.rfactor(B, inner)
    outer, row = s[B].split(s[B].op.axis[0], factor=8)
    s[B].bind(outer, thread("blockIdx.x"))
    s[B].bind(row, thread("threadIdx.y"))
    tx = thread("threadIdx.x")
    s[B].bind(s[B].op.reduce_axis[0], tx)
    s[first].compute_at(s[B], s[B].op.reduce_axis[0])
    s[B].set_store_predicate(tx.var.equal(0))
    checked(s, A, B, total)


def test_threads_and_loops_share_a_reduction():
    s, A, B = rows()
    _, inner = s[B].split(B.op.reduce_axis[0], factor=8)
    s[B].bind(inner, thread("threadIdx.x"))
    checked(s, A, B, total)


def test_outer_part_on_threads():
    s, A, B = rows()
    outer, _ = s[B].split(B.op.reduce_axis[0], nparts=4)
    s[B].bind(outer, thread("threadIdx.x"))
    s[B].bind(B.op.axis[0], thread("blockIdx.x"))
    checked(s, A, B, total)


@pytest.mark.parametrize("m", [37, 40, 5, 1])
def test_all_parts_on_threads_with_a_tail(m):
    s, A, B = rows(m=m)
    outer, inner = s[B].split(B.op.reduce_axis[0], factor=8)
    s[B].bind(outer, thread("threadIdx.y"))
    s[B].bind(inner, thread("threadIdx.x"))
    checked(s, A, B, total, [(0, m), (4, m)])


@pytest.mark.parametrize("is_direct", [True, False])
def test_where_on_the_bound_axis(is_direct):
    s, A, B = rows(where=lambda i, k, A: te.floormod(k, 2).equal(1))
    axis = B.op.reduce_axis[0]
    if not is_direct:
        _, axis = s[B].split(axis, factor=8)
    s[B].bind(axis, thread("threadIdx.x"))
    checked(s, A, B, lambda a: a[:, 1::2].sum(axis=1))


@pytest.mark.parametrize("is_direct", [True, False])
def test_where_on_the_data_axis_leaves_the_identity(is_direct):
    s, A, B = rows(where=lambda i, k, A: i > 2)
    axis = B.op.reduce_axis[0]
    if not is_direct:
        _, axis = s[B].split(axis, factor=8)
    s[B].bind(axis, thread("threadIdx.x"))
    checked(s, A, B, lambda a: a.sum(axis=1) * (np.arange(len(a)) > 2), [(5, 7), (33, 37)])


def test_where_on_the_data_is_not_read_beyond_a_tail():
    s, A, B = rows(where=lambda i, k, A: A[i, k] > 0)
    _, axis = s[B].split(B.op.reduce_axis[0], factor=8)
    s[B].bind(axis, thread("threadIdx.x"))
    _, row = s[B].split(B.op.axis[0], factor=4)
    s[B].bind(row, thread("threadIdx.y"))
    checked(s, A, B, lambda a: np.where(a > 0, a, 0).sum(axis=1))


@pytest.mark.parametrize("is_direct", [True, False])
def test_where_on_the_data_of_partial_results_is_not_read_beyond_a_tail(is_direct):
    s, A, B = rows(where=lambda i, k, A: A[i, k] > 0)
    outer, inner = s[B].split(B.op.reduce_axis[0], factor=8)
    first = s.rfactor(B, outer if is_direct else inner)
    axis = s[first].op.reduce_axis[0]
    if not is_direct:
        _, axis = s[first].split(axis, factor=2)
    s[first].bind(axis, thread("threadIdx.x"))
    checked(s, A, B, lambda a: np.where(a > 0, a, 0).sum(axis=1))


def test_a_tuple_of_states_meets_at_once():
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), "int32", name="A")
    k = te.reduce_axis((0, m), "k")

    def better(a, b):
        wins = te.any(a[1] > b[1], te.all(a[1].equal(b[1]), a[0] < b[0]))
        return te.Select(wins, a[0], b[0]), te.Select(wins, a[1], b[1])

    reducer = te.comm_reducer(better, lambda t, u: (te.const(2**31 - 1, t), te.min_value(u)))
    at, best = te.compute((n,), lambda i: reducer((k.var, A[i, k]), axis=k), name="B")
    s = te.create_schedule(at.op)
    _, inner = s[at].split(k, factor=4)
    s[at].bind(inner, thread("threadIdx.x"))
    replays(s, [A, at, best])
    program = lower(s, [A, at, best])
    for shape in [(3, 1), (5, 7), (8, 33)]:
        a = np.random.default_rng(1).integers(0, 3, shape).astype("int32")
        where, value = np.full(len(a), 77, "int32"), np.full(len(a), 77, "int32")
        run_threads(program, [a, where, value])
        np.testing.assert_array_equal(where, a.argmax(axis=1))
        np.testing.assert_array_equal(value, a.max(axis=1))


def test_a_region_of_shared_memory_covers_all_threads_of_a_block():
    """Each thread reads one element of what the block shares: 32 of them, not 1."""
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2, name="B")
    s = te.create_schedule(B.op)
    shared = s.cache_read(A, "shared", [B])
    local = s.cache_read(shared, "local", [B])
    outer, inner = s[B].split(B.op.axis[0], factor=32)
    s[B].bind(outer, thread("blockIdx.x"))
    s[B].bind(inner, thread("threadIdx.x"))
    s[shared].compute_at(s[B], inner)
    s[local].compute_at(s[B], inner)
    text = str(lower(s, [A, B]))
    assert "allocate(A.shared: Pointer(shared float32), float32, [32])" in text
    assert "allocate(A.shared.local: Pointer(local float32), float32, [1])" in text
    replays(s, [A, B])


def test_stages_that_share_a_thread_axis_start_its_threads_once():
    A = te.placeholder((8, 64), name="A")
    T = te.compute((8, 64), lambda i, j: A[i, j] * 2, name="T")
    C = te.compute((8, 64), lambda i, j: T[i, 63 - j], name="C")
    s = te.create_schedule(C.op)
    tx = thread("threadIdx.x")
    s[C].bind(C.op.axis[1], tx)
    s[T].compute_at(s[C], C.op.axis[1])
    s[T].set_scope("shared")
    s[T].bind(T.op.axis[1], tx)
    text = str(lower(s, [A, C]))
    assert text.count('"thread_extent"') == 1
    assert "allocate(T: Pointer(shared float32), float32, [64])" in text
    assert "T[threadIdx.x] = " in text


def test_what_the_last_block_leaves_for_another_launch():
    V = te.placeholder((te.var("n"),), "int32", name="V")
    k = te.reduce_axis((0, V.shape[0]), "k")
    S = te.compute((), lambda: te.max(V[k], axis=k), name="S")
    P = te.compute(V.shape, lambda i: V[i] - S(), name="P")
    s = te.create_schedule(P.op)
    part, _ = s[S].split(k, nparts=4)
    first = s.rfactor(S, part)
    s[first].bind(s[first].op.axis[0], thread("blockIdx.x"))
    s[S].bind(s[S].op.reduce_axis[0], thread("threadIdx.x"))
    s[S].last_block(s[first])
    s[P].bind(P.op.axis[0], thread("blockIdx.x"))
    function = build(s, [V, P], "sim")
    for n in (1, 67):
        v = np.random.default_rng(n).integers(-50, 50, n).astype("int32")
        found = np.full(n, 77, "int32")
        function(v, found)
        np.testing.assert_array_equal(found, v - v.max())
