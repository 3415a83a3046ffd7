# SPDX-License-Identifier: Apache-2.0
"""Guards of rows that several passes hold: asked where memory is read and written, only there."""

import pytest
from fold_support import elements
from fold_support.simulated import fold_in_sim
from fold_support.spreads import agree

from axisfold.ir import build
from axisfold.ir.stmt import AllReduce, If, Launch, Store
from axisfold.ir.walk import post_order, uses
from axisfold.passes import pipelines
from axisfold.passes.free_registers import free_registers
from axisfold.plan import planner


@pytest.fixture
def changes(monkeypatch):
    """Programs before and after the pass."""
    found = []

    def noted(kernel):
        found.append((kernel, free_registers(kernel)))
        return found[-1][1]

    passes = tuple(noted if p is free_registers else p for p in pipelines.THREADS)
    monkeypatch.setattr(pipelines, "THREADS", passes)
    monkeypatch.setattr(planner, "_plans", {})
    return found


def row_guards(kernel):
    """Return what stands under guards that ask for the row of a thread."""
    (launch,) = (n for n in post_order(kernel.body) if isinstance(n, Launch))
    row = {launch.vars[launch.tags.index("threadIdx.y")]}
    return [n for n in post_order(launch.body) if isinstance(n, If) and uses(n.condition, row)]


def is_local(statement):
    return {n.buffer.scope == "local" for n in post_order(statement) if isinstance(n, Store)}


# One axis beside the rows, and two, whose places are a quotient and a remainder.
@pytest.mark.parametrize("shape", [(41, 128), (3, 11, 100)])
def test_rows_are_asked_for_at_loads_and_stores(shape, changes):
    x = elements(shape, "float32", "softmax")
    for name in ("softmax", "log_softmax"):
        _, [result] = fold_in_sim([x], [name], len(shape) - 1)
        agree(name, result, x, len(shape) - 1)
    for before, after in changes:
        assert len(row_guards(before)) > 8
        outer = row_guards(after)
        fills = [n for n in outer if n.otherwise is not None]
        assert fills
        assert all(is_local(n.then) == is_local(n.otherwise) == {True} for n in fills)
        assert all(is_local(n.then) == {False} for n in outer if n.otherwise is None)
        meetings = [n for n in post_order(after.body) if isinstance(n, AllReduce)]
        assert len(meetings) == 2
        assert not any(build.conjuncts(n.condition) for n in meetings)


@pytest.mark.parametrize(("name", "extent"), [("sum", 64), ("softmax", 4)])
def test_other_rows_keep_their_guards(name, extent, changes):
    """Rows of one pass, and of one thread."""
    fold_in_sim([elements((41, extent), "float32", name)], [name], 1)
    assert all(before is after for before, after in changes)
    assert changes
