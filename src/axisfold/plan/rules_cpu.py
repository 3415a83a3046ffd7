# SPDX-License-Identifier: Apache-2.0
"""The rules for CPUs: which schedule for which layout class, and why.

The table is read from the top; the first rule that applies plans the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from axisfold.plan.compose import Graph, LayoutClass
from axisfold.schedule.schedule import Schedule
from axisfold.target import Target
from axisfold.tensor.trace import Traced

Scheduler = Callable[[Schedule, Graph, Traced, Target], None]


@dataclass(frozen=True, slots=True)
class Rule:
    """A way to schedule a class of problems.

    Attributes
    ----------
    name
        Name of the class.
    applies
        Whether the rule takes a layout class.
    reason
        Why its schedule suits the class, in one sentence.
    schedule
        Applies the primitives.
    """

    name: str
    applies: Callable[[LayoutClass, Traced], bool]
    reason: str
    schedule: Scheduler


REGISTERS: Final = 16
COLUMN_TILE_BYTES: Final = 8192
COLUMN_ROWS: Final = 8


def lanes(traced: Traced, target: Target) -> int:
    """Return how many states fill one vector register, by the widest field."""
    widest = max(v.dtype.itemsize for v in traced.combiner.lhs)
    return max(target.vector_bytes // widest, 1)


def accumulators(traced: Traced) -> int:
    """Return how many vectors of states fit in half of the registers: 2 to 8, a power of two."""
    fields = len(traced.combiner.lhs)
    count = 8
    while count > 2 and count * fields > REGISTERS:
        count //= 2
    return count


def _is_vectorizable(layout: LayoutClass, traced: Traced) -> bool:
    steps = layout.inner_steps
    return "unit" in steps and "any" not in steps and not traced.combiner.is_ordered


def _row(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """Lanes along the row: partial states in registers, folded at the end of each row."""
    state, result = graph.state, s[graph.results[0]]
    inner = s[state[0]].op.reduce_axis[-1]
    width, many = lanes(traced, target), accumulators(traced)
    _, block = s[state[0]].split(inner, factor=width * many)
    _, lane = s[state[0]].split(block, factor=width)
    by_lane: Any = s.rfactor(state, lane, factor_axis=-1)
    first = by_lane[0] if isinstance(by_lane, tuple) else by_lane
    by_vector: Any = s.rfactor(by_lane, s[first].op.reduce_axis[-1], factor_axis=-2)
    second = by_vector[0] if isinstance(by_vector, tuple) else by_vector
    for tensor in (state[0], first, second):
        s[tensor].compute_at(result, result.op.axis[-1])
    stage = s[second]
    vector, lane = stage.op.axis[-2:]
    stage.reorder(*stage.op.reduce_axis, vector, lane)
    stage.unroll(vector)
    stage.vectorize(lane)
    stage = s[first]
    stage.reorder(stage.op.reduce_axis[0], stage.op.axis[-1])
    stage.unroll(stage.op.reduce_axis[0])
    stage.vectorize(stage.op.axis[-1])
    s[state[0]].unroll(s[state[0]].op.reduce_axis[0])


def _column(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """Lanes across columns: a tile of states in L1, a few rows folded each time it is read."""
    result, state = s[graph.results[0]], s[graph.state[0]]
    width = lanes(traced, target)
    field_bytes = sum(v.dtype.itemsize for v in traced.combiner.lhs)
    tile = max(COLUMN_TILE_BYTES // field_bytes // width, 1) * width
    outer, inner = result.split(result.op.axis[-1], factor=tile)
    _, lane = result.split(inner, factor=width)
    result.vectorize(lane)
    state.compute_at(result, outer)
    vector, lane = state.split(state.op.axis[-1], factor=width)
    *others, last = state.op.reduce_axis
    rows, row = state.split(last, factor=COLUMN_ROWS)
    state.reorder(*others, rows, vector, row, lane)
    state.unroll(row)
    state.vectorize(lane)


def _general(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """One element after the other; correct for every layout and every reducer."""
    result, state = s[graph.results[0]], s[graph.state[0]]
    state.compute_at(result, result.op.axis[-1])


RULES: Final = (
    Rule(
        "full",
        lambda c, t: _is_vectorizable(c, t) and c.inner_kind == "reduced" and c.kept == 0,
        "everything is folded and memory is contiguous: several vectors of partial states in "
        "registers read one long row",
        _row,
    ),
    Rule(
        "row",
        lambda c, t: _is_vectorizable(c, t) and c.inner_kind == "reduced",
        "the folded axis is contiguous: several vectors of partial states in registers read each "
        "row, and are folded at its end",
        _row,
    ),
    Rule(
        "column",
        lambda c, t: _is_vectorizable(c, t) and c.inner_kind == "kept",
        "the kept axis is contiguous: lanes stand for columns, and a tile of states stays in the "
        "first-level cache while rows stream past it",
        _column,
    ),
    Rule(
        "general",
        lambda c, t: True,
        "no axis that may be vectorized is contiguous in every input: elements are folded one by "
        "one, in the order of memory where the reducer allows it",
        _general,
    ),
)
