# SPDX-License-Identifier: Apache-2.0
"""expand_all_reduce: the steps of each style, and that they add what each thread brings."""

import numpy as np
import pytest
from sim_support import BLOCK, RANK, ZERO, allocated, get, put

from axisfold import sim
from axisfold.dtypes import INT32
from axisfold.errors import UnsupportedError
from axisfold.ir import build, threads
from axisfold.ir.buffer import Buffer
from axisfold.ir.combiner import Combiner
from axisfold.ir.expr import Var
from axisfold.ir.stmt import AllReduce, Barrier, For, If, Kernel, Shuffle
from axisfold.ir.verify import verify
from axisfold.ir.walk import post_order
from axisfold.passes.expand_all_reduce import expand_all_reduce
from axisfold.passes.place_shared import place_shared

X, Y, Z = (Var(f"threadIdx.{axis}") for axis in "xyz")
LHS, RHS = Var("x"), Var("y")


def combiner(*facts):
    return Combiner((LHS,), (RHS,), (LHS + RHS,), (ZERO,), frozenset(facts or ("commutative",)))


def expanded(extents, over, style="", *, facts=(), level="block", cluster=1, blocks=1, repeat=1):
    """Return a program in which the threads of each team add their numbers.

    ``extents``: threads along x, y, z; ``over``: variables of the team.  The first thread of each
    team stores the sum at the team's number.
    """
    out = Buffer("out", INT32, (Var("n"),))
    total = Buffer("total", INT32, (build.const(1),), scope="local")
    x, y, z = extents
    number = X + Y * x + Z * (x * y) + RANK * (x * y * z) + BLOCK * (x * y * z * cluster)
    reduce = AllReduce(combiner(*facts), (number,), build.TRUE, (total,), tuple(over), level, style)
    kept = [v for v in (Z, Y, X) if v not in over]
    team = ZERO
    for var in kept:
        team = team * {X: x, Y: y, Z: z}[var] + var
    # Which block of a grid stores, the all-reduce says.
    first = build.all_of([v.equal(0) for v in over if level != "grid" or v in (X, Y, Z)])
    body = build.seq(reduce, If(first, put(out, team, get(total))))
    if repeat > 1:
        body = For(Var("i"), ZERO, build.const(repeat), "serial", body)
    indices = {
        "blockIdx.x": (BLOCK, blocks), "clusterCtaIdx.x": (RANK, cluster),
        "threadIdx.x": (X, x), "threadIdx.y": (Y, y), "threadIdx.z": (Z, z),
    }  # fmt: skip
    nest = threads.launch("main_kernel0", indices, allocated([total], body))
    program = place_shared(expand_all_reduce(Kernel("main", (out,), (out,), nest)))
    verify(program)
    return program


def counted(program, kind):
    return sum(isinstance(node, kind) for node in post_order(program.body))


def check(program, extents, over, copies=1):
    """Run, and compare with what each team's numbers add up to."""
    x, y, z = extents
    numbers = np.arange(copies * x * y * z).reshape(copies, z, y, x)
    wanted = numbers.sum(axis=tuple({Z: 1, Y: 2, X: 3}[v] for v in over)).sum(axis=0)
    found = np.full(wanted.size, -1, np.int32)
    sim.run(program, [found])
    np.testing.assert_array_equal(found, wanted.ravel())


EXTENTS = [
    ((32, 1, 1), (X,)), ((16, 4, 1), (X,)), ((11, 1, 1), (X,)), ((11, 3, 2), (X,)),
    ((64, 2, 1), (X,)), ((100, 1, 1), (X,)), ((201, 1, 1), (X,)), ((4, 8, 1), (Y,)),
    ((5, 7, 3), (Y, Z)), ((8, 8, 2), (X, Y)), ((37, 2, 2), (X, Z)), ((1, 1, 1), (X,)),
]  # fmt: skip


@pytest.mark.parametrize(("extents", "over"), EXTENTS)
@pytest.mark.parametrize("facts", [(), ("ordered",)])
def test_any_threads(extents, over, facts):
    check(expanded(extents, over, facts=facts), extents, over)


@pytest.mark.parametrize(("extents", "over"), EXTENTS)
@pytest.mark.parametrize("style", ["interleaved", "adjacent"])
def test_trees_take_any_threads(extents, over, style):
    check(expanded(extents, over, style), extents, over)


@pytest.mark.parametrize(("extents", "over"), EXTENTS)
def test_rounds_of_a_loop_do_not_meet(extents, over):
    check(expanded(extents, over, repeat=3), extents, over)


def test_threads_of_a_warp_only_shuffle():
    program = expanded((16, 2, 1), (X,))
    assert counted(program, Shuffle) == 4
    assert counted(program, Barrier) == 0


def test_warps_wait_once():
    program = expanded((256, 1, 1), (X,))
    assert counted(program, Shuffle) == 5 + 3
    assert counted(program, Barrier) == 1


def test_in_a_loop_warps_wait_for_the_round_before():
    assert counted(expanded((256, 1, 1), (X,), repeat=2), Barrier) == 2


def test_a_tree_waits_after_each_step():
    assert counted(expanded((64, 1, 1), (X,), "interleaved"), Barrier) == 1 + 6


def test_one_thread_has_nothing_to_combine():
    program = expanded((1, 8, 1), (X,))
    assert counted(program, Shuffle) == counted(program, Barrier) == 0


def test_an_ordered_reducer_doubles_its_distance():
    program = expanded((8, 1, 1), (X,), facts=("ordered",))
    distances = [n.lane.value for n in post_order(program.body) if isinstance(n, Shuffle)]
    assert distances[::-1] in ([1, 2, 4], [4, 2, 1])
    text = str(program)
    assert text.index("1, width=8") < text.index("2, width=8") < text.index("4, width=8")


@pytest.mark.parametrize("cluster", [2, 3, 8])
def test_blocks_of_a_cluster(cluster):
    program = expanded((40, 2, 1), (RANK, X), level="cluster", cluster=cluster)
    assert [n.level for n in post_order(program.body) if isinstance(n, Barrier)].count(
        "cluster"
    ) == 2
    check(program, (40, 2, 1), (X,), copies=cluster)


@pytest.mark.parametrize(("blocks", "cluster"), [(1, 1), (5, 1), (70, 1), (3, 2)])
def test_blocks_of_a_grid(blocks, cluster):
    over = (BLOCK, RANK, X) if cluster > 1 else (BLOCK, X)
    program = expanded((32, 2, 1), over, level="grid", blocks=blocks, cluster=cluster)
    check(program, (32, 2, 1), (X,), copies=blocks * cluster)


@pytest.mark.parametrize(
    ("extents", "over", "style", "facts"),
    [
        ((48, 1, 1), (X,), "shuffle", ()),
        ((3, 2, 1), (X,), "shuffle", ()),
        ((32, 1, 1), (X,), "two-level", ()),
        ((4, 32, 1), (Y,), "shuffle", ()),
        ((64, 1, 1), (X,), "interleaved", ("ordered",)),
    ],
)
def test_x124_styles_that_do_not_fit(extents, over, style, facts):
    with pytest.raises(UnsupportedError) as caught:
        expanded(extents, over, style, facts=facts)
    assert caught.value.code == "X124"
    assert str(caught.value).startswith(f"style {style!r} does not fit a team of ")
