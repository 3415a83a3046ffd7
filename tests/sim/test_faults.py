# SPDX-License-Identifier: Apache-2.0
"""Every fault is planted and found; the program without it runs."""

import numpy as np
import pytest
from sim_support import (
    BLOCK,
    ONE,
    RANK,
    TID,
    ZERO,
    allocated,
    fault,
    get,
    kernel,
    last_block,
    launch,
    local,
    put,
    shared,
    vector,
)

from axisfold import sim
from axisfold.dtypes import BOOL, FLOAT32, INT32, UINT32
from axisfold.ir import build, threads
from axisfold.ir.buffer import Buffer, Facts
from axisfold.ir.expr import Load, Ramp, Var
from axisfold.ir.stmt import Allocate, Barrier, For, If, Shuffle, Store, Ticket


def ints(n, value=-1):
    return np.full(n, value, np.int32)


class TestRace:
    def neighbour(self, *between, block=64):
        s, out = shared(size=block), vector("out")
        body = [put(s, TID, TID), *between, put(out, TID, get(s, (TID + 1) % block))]
        return kernel(launch(*body, block=block, memory=[s]), params=[out])

    def test_a_read_without_a_barrier(self):
        out = ints(64)
        fault(
            self.neighbour(),
            [out],
            "M101",
            "shared s[1]: thread (0, 0, 0) of block (0, 0, 0) reads it",
            "which thread (1, 0, 0) of block (0, 0, 0) has written at",
            "Put a barrier of the block between the two.",
            lines=["out_2[threadIdx.x] = ", "s[threadIdx.x] = threadIdx.x"],
        )

    def test_a_barrier_orders(self):
        out = ints(64)
        sim.run(self.neighbour(Barrier()), [out])
        np.testing.assert_array_equal(out, np.roll(np.arange(64), -1))

    def test_a_barrier_of_the_warp_orders_no_other_warp(self):
        message = fault(
            self.neighbour(Barrier("warp")), [ints(64)], "M101", "shared s[32]: thread (31, 0, 0)"
        )
        assert "thread (32, 0, 0) of block (0, 0, 0) has written" in message
        sim.run(self.neighbour(Barrier("warp"), block=32), [ints(32)])

    def test_a_shuffle_orders_no_memory(self):
        r = local()
        exchange = Allocate(r, Shuffle(r, TID, "xor", ONE))
        fault(self.neighbour(exchange, block=32), [ints(32)], "M101")

    def test_a_write_after_a_read(self):
        s, r, out = shared(size=32), local(), vector("out")

        def program(*between):
            body = [put(s, TID, TID), Barrier(), put(r, 0, get(s, 31 - TID)), *between]
            body += [put(s, TID, 7), put(out, TID, get(r))]
            return kernel(launch(*body, memory=[s, r]), params=[out])

        fault(
            program(),
            [ints(32)],
            "M101",
            "shared s[0]: thread (0, 0, 0) of block (0, 0, 0) writes it",
            "which thread (31, 0, 0) of block (0, 0, 0) has read at",
            lines=["s[threadIdx.x] = 7", "r[0] = "],
        )
        result = ints(32)
        sim.run(program(Barrier("warp")), [result])
        np.testing.assert_array_equal(result, np.arange(32)[::-1])

    def test_two_writes_of_one_value_at_once(self):
        s = shared()
        message = fault(kernel(launch(put(s, TID // 2, 5), memory=[s])), [], "M101", "shared s[0]")
        assert "thread (0, 0, 0)" in message
        assert "thread (1, 0, 0)" in message
        sim.run(kernel(launch(If((TID % 2).equal(0), put(s, TID // 2, 5)), memory=[s])), [])

    def test_in_place_in_global_memory(self):
        x = vector("x")
        fault(
            kernel(launch(put(x, TID, get(x, TID) + get(x, (TID + 1) % 32))), params=[x]),
            [ints(32, 1)],
            "M101",
            "global x[",
        )

    def test_blocks_are_never_ordered(self):
        x = vector("x")
        program = kernel(launch(If(TID.equal(0), put(x, 3, 1)), Barrier(), grid=3), params=[x])
        message = fault(program, [ints(5)], "M101", "global x[3]", "the end of a launch")
        assert len({f"block ({n}, 0, 0)" in message for n in range(3)}) == 2

    def test_blocks_of_different_batches(self):
        x = vector("x")
        program = kernel(
            launch(If(TID.equal(0), put(x, BLOCK // 200, 1)), grid=300, block=1024), params=[x]
        )
        fault(program, [ints(5)], "M101", "global x[")

    def test_launches_are_ordered(self):
        x, y = vector("x"), vector("y")
        both = [launch(put(x, TID, TID)), launch(put(y, TID, get(x, 31 - TID)))]
        a, b = ints(32), ints(32)
        sim.run(kernel(*both, params=[x, y]), [a, b])
        np.testing.assert_array_equal(b, np.arange(32)[::-1])

    def test_reads_do_not_race(self):
        x, y = vector("x"), vector("y")
        body = launch(put(y, TID + BLOCK * 32, get(x, 0) + get(x, TID)), grid=2)
        sim.run(kernel(body, params=[x, y], outputs=[y]), [ints(32), ints(64)])


class TestBarrier:
    def test_in_a_branch(self):
        program = kernel(launch(If(TID < 40, Barrier()), block=64))
        fault(
            program,
            [],
            "M102",
            "thread (0, 0, 0) of block (0, 0, 0) waits for all threads of its block",
            "thread (40, 0, 0) of block (0, 0, 0) does not come",
            lines=["@barrier(block)"],
        )

    def test_in_both_branches(self):
        fault(kernel(launch(If(TID < 16, Barrier(), Barrier()))), [], "M102")

    def test_of_whole_warps_in_a_branch(self):
        sim.run(kernel(launch(If(TID < 32, Barrier("warp")), block=64)), [])
        fault(
            kernel(launch(If(TID < 33, Barrier("warp")), block=64)),
            [],
            "M102",
            "thread (32, 0, 0) of block (0, 0, 0) waits for all threads of its warp",
        )

    def test_a_short_last_warp_is_whole(self):
        sim.run(kernel(launch(If(TID >= 32, Barrier("warp")), block=43)), [])

    def test_whole_blocks_may_differ(self):
        sim.run(kernel(launch(If((BLOCK % 2).equal(0), Barrier()), grid=5)), [])

    def test_after_a_thread_has_left_a_loop(self):
        i = Var("i")
        for extent, is_legal in ((TID // 32 + 1, False), (BLOCK + 1, True)):
            loop = For(i, ZERO, extent, "serial", Barrier())
            program = kernel(launch(loop, block=64, grid=3))
            if is_legal:
                sim.run(program, [])
            else:
                fault(program, [], "M102", "or left the loop")

    def test_of_a_cluster(self):
        sim.run(kernel(launch(Barrier("cluster"), grid=2, cluster=2)), [])
        program = kernel(launch(If(RANK.equal(0), Barrier("cluster")), grid=2, cluster=2))
        fault(
            program, [], "M102", "waits for all threads of its cluster", "block (1, 0, 0) does not"
        )


class TestUninitialised:
    @pytest.mark.parametrize("make", [shared, local])
    def test_of_a_block_or_thread(self, make):
        memory, out = make("m", 4), vector("out")
        good = [If(TID.equal(0), put(memory, 2, 1))]
        read = If(TID.equal(0), put(out, 0, get(memory, 2)))
        bad = If(TID.equal(0), put(out, 0, get(memory, 3)))
        sim.run(kernel(launch(*good, read, memory=[memory]), params=[out]), [ints(1)])
        fault(
            kernel(launch(*good, bad, memory=[memory]), params=[out]),
            [ints(1)],
            "M103",
            f"thread (0, 0, 0) of block (0, 0, 0) reads {memory.scope} m[3]",
            lines=["out_2[0] = "],
        )

    def test_of_a_workspace(self):
        work, out = Buffer("work", INT32, (build.const(4),)), vector("out")
        write = launch(If(TID < 3, put(work, TID, TID)))
        read = launch(If(TID < 4, put(out, TID, get(work, TID))))
        program = kernel(allocated([work], write, read), params=[out])
        fault(program, [ints(4)], "M103", "global work[3]")
        zeroed = kernel(allocated([work], read, zeroed=True), params=[out])
        result = ints(4)
        sim.run(zeroed, [result])
        assert not result.any()

    def test_local_memory_of_a_new_round(self):
        r, out, i = local(), vector("out"), Var("i")
        body = build.seq(If(i.equal(0), put(r, 0, 1)), put(out, TID, get(r)))
        outside = For(i, ZERO, build.const(2), "serial", body)
        sim.run(kernel(launch(outside, memory=[r]), params=[out]), [ints(32)])
        inside = For(i, ZERO, build.const(2), "serial", Allocate(r, body))
        fault(kernel(launch(inside), params=[out]), [ints(32)], "M103", "local r[0]")

    def test_a_counter(self):
        counter, flag = Buffer("counter", UINT32, (ONE,)), local("flag", 1, BOOL)
        take = launch(If(TID.equal(0), Ticket(flag, counter, ZERO, ONE)), memory=[flag])
        fault(kernel(allocated([counter], take)), [], "M103", "global counter[0]")
        sim.run(kernel(allocated([counter], take, zeroed=True)), [])


class TestBounds:
    @pytest.mark.parametrize("offset", [-1, 5, 1 << 40])
    def test_arrays(self, offset):
        x, y = vector("x"), vector("y")
        index = build.const(offset, "int64")
        read = kernel(launch(put(y, 0, Load(x, index)), block=1), params=[x, y], outputs=[y])
        fault(
            read,
            [ints(5), ints(1)],
            "M104",
            f"thread (0, 0, 0) of block (0, 0, 0) loads global x[{offset}]",
            "the buffer has 5 elements",
            lines=["y_2[0] = "],
        )
        write = kernel(launch(Store(x, index, ONE), block=1), params=[x])
        fault(write, [ints(5)], "M104", f"stores global x[{offset}]")

    @pytest.mark.parametrize("make", [shared, local])
    def test_memory_of_a_block_or_thread(self, make):
        memory = make("m", 31)
        fault(
            kernel(launch(put(memory, TID, 1), memory=[memory])),
            [],
            "M104",
            f"thread (31, 0, 0) of block (0, 0, 0) stores {memory.scope} m[31]",
        )

    def test_guards(self):
        x, y = vector("x"), vector("y")
        guarded = build.if_then_else(x.shape[0] > TID, get(x, TID), 0)
        sim.run(
            kernel(launch(put(y, TID, guarded)), params=[x, y], outputs=[y]), [ints(5), ints(32)]
        )
        both = build.select(x.shape[0] > TID, get(x, TID), 0)
        program = kernel(launch(put(y, TID, both)), params=[x, y], outputs=[y])
        fault(program, [ints(5), ints(32)], "M104", "loads global x[5]")

    def test_gaps_of_a_strided_view(self):
        x = Buffer("x", INT32, (Var("n"), Var("m")), (Var("s0"), Var("s1")))
        y = vector("y")
        array = np.arange(40, dtype=np.int32).reshape(4, 10)[:, 2:8:2]
        row, column = TID // 3, TID % 3
        at = row * x.strides[0] + column * x.strides[1]
        good = kernel(launch(put(y, TID, get(x, at)), block=12), params=[x, y], outputs=[y])
        result = ints(12)
        sim.run(good, [array, result])
        np.testing.assert_array_equal(result, array.ravel())
        bad = kernel(launch(put(y, TID, get(x, at + 1)), block=12), params=[x, y], outputs=[y])
        fault(bad, [array, ints(12)], "M104", "loads global x[1]", "12 elements, with gaps")

    def test_a_counter(self):
        counter, flag = Buffer("counter", UINT32, (ONE,)), local("flag", 1, BOOL)
        take = launch(If(TID.equal(0), Ticket(flag, counter, ONE, ONE)), memory=[flag])
        fault(kernel(allocated([counter], take, zeroed=True)), [], "M104", "global counter[1]")


class TestShuffle:
    def program(self, mode, lane, block=32, width=32):
        r, out = local(), vector("out")
        body = [Shuffle(r, TID, mode, build.as_expr(lane), width), put(out, TID, get(r))]
        return kernel(launch(*body, block=block, memory=[r]), params=[out])

    @pytest.mark.parametrize(
        ("mode", "lane", "block", "width", "thread", "source", "why"),
        [
            ("down", 8, 11, 32, 3, 11, "the warp has 11 lanes"),
            ("down", -1, 32, 8, 0, -1, "beyond its segment of 8 lanes"),
            ("xor", 8, 32, 8, 0, 8, "beyond its segment of 8 lanes"),
            ("xor", 32, 32, 32, 0, 32, "beyond its segment of 32 lanes"),
            ("xor", 1, 43, 32, 42, 11, "the warp has 11 lanes"),
            ("index", 4, 32, 4, 0, 4, "beyond its segment of 4 lanes"),
            ("index", 20, 43, 32, 32, 20, "the warp has 11 lanes"),
        ],
    )
    def test_from_nowhere(self, mode, lane, block, width, thread, source, why):
        fault(
            self.program(mode, lane, block, width),
            [ints(block)],
            "M105",
            f"thread ({thread}, 0, 0) of block (0, 0, 0), lane {thread % 32} of its warp, "
            f"reads from lane {source}",
            why,
            lines=[f"r[0] = @shuffle_{mode}("],
        )

    def test_not_all_lanes(self):
        r = local()
        partial = If(TID < 40, Shuffle(r, TID, "down", ONE))
        fault(
            kernel(launch(partial, block=64, memory=[r])),
            [],
            "M106",
            "thread (32, 0, 0) of block (0, 0, 0) shuffles, but thread (40, 0, 0)",
        )
        sim.run(
            kernel(launch(If(TID < 32, Shuffle(r, TID, "down", ONE)), block=64, memory=[r])), []
        )


class TestTicket:
    def test_the_protocol(self):
        for seed in range(5):
            out = ints(4)
            sim.run(last_block(), [out], seed=seed)
            np.testing.assert_array_equal(out, [1, 2, 3, 4])

    def test_without_a_barrier_before_the_ticket(self):
        fault(
            last_block(barrier=False),
            [ints(4)],
            "M107",
            "thread (31, 0, 0) of block (",
            "no barrier in between",
            "global partial[",
            lines=["out_2[threadIdx.x] = ", "partial[blockIdx.x] = "],
        )

    def test_the_writer_may_take_the_ticket_itself(self):
        sim.run(last_block(barrier=False, block=1, grid=1), [ints(1)])

    def test_without_a_barrier_after_the_ticket(self):
        fault(last_block(wait=False), [ints(4)], "M101", "shared is_last[0]")

    def test_a_block_that_is_not_last(self):
        x, counter, flag = vector("x"), Buffer("counter", UINT32, (ONE,)), local("flag", 1, BOOL)
        body = launch(
            put(x, BLOCK, BLOCK),
            Ticket(flag, counter, ZERO, build.const(4)),
            put(x, (BLOCK + 1) % 4, 1),
            block=1,
            grid=4,
            memory=[flag],
        )
        fault(kernel(allocated([counter], body, zeroed=True), params=[x]), [ints(4)], "M101")

    def test_two_threads_of_a_block(self):
        counter, flag = Buffer("counter", UINT32, (ONE,)), local("flag", 1, BOOL)
        for count, is_legal in ((1, True), (2, False)):
            take = If(count > TID, Ticket(flag, counter, ZERO, build.const(3)))
            program = kernel(allocated([counter], launch(take, grid=3, memory=[flag]), zeroed=True))
            if is_legal:
                sim.run(program, [])
            else:
                fault(program, [], "M108", "thread (1, 0, 0)", "second ticket", "counter[0]")

    def test_a_second_ticket_later(self):
        counter, flag = Buffer("counter", UINT32, (ONE,)), local("flag", 1, BOOL)
        take = Ticket(flag, counter, ZERO, build.const(2))
        program = kernel(
            allocated([counter], launch(take, take, block=1, grid=2, memory=[flag]), zeroed=True)
        )
        fault(program, [], "M108", lines=["flag[0] = @ticket("])

    def test_too_few_tickets(self):
        fault(last_block(total=5), [ints(4)], "M109", "global counter[0] is 4 at the end")


def test_a_workspace_left_dirty():
    work = Buffer("work", INT32, (build.const(32),))

    def program(value):
        body = launch(put(work, TID, TID), Barrier(), put(work, TID, value))
        return kernel(allocated([work], body, zeroed=True))

    sim.run(program(0), [])
    fault(
        program(build.if_then_else(TID.equal(9), 4, 0)),
        [],
        "M109",
        "global work[9] is 4 at the end",
        lines=["allocate(work: "],
    )


class TestAlignment:
    def program(self, align, base):
        x = Buffer("x", FLOAT32, (Var("n"),), facts=Facts(align=4))
        y = Buffer("y", FLOAT32, (Var("m"),))
        value = Load(x, Ramp(TID * 4 + base, ONE, 4), align=align)
        store = Store(y, Ramp(TID * 4, ONE, 4), value)
        return kernel(launch(store, block=2), params=[x, y], outputs=[y])

    def test_of_a_load(self):
        memory = np.zeros(64, np.float32)
        first = -memory.ctypes.data // 4 % 4
        x, y = memory[first : first + 16], np.empty(8, np.float32)
        sim.run(self.program(16, 0), [x, y])
        sim.run(self.program(4, 1), [x, y])
        fault(
            self.program(16, 1),
            [x, y],
            "M110",
            "global x[1] with align=16, but its address is a multiple of 4 only",
        )
        fault(self.program(16, 0), [x[1:], y], "M110", "global x[0]")

    def test_of_shared_memory(self):
        s, pad = shared("s", 16, FLOAT32), shared("pad", 1, FLOAT32)
        store = Store(
            s, Ramp(ZERO, ONE, 4), build.broadcast(build.const(1.0, "float32"), 4), align=16
        )

        def program(offset):
            body = Allocate(pad, Allocate(s, store, offset=offset), offset=0)
            return kernel(threads.launch("threads", {"threadIdx.x": (TID, 1)}, body, 128))

        sim.run(program(16), [])
        fault(
            program(4), [], "M110", "shared s[0] with align=16, but its address is a multiple of 4"
        )
        fault(program(0), [], "M111", "shared memory s takes bytes that belong to pad")
        fault(program(96), [], "M111", "takes bytes 96 to 159, but a block has 128")


def test_a_statement_outside_of_a_launch():
    x = vector("x")
    fault(kernel(put(x, 0, 1), params=[x]), [ints(1)], "M112", "Store stands outside of a launch")


def test_the_second_of_equal_statements_is_named():
    s = shared(size=32)
    good, barrier = put(s, TID, TID), Barrier()
    late = put(s, 31 - TID, 1)
    program = kernel(launch(good, barrier, late, barrier, good, barrier, late, good, memory=[s]))
    message = fault(program, [], "M101")
    numbers = [
        n for n, line in enumerate(str(program).splitlines(), 1) if "s[threadIdx.x] = " in line
    ]
    assert f"line {numbers[-1]}:" in message
