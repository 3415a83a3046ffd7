# SPDX-License-Identifier: Apache-2.0
"""Traces as data: the trees of CUDA tutorials, and what te schedules become."""

import numpy as np
import pytest
from sim_support import (
    BLOCK,
    ONE,
    RANK,
    TID,
    ZERO,
    get,
    kernel,
    last_block,
    launch,
    local,
    put,
    shared,
    vector,
)
from sim_support.strategies import block_sum

import axisfold
from axisfold import sim, te
from axisfold.errors import ArgumentError, SimulationError
from axisfold.ir import build
from axisfold.ir.expr import Load, Ramp, Var
from axisfold.ir.stmt import Barrier, For, If, Let, Shuffle, Store
from axisfold.sim.styles import merges


def row_sum(style, m, threads, rows=2):
    A = te.placeholder((rows, m), "float32", name="A")
    k = te.reduce_axis((0, m), name="k")
    B = te.compute((rows,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    _, thread = s[B].split(k, factor=threads)
    s[B].bind(B.op.axis[0], te.thread_axis("blockIdx.x"))
    s[B].bind(thread, te.thread_axis("threadIdx.x"))
    s[B].pragma(thread, "reduce_style", style)
    return axisfold.build(s, [A, B], "sim", name="row_sum")


def traced(style, m, threads, **options):
    arrays = [np.ones((2, m), "float32"), np.full(2, np.nan, "float32")]
    trace = sim.trace(row_sum(style, m, threads), arrays, **options)
    np.testing.assert_array_equal(arrays[1], m)
    return trace


def strategy(name, block, which=(1, 0, 0)):
    x, out = np.arange(3 * block), np.zeros(3, int)
    expected = x.reshape(3, block).sum(1)
    trace = sim.trace(block_sum(name, block), [x, out], block=which)
    np.testing.assert_array_equal(out, expected)
    return trace


def tree(trace):
    """Return the pairs of each step that combines, for results that are used."""
    steps = [{c.thread: c.sources for c in merges(step)} for step in trace.steps]
    return [step for step in steps if step]


def pairs(*steps):
    return [{i: (i + far,) for i in threads} for far, threads in steps]


INTERLEAVED = pairs((4, range(4)), (2, range(2)), (1, range(1)))
ADJACENT = pairs((1, range(0, 8, 2)), (2, range(0, 8, 4)), (4, range(0, 8, 8)))


class TestTheFourTrees:
    def test_interleaved_in_global_memory(self):
        trace = strategy("global", 8)
        assert trace.launches[0].style == "interleaved tree in global memory"
        assert tree(trace) == INTERLEAVED
        assert [step.mediums for step in trace.steps] == [("global",)] * 3 + [()]
        first, _, last, write = trace.steps
        assert [c.owners for c in first.combines] == [{i, i + 4} for i in range(4)]
        assert last.combines[0].owners == set(range(8))
        assert (write.reads, write.writes, write.active) == (("x",), ("out",), (0,))

    def test_interleaved_in_shared_memory(self):
        trace = strategy("interleaved", 8)
        assert trace.launches[0].style == "interleaved tree in shared memory"
        assert tree(trace) == INTERLEAVED
        assert trace.steps[0].reads == ("x",)
        assert [len(step.active) for step in trace.steps] == [8, 4, 2, 1, 1]
        assert [step.barrier for step in trace.steps] == ["block"] * 4 + [""]

    def test_adjacent_in_shared_memory(self):
        trace = strategy("adjacent", 8)
        assert trace.launches[0].style == "adjacent tree in shared memory"
        assert tree(trace) == ADJACENT
        assert [step.active for step in trace.steps[1:4]] == [(0, 2, 4, 6), (0, 4), (0,)]

    def test_shuffles_and_a_second_level(self):
        trace = strategy("shuffle", 128)
        assert trace.launches[0].style == "two-level warp shuffles"
        firsts = range(0, 128, 32)
        level = [
            (far, [first + i for first in firsts for i in range(far)]) for far in (16, 8, 4, 2, 1)
        ]
        assert tree(trace) == pairs(*level, (2, range(2)), (1, range(1)))
        [move] = [s for s in trace.steps if any(c.is_copy and c.is_used for c in s.combines)]
        assert {c.thread: c.sources for c in move.combines} == {1: (32,), 2: (64,), 3: (96,)}
        assert move.mediums == ("shared",)
        result = merges(trace.steps[-2])[0]
        assert result.owners == set(range(128))

    def test_elements_that_no_thread_owns_are_inputs(self):
        trace = sim.trace(
            block_sum("global", 8), [np.arange(13), np.zeros(2, int)], block=(1, 0, 0)
        )
        assert tree(trace) == pairs((4, [0]), (2, [0, 1]), (1, [0]))
        assert merges(trace.steps[-2])[0].owners == {0, 1, 2, 3, 4}


class TestSchedules:
    @pytest.mark.parametrize(
        ("style", "expected", "name"),
        [
            ("interleaved", INTERLEAVED, "interleaved tree in shared memory"),
            ("adjacent", ADJACENT, "adjacent tree in shared memory"),
            ("shuffle", INTERLEAVED, "warp shuffles"),
        ],
    )
    def test_styles(self, style, expected, name):
        trace = traced(style, 21, 8)
        assert tree(trace) == expected
        assert trace.launches[0].style == name
        assert trace.steps[0].masks == tuple(1 << t for t in range(8))

    def test_two_levels(self):
        trace = traced("two-level", 2048, 1024)
        assert [set(step[0]) for step in tree(trace)] == [{16}, {8}, {4}, {2}, {1}] * 2
        assert trace.launches[0].style == "two-level warp shuffles"
        assert merges(trace.steps[-2])[0].owners == set(range(1024))

    def test_extents_that_are_no_powers_of_two(self):
        trace = traced("interleaved", 7, 7)
        assert tree(trace) == pairs((4, range(3)), (2, range(2)), (1, range(1)))
        assert [c.mask.bit_count() for c in merges(trace.steps[2])] == [4, 3]

    def test_the_lines_are_those_of_the_program(self):
        function = row_sum("interleaved", 8, 8)
        trace = sim.trace(function, [np.ones((2, 8), "float32"), np.empty(2, "float32")])
        assert trace.source == "\n".join(function.source().splitlines())
        text = trace.source.splitlines()
        assert [text[n - 1].split(" = ")[0].strip() for n in trace.steps[1].lines] == [
            "reduce_temp0[0i64]",
            "reduce_temp0.tree[threadIdx.x]",
        ]

    def test_several_fields_are_one_step(self):
        best = te.comm_reducer(
            lambda a, b: (
                te.if_then_else(a[1] >= b[1], a[0], b[0]),
                te.if_then_else(a[1] >= b[1], a[1], b[1]),
            ),
            lambda i, x: (te.const(-1, i), te.const(-np.inf, x)),
        )
        A = te.placeholder((16,), "float32", name="A")
        k = te.reduce_axis((0, 16), name="k")
        B = te.compute((1,), lambda i: best((k, A[k]), axis=k), name="B")
        s = te.create_schedule(B[0].op)
        s[B[0]].bind(s[B[0]].op.reduce_axis[0], te.thread_axis("threadIdx.x"))
        s[B[0]].pragma(s[B[0]].op.reduce_axis[0], "reduce_style", "interleaved")
        f = axisfold.build(s, [A, *B], "sim")
        x = np.random.default_rng(1).random(16, "float32")
        place, value = np.empty(1, "int32"), np.empty(1, "float32")
        trace = sim.trace(f, [x, place, value])
        assert (place[0], value[0]) == (x.argmax(), x.max())
        assert tree(trace) == pairs((8, range(8)), *((n, range(n)) for n in (4, 2, 1)))
        assert all(step.used[0] for step in trace.steps)

    def test_blocks_fold_what_others_left(self):
        A = te.placeholder((64,), "float32", name="A")
        k = te.reduce_axis((0, 64), name="k")
        B = te.compute((1,), lambda i: te.sum(A[k], axis=k), name="B")
        s = te.create_schedule(B.op)
        part, _ = s[B].split(k, nparts=4)
        P = s.rfactor(B, part)
        s[P].bind(P.op.axis[0], te.thread_axis("blockIdx.x"))
        s[P].bind(s[P].op.reduce_axis[0], te.thread_axis("threadIdx.x"))
        s[B].bind(s[B].op.reduce_axis[0], te.thread_axis("threadIdx.x"))
        s[B].last_block(s[P])
        f = axisfold.build(s, [A, B], "sim")
        traces = [
            sim.trace(f, [np.ones(64, "f4"), np.empty(1, "f4")], block=(n, 0, 0)) for n in range(4)
        ]
        tickets = [[s.ticket for s in t.steps if s.ticket] for t in traces]
        assert sorted(tickets) == [["last"], *[["not last"]] * 3]
        last = tickets.index(["last"])
        blocks = {b for s in traces[last].steps for c in s.combines for b in c.blocks}
        assert blocks == {0, 1, 2, 3} - {last}


class TestHandWritten:
    def test_a_loop_over_slots_is_one_step(self):
        s, total, out, i = shared(size=8), local(), vector("out"), Var("i")
        fold = For(i, ONE, build.const(7), "serial", put(total, 0, get(total) + get(s, i)))
        body = launch(
            put(s, TID, TID + 1),
            Barrier(),
            If(TID.equal(0), build.seq(put(total, 0, get(s)), fold, put(out, 0, get(total)))),
            block=8,
            memory=[s, total],
        )
        trace = sim.trace(kernel(body, params=[out]), [np.zeros(1, "i4")])
        assert tree(trace) == [{0: (1, 2, 3, 4, 5, 6, 7)}]
        assert trace.launches[0].style == "serial fold in shared memory"

    def test_a_loop_of_shuffles_is_a_step_each_round(self):
        total, other, out, i = local("total"), local("other"), vector("out"), Var("i")
        lane = build.binary("shl", build.const(1), i)
        both = build.seq(
            Shuffle(other, get(total), "xor", lane), put(total, 0, get(total) + get(other))
        )
        body = launch(
            put(total, 0, TID),
            For(i, ZERO, build.const(5), "serial", both),
            put(out, TID, get(total)),
            memory=[total, other],
        )
        trace = sim.trace(kernel(body, params=[out]), [np.zeros(32, "i4")])
        assert tree(trace) == [{t: (t ^ far,) for t in range(32)} for far in (1, 2, 4, 8, 16)]
        assert {c.mask for c in trace.steps[-1].combines} == {2**32 - 1}

    def test_names_carry_what_was_loaded(self):
        s, out, name = shared(size=4), vector("out"), Var("sum")
        merge = Let(name, get(s, TID) + get(s, TID + 2), put(s, TID, name))
        body = launch(put(s, TID, TID), Barrier(), If(TID < 2, merge), Barrier(),
                      If(TID < 2, put(out, TID, get(s, TID))), block=4, memory=[s])  # fmt: skip
        trace = sim.trace(kernel(body, params=[out]), [np.zeros(2, "i4")])
        assert tree(trace) == pairs((2, range(2)))

    def test_places_are_no_operands(self):
        x, where, out = vector("x"), vector("where"), vector("out")
        s = shared(size=4)
        value = get(x, get(s, 3 - TID))
        body = launch(put(s, TID, get(where, TID)), Barrier(), put(out, TID, value), block=4,
                      memory=[s])  # fmt: skip
        trace = sim.trace(
            kernel(body, params=[x, where, out], outputs=[out]),
            [np.arange(4, dtype="i4"), np.arange(4, dtype="i4"), np.zeros(4, "i4")],
        )
        assert not any(step.combines for step in trace.steps)

    def test_what_nothing_uses_is_marked(self):
        s, waste, out = shared(size=8), local(), vector("out")
        body = launch(put(s, TID, TID), Barrier(), put(waste, 0, get(s, 7 - TID)),
                      put(out, TID, TID), block=8, memory=[s, waste])  # fmt: skip
        trace = sim.trace(kernel(body, params=[out]), [np.zeros(8, "i4")])
        assert [c.is_used for c in trace.steps[1].combines] == [False] * 8
        assert trace.launches[0].style == ""

    def test_a_cluster_takes_from_other_blocks(self):
        c, out = shared("c", 4, scope="cluster"), vector("out")
        body = launch(
            If(TID.equal(0), put(c, RANK, RANK + 1)),
            Barrier("cluster"),
            If(TID.equal(0), put(out, BLOCK * 2 + RANK, get(c, 0) + get(c, 1))),
            Barrier("cluster"),
            grid=3,
            cluster=2,
            memory=[c],
        )
        out_array = np.zeros(6, "i4")
        trace = sim.trace(kernel(body, params=[out]), [out_array], block=(3, 0, 0))
        np.testing.assert_array_equal(out_array, 3)
        assert [c.blocks for s in trace.steps for c in s.combines] == [(2,)]

    def test_each_launch_has_its_steps(self):
        x, y = vector("x"), vector("y")
        both = [launch(put(x, TID, TID)), launch(put(y, TID, get(x, 31 - TID)), grid=1)]
        trace = sim.trace(kernel(*both, params=[x, y]), [np.zeros(32, "i4"), np.zeros(32, "i4")])
        assert [[s.writes for s in part.steps] for part in trace.launches] == [[("x",)], [("y",)]]

    @pytest.mark.parametrize(("stride", "degree"), [(1, 1), (2, 2), (32, 32), (33, 1)])
    def test_bank_conflicts(self, stride, degree):
        s, out = shared(size=32 * stride), vector("out")
        body = launch(put(s, TID * stride, TID), Barrier(), put(out, TID, get(s, TID * stride)),
                      block=32, memory=[s])  # fmt: skip
        trace = sim.trace(kernel(body, params=[out]), [np.zeros(32, "i4")])
        accesses = [a for step in trace.steps for a in step.shared]
        assert [(a.kind, a.buffer, a.threads, a.degree) for a in accesses] == [
            ("store", "s", 32, degree),
            ("load", "s", 32, degree),
        ]
        assert [step.degree for step in trace.steps] == [degree, degree]

    def test_a_tree_of_neighbours_by_neighbouring_threads_meets_in_banks(self):
        s, out, i, block = shared(size=256), vector("out"), Var("i"), 256
        stride = build.binary("shl", build.const(1), i)
        place = TID * (2 * stride)
        combine = put(s, place, get(s, place) + get(s, place + stride))
        tree_of = For(
            i, ZERO, build.const(8), "serial", build.seq(If(place < block, combine), Barrier())
        )
        body = launch(put(s, TID, TID), Barrier(), tree_of,
                      If(TID.equal(0), put(out, 0, get(s))), block=block, memory=[s])  # fmt: skip
        trace = sim.trace(kernel(body, params=[out]), [np.zeros(1, "i4")])
        assert [s.degree for s in trace.steps] == [1, 2, 4, 8, 8, 8, 4, 2, 1, 1]
        assert trace.launches[0].style == "packed adjacent tree in shared memory"
        first = trace.steps[1].combines
        assert [c.sources for c in first[:3]] == [(1,), (2, 3), (4, 5)]
        assert [c.keeps for c in first[:3]] == [True, False, False]
        assert not any(c.is_copy for c in first)

    def test_vectors_and_choices_are_copied(self):
        s, r, out = shared(size=8), local(size=2), vector("out")
        pair = Ramp(TID * 2, ONE, 2)
        body = launch(
            put(s, TID, TID),
            Barrier(),
            If(TID < 4, Store(r, Ramp(ZERO, ONE, 2), Load(s, pair))),
            If(TID < 4, Store(out, pair, Load(r, Ramp(ZERO, ONE, 2)))),
            block=8,
            memory=[s, r],
        )
        result = np.zeros(8, "i4")
        trace = sim.trace(kernel(body, params=[out]), [result])
        np.testing.assert_array_equal(result, np.arange(8))
        assert {c.thread: c.sources for c in trace.steps[1].combines} == {
            0: (1,), 1: (2, 3), 2: (4, 5), 3: (6, 7)
        }  # fmt: skip
        assert [c.is_copy for c in trace.steps[1].combines] == [False, True, True, True]

    def test_trees_by_scattered_threads_do_not(self):
        for name in ("adjacent", "interleaved"):
            assert {step.degree for step in strategy(name, 64).steps} == {1}


class TestBlocks:
    def test_any_block_and_order_of_blocks(self):
        traces = [strategy("shuffle", 64, (n, 0, 0)).steps for n in range(3)]
        assert traces[0] == traces[1] == traces[2]
        x = [np.arange(192), np.zeros(3, int)]
        runs = [sim.trace(block_sum("shuffle", 64), x, seed=seed) for seed in range(3)]
        assert len({run.text() for run in runs}) == 1

    @pytest.mark.parametrize("block", [(3, 0, 0), (0, 1, 0), (-1, 0, 0), (0, 0)])
    def test_a_block_that_does_not_exist(self, block):
        with pytest.raises(ArgumentError) as caught:
            strategy("adjacent", 8, block)
        assert caught.value.code == "A216"
        assert f"there is no block {block}: the grid has (3, 1, 1) blocks." in str(caught.value)

    def test_nothing_is_launched(self):
        trace = sim.trace(block_sum("adjacent", 8), [np.zeros(0, int), np.zeros(0, int)])
        assert (trace.launches, trace.text()) == ((), "")

    def test_faults_are_raised(self):
        with pytest.raises(SimulationError) as caught:
            sim.trace(last_block(barrier=False), [np.zeros(4, "i4")])
        assert caught.value.code == "M107"
