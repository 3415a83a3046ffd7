# SPDX-License-Identifier: Apache-2.0
"""place_barriers: one barrier where threads meet in memory, none where they do not."""

import pytest
from sim_support import ONE, TID, ZERO, get, kernel, launch, local, put, shared, vector

from axisfold import te
from axisfold.build import build as compiled
from axisfold.errors import UnsupportedError
from axisfold.ir import build
from axisfold.ir.expr import Var
from axisfold.ir.stmt import Barrier, For, If, Shuffle
from axisfold.ir.walk import post_order
from axisfold.passes.place_barriers import place_barriers

T, U, OUT = shared("T"), shared("U"), vector("out")
ROUND = Var("i")


def placed(*body):
    """Return the statements of a launch of 64 threads once barriers are placed, as text."""
    program = place_barriers(kernel(launch(*body, block=64, memory=[T]), params=[OUT]))
    assert str(place_barriers(program)) == str(program)
    lines = [line.strip() for line in str(program).splitlines()]
    first = next(n for n, line in enumerate(lines) if line.startswith("allocate(T"))
    return [line for line in lines[first + 1 :] if line != "}"]


def barriers(program):
    return sum(isinstance(node, Barrier) for node in post_order(program.body))


def test_a_read_of_what_another_thread_wrote():
    steps = placed(put(T, TID, TID), put(OUT, TID, get(T, 63 - TID)))
    assert steps == [
        "T[threadIdx.x] = threadIdx.x",
        "@barrier(block)",
        "out_2[threadIdx.x] = (int32*)T[(63 - threadIdx.x)]",
    ]


def test_a_thread_that_reads_its_own_element_waits_for_nobody():
    assert len(placed(put(T, TID, TID), put(OUT, TID, get(T, TID)))) == 2


def test_reads_need_no_barrier():
    steps = [put(OUT, TID, get(T, 63 - TID)), put(OUT, TID, get(T, TID))]
    program = place_barriers(kernel(launch(*steps, block=64, memory=[T]), params=[OUT]))
    assert not barriers(program)


def test_a_write_over_what_another_thread_reads():
    steps = placed(put(OUT, TID, get(T, 63 - TID)), put(T, TID, TID))
    assert steps[1] == "@barrier(block)"


def test_one_barrier_serves_two_buffers():
    steps = [
        put(T, TID, TID), put(U, TID, TID),
        put(OUT, TID, get(T, 63 - TID)), put(OUT, TID, get(U, 63 - TID)),
    ]  # fmt: skip
    program = place_barriers(kernel(launch(*steps, block=64, memory=[T, U]), params=[OUT]))
    assert barriers(program) == 1


def test_a_barrier_that_is_there_counts():
    steps = [put(T, TID, TID), Barrier("block"), put(OUT, TID, get(T, 63 - TID))]
    program = kernel(launch(*steps, block=64, memory=[T]), params=[OUT])
    assert barriers(place_barriers(program)) == 1


def test_a_block_of_one_thread_needs_none():
    program = kernel(
        launch(put(T, ZERO, TID), put(OUT, TID, get(T, ZERO)), block=1, memory=[T]), params=[OUT]
    )
    assert not barriers(place_barriers(program))


def test_rounds_of_a_loop_follow_each_other():
    """The round after overwrites what others may still read: one barrier at each end."""
    body = build.seq(put(T, TID, TID + ROUND), put(OUT, TID, get(T, 63 - TID)))
    loop = For(ROUND, ZERO, build.const(4), "serial", body)
    program = place_barriers(kernel(launch(loop, block=64, memory=[T]), params=[OUT]))
    inside = next(n for n in post_order(program.body) if isinstance(n, For))
    kinds = [type(part).__name__ for part in inside.body.body]
    assert kinds == ["Barrier", "Store", "Barrier", "Store"]


def test_memory_of_a_cluster_takes_barriers_of_the_cluster():
    both = shared("C", scope="cluster")
    program = kernel(
        launch(put(both, TID, TID), put(OUT, TID, get(both, 63 - TID)), block=64, cluster=2,
               memory=[both]),
        params=[OUT],
    )  # fmt: skip
    levels = [n.level for n in post_order(place_barriers(program).body) if isinstance(n, Barrier)]
    assert levels == ["cluster"]


def test_a_barrier_before_a_branch_that_only_some_threads_take():
    steps = placed(put(T, TID, TID), If(TID.equal(0), put(OUT, ZERO, get(T, ONE))))
    assert steps[1] == "@barrier(block)"


@pytest.mark.parametrize("what", ["barrier", "shuffle"])
def test_x125_where_not_all_threads_arrive(what):
    other = local("other")
    step = (
        build.seq(put(T, TID, TID), put(OUT, TID, get(T, 63 - TID)))
        if what == "barrier"
        else Shuffle(other, TID, "down", ONE)
    )
    program = kernel(launch(If(TID < 7, step), block=64, memory=[T, other]), params=[OUT])
    with pytest.raises(UnsupportedError) as caught:
        place_barriers(program)
    assert caught.value.code == "X125"
    assert "the condition (threadIdx.x < 7) differs between threads" in str(caught.value)


def test_column_sums_through_shared_memory_have_one_barrier():
    """rfactor over threadIdx.y: all store their part, wait once, and the first row adds."""
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), "int32", name="A")
    k = te.reduce_axis((0, n), "k")
    B = te.compute((m,), lambda j: te.sum(A[k, j], axis=k), name="B")
    s = te.create_schedule(B.op)
    part, _ = s[B].split(k, nparts=8)
    BF = s.rfactor(B, part)
    block, column = s[B].split(s[B].op.axis[0], factor=32)
    s[B].bind(block, te.thread_axis("blockIdx.x"))
    s[B].bind(column, te.thread_axis("threadIdx.x"))
    s[BF].compute_at(s[B], block)
    s[BF].set_scope("shared")
    _, own = s[BF].split(s[BF].op.axis[1], factor=32)
    s[BF].bind(own, te.thread_axis("threadIdx.x"))
    s[BF].bind(s[BF].op.axis[0], te.thread_axis("threadIdx.y"))
    assert barriers(compiled(s, [A, B], "sim").device) == 1
