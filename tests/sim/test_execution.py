# SPDX-License-Identifier: Apache-2.0
"""What threads compute: indices, divergence, loops, vectors, shuffles, strides and clusters."""

import numpy as np
import pytest
from sim_support import (
    BLOCK,
    ONE,
    RANK,
    TID,
    ZERO,
    allocated,
    get,
    kernel,
    launch,
    local,
    put,
    shared,
    vector,
)

from axisfold import sim
from axisfold.dtypes import BOOL, FLOAT32, INT32, INT64, UINT32
from axisfold.ir import build, threads
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Broadcast, Load, Ramp, Var
from axisfold.ir.stmt import Allocate, Barrier, For, If, Let, Shuffle, Store, Ticket


def ints(n, value=-1):
    return np.full(n, value, np.int32)


def test_every_index_in_three_dimensions():
    extents = {"blockIdx": (2, 3, 2), "clusterCtaIdx": (2, 1, 2), "threadIdx": (5, 2, 3)}
    variables = {f"{u}.{a}": Var(f"{u}.{a}") for u in extents for a in "xyz"}
    indices = {
        tag: (var, extents[tag[:-2]]["xyz".index(tag[-1])]) for tag, var in variables.items()
    }
    out = Buffer("out", INT32, tuple(map(build.const, (1440, 9))))
    flat = build.const(0)
    for var, extent in reversed(indices.values()):
        flat = flat * extent + var
    body = [put(out, flat * 9 + n, var) for n, var in enumerate(variables.values())]
    sizes = np.array([n for triple in extents.values() for n in triple])
    result = ints((1440, 9))
    sim.run(kernel(threads.launch("k", indices, build.seq(*body)), params=[out]), [result], seed=3)
    expected = np.stack(np.unravel_index(np.arange(1440), sizes[::-1]), axis=1)[:, ::-1]
    np.testing.assert_array_equal(result, expected)


def test_a_warp_is_32_threads_of_which_x_moves_fastest():
    x, y = Var("threadIdx.x"), Var("threadIdx.y")
    r, out = local(), vector("out")
    body = [Shuffle(r, x + 5 * y, "index", ZERO), put(out, x + 5 * y, get(r))]
    indices = {"threadIdx.x": (x, 5), "threadIdx.y": (y, 13)}
    program = kernel(threads.launch("k", indices, allocated([r], *body)), params=[out])
    result = ints(65)
    sim.run(program, [result])
    np.testing.assert_array_equal(result, np.arange(65) // 32 * 32)


@pytest.mark.parametrize(
    ("mode", "lane", "width", "expected"),
    [
        ("down", 3, 32, lambda t: np.where(t % 32 < 29, t + 3, t)),
        ("down", 1, 8, lambda t: np.where(t % 8 < 7, t + 1, t)),
        ("xor", 5, 8, lambda t: t ^ 5),
        ("index", 2, 4, lambda t: t // 4 * 4 + 2),
        ("index", TID % 4, 16, lambda t: t // 16 * 16 + t % 4),
    ],
)
def test_shuffles(mode, lane, width, expected):
    r, out = local(), vector("out")
    body = [Shuffle(r, TID, mode, build.as_expr(lane), width), put(out, TID, get(r))]
    result = ints(64)
    sim.run(kernel(launch(*body, block=64, memory=[r]), params=[out]), [result])
    np.testing.assert_array_equal(result, expected(np.arange(64)))


class TestDivergence:
    def test_nested_branches(self):
        out = vector("out")
        inner = If(TID % 3 > 0, put(out, TID, 1), put(out, TID, 2))
        program = kernel(launch(If(TID < 20, inner, If(TID < 25, put(out, TID, 3)))), params=[out])
        result = ints(32)
        sim.run(program, [result])
        t = np.arange(32)
        low = np.where(t % 3 > 0, 1, 2)
        np.testing.assert_array_equal(result, np.where(t < 20, low, np.where(t < 25, 3, -1)))

    def test_loops_of_different_lengths(self):
        out, r, i, j = vector("out"), local(), Var("i"), Var("j")
        add = put(r, 0, get(r) + i * 100 + j)
        inner = For(j, i, TID % 4, "serial", add)
        outer = For(i, TID % 3, TID % 7 - 1, "serial", inner)
        program = kernel(
            launch(put(r, 0, 0), outer, put(out, TID, get(r)), memory=[r]), params=[out]
        )
        result = ints(32)
        sim.run(program, [result])
        expected = [
            sum(i * 100 + j for i in range(t % 3, t % 3 + t % 7 - 1) for j in range(i, i + t % 4))
            for t in range(32)
        ]
        np.testing.assert_array_equal(result, expected)

    def test_a_stop_condition(self):
        x, out, r, i = vector("x"), vector("out"), local(), Var("i")
        found = build.if_then_else(get(x, TID * 8 + i).equal(7), 1, get(r))
        step = build.seq(put(r, 0, found), put(out, TID, get(out, TID) + 1))
        loop = For(i, ZERO, build.const(8), "serial", step, stop=get(r).equal(1))
        body = [put(r, 0, 0), put(out, TID, 0), loop]
        data = np.random.default_rng(0).integers(0, 12, 256).astype(np.int32)
        result = ints(32)
        program = kernel(launch(*body, memory=[r]), params=[x, out], outputs=[out])
        sim.run(program, [data, result])
        rows = data.reshape(32, 8) == 7
        np.testing.assert_array_equal(result, np.where(rows.any(1), rows.argmax(1) + 1, 8))

    def test_names(self):
        out, v = vector("out"), Var("v")
        body = If(TID % 2 > 0, Let(v, TID * 3, put(out, TID, v + 1)))
        result = ints(32)
        sim.run(kernel(launch(body), params=[out]), [result])
        t = np.arange(32)
        np.testing.assert_array_equal(result, np.where(t % 2 > 0, t * 3 + 1, -1))


class TestVectors:
    def test_masked_copies(self):
        x, y = vector("x"), vector("y")
        at = Ramp(TID * 4, ONE, 4)
        mask = at < Broadcast(x.shape[0], 4)
        program = kernel(
            launch(Store(y, at, Load(x, at, mask), mask), block=8), params=[x, y], outputs=[y]
        )
        for n in (1, 29, 32):
            data, result = np.arange(n, dtype=np.int32), ints(32)
            sim.run(program, [data, result])
            np.testing.assert_array_equal(result[:n], data)
            assert (result[n:] == -1).all()

    def test_masked_lanes_are_zero(self):
        x, y = vector("x"), vector("y")
        at = Ramp(TID * 4, ONE, 4)
        mask = at < Broadcast(x.shape[0], 4)
        program = kernel(
            launch(Store(y, at, Load(x, at, mask) + Broadcast(ONE, 4)), block=2),
            params=[x, y],
            outputs=[y],
        )
        result = ints(8)
        sim.run(program, [ints(5, 10), result])
        np.testing.assert_array_equal(result, [11] * 5 + [1] * 3)

    def test_backwards_and_broadcast(self):
        x, y = vector("x"), vector("y")
        value = Load(x, Ramp(31 - TID * 4, build.const(-1), 4)) * Broadcast(TID + 1, 4)
        program = kernel(
            launch(Store(y, Ramp(TID * 4, ONE, 4), value), block=8), params=[x, y], outputs=[y]
        )
        result = ints(32)
        sim.run(program, [np.arange(32, dtype=np.int32), result])
        t = np.arange(32)
        np.testing.assert_array_equal(result, t[::-1] * (t // 4 + 1))

    def test_a_choice_guards_single_lanes(self):
        x, y = vector("x"), vector("y")
        at = Ramp(TID * 4, ONE, 4)
        value = build.if_then_else(at < Broadcast(x.shape[0], 4), Load(x, at), Broadcast(ZERO, 4))
        program = kernel(launch(Store(y, at, value), block=8), params=[x, y], outputs=[y])
        result = ints(32)
        sim.run(program, [np.arange(1, 19, dtype=np.int32), result])
        np.testing.assert_array_equal(result, [*range(1, 19), *[0] * 14])


class TestStrides:
    def copy(self, unit, rank=2, dtype=FLOAT32):
        shape = tuple(Var(f"n{n}") for n in range(rank))
        x = Buffer("x", dtype, shape, tuple(Var(f"x{n}") for n in range(rank)), unit)
        y = Buffer("y", dtype, shape, tuple(Var(f"y{n}") for n in range(rank)), unit)
        row, column = Var("row"), Var("column")
        move = put(
            y,
            row * y.strides[0] + column * y.strides[1],
            get(x, row * x.strides[0] + column * x.strides[1]),
        )
        loops = For(row, ZERO, shape[0], "serial", For(column, ZERO, shape[1], "serial", move))
        return kernel(launch(loops, block=1), params=[x, y], outputs=[y])

    @pytest.mark.parametrize("flip", [(1, 1), (-1, 1), (1, -2), (-2, -1)])
    def test_views(self, flip):
        whole = np.arange(60, dtype=np.float32).reshape(6, 10)
        x = whole[:: flip[0], :: flip[1]]
        target = np.full((2 * x.shape[1], 3 * x.shape[0]), -1, np.float32)
        y = target[::-2, ::3].T
        sim.run(self.copy("element"), [x, y])
        np.testing.assert_array_equal(y, x)
        assert (target == -1).sum() == target.size - x.size

    def test_fields_of_packed_records(self):
        records = np.zeros((3, 5), np.dtype([("tag", "u1"), ("a", "f4"), ("b", "f8")]))
        records["a"] = np.arange(15).reshape(3, 5)
        target = np.zeros((5, 3), np.dtype([("a", "f4"), ("tag", "u1")]))
        target["tag"] = 9
        sim.run(self.copy("byte"), [records["a"][:, ::-1], target["a"].T])
        np.testing.assert_array_equal(target["a"].T, records["a"][:, ::-1])
        assert (target["tag"] == 9).all()

    def test_repeated_and_empty(self):
        x = np.broadcast_to(np.arange(5, dtype=np.float32), (4, 5))
        y = np.zeros((4, 5), np.float32)
        sim.run(self.copy("element"), [x, y])
        np.testing.assert_array_equal(y, x)
        for unit in ("element", "byte"):
            sim.run(self.copy(unit), [x[:, :0], y[:, :0]])

    def test_rank_0(self):
        x, y = (Buffer(n, FLOAT32, ()) for n in "xy")
        result = np.zeros((), np.float32)
        program = kernel(launch(put(y, 0, get(x)), block=1), params=[x, y], outputs=[y])
        sim.run(program, [np.array(3, np.float32), result])
        assert result == 3


class TestClusters:
    def test_memory_of_the_first_block(self):
        c, out = shared("c", 2, scope="cluster"), vector("out")
        body = [
            If(TID.equal(0), put(c, RANK, BLOCK * 10 + RANK)),
            Barrier("cluster"),
            put(out, (BLOCK * 2 + RANK) * 32 + TID, get(c, 1 - RANK)),
        ]
        result = ints(192)
        program = kernel(launch(*body, grid=3, cluster=2, memory=[c]), params=[out])
        sim.run(program, [result], seed=1)
        np.testing.assert_array_equal(result, np.repeat([1, 0, 11, 10, 21, 20], 32))

    def test_shared_memory_is_each_blocks_own(self):
        s, out = shared("s", 32), vector("out")
        body = [put(s, TID, RANK), Barrier(), put(out, (BLOCK * 2 + RANK) * 32 + TID, get(s, TID))]
        result = ints(128)
        sim.run(kernel(launch(*body, grid=2, cluster=2, memory=[s]), params=[out]), [result])
        np.testing.assert_array_equal(result, np.repeat([0, 1, 0, 1], 32))


class TestHost:
    def test_names_and_branches(self):
        out, blocks = vector("out"), Var("blocks", INT64)
        count = build.cast(INT64, out.shape[0])
        run = launch(put(out, BLOCK * 4 + TID, build.cast(INT32, blocks)), block=4, grid=blocks)
        none = launch(put(out, TID, 0), block=1)
        program = kernel(Let(blocks, count // 4, If(blocks > 1, run, none)), params=[out])
        for n, expected in ((12, [3] * 12), (4, [0, -1, -1, -1])):
            result = ints(n)
            sim.run(program, [result])
            np.testing.assert_array_equal(result, expected)

    def test_no_blocks(self):
        out = vector("out")
        result = ints(0)
        sim.run(kernel(launch(put(out, TID, 0), grid=out.shape[0]), params=[out]), [result])

    def test_more_blocks_than_run_side_by_side(self):
        out = vector("out")
        result = ints(300 * 1024)
        body = put(out, BLOCK * 1024 + TID, TID)
        program = kernel(launch(body, block=1024, grid=300), params=[out])
        sim.run(program, [result])
        np.testing.assert_array_equal(result, np.tile(np.arange(1024), 300))


def test_the_order_of_blocks_is_chosen_by_the_seed():
    out, counter, flag = vector("out"), Buffer("counter", UINT32, (ONE,)), local("flag", 1, BOOL)
    body = [Ticket(flag, counter, ZERO, build.const(8)), If(get(flag), put(out, 0, BLOCK))]
    threads_ = launch(*body, block=1, grid=8, memory=[flag])
    program = kernel(allocated([counter], threads_, zeroed=True), params=[out])
    last = []
    for seed in (0, 1, 2, 3, 0):
        result = ints(1)
        sim.run(program, [result], seed=seed)
        last.append(int(result[0]))
    assert last[0] == last[-1]
    assert len(set(last)) > 1


def test_arrays_of_a_thread():
    out, r, i = vector("out"), local("r", 5), Var("i")
    fill = For(i, ZERO, build.const(5), "serial", put(r, i, TID * 10 + i))
    body = Allocate(r, build.seq(fill, put(out, TID, get(r, TID % 5))))
    result = ints(40)
    sim.run(kernel(launch(body, block=40), params=[out]), [result])
    t = np.arange(40)
    np.testing.assert_array_equal(result, t * 10 + t % 5)
