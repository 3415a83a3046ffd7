# SPDX-License-Identifier: Apache-2.0
"""The rules for CPUs: which schedule for which layout class, and why.

The table is read from the top; the first rule that applies plans the kernel.
"""

from __future__ import annotations

from typing import Any, Final

from axisfold.ir import build
from axisfold.plan.compose import Graph, LayoutClass
from axisfold.plan.rule import Rule
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Stage
from axisfold.target import Target
from axisfold.tensor.axis import Axis
from axisfold.tensor.trace import Traced

REGISTERS: Final = 16
COLUMN_TILE_BYTES: Final = 8192
COLUMN_ROWS: Final = 8
FULL_CHUNK: Final = 1 << 15
FULL_CHUNK_ROWS: Final = 32
ROW_RUN: Final = 512


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


def _share(result: Stage) -> None:
    """Let threads take the outermost rounds."""
    result.parallel(result.leaf_axes[0])


def _parts(s: Schedule, graph: Graph, chunk: int) -> tuple[Any, Stage]:
    """Return the tensors that elements are folded into, and the stage to fold them inside of.

    With kept axes these are the states themselves, at the results' innermost loop, and threads
    share the results.  A full fold has one result: threads share chunks of the outermost folded
    axis, and the partial states are folded in the order of the chunks.
    """
    result = s[graph.results[0]]
    state = s[graph.state[0]]
    state.compute_at(result, result.op.axis[-1])
    if build.as_int(result.op.axis[0].extent) is None:
        return graph.state, result
    outer, _ = state.split(state.op.reduce_axis[0], factor=chunk)
    parts: Any = s.rfactor(graph.state, outer)
    return parts, s[parts[0] if isinstance(parts, tuple) else parts]


def _row(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """Lanes along the row: partial states in registers, folded at the end of each row."""
    is_flat = len(s[graph.state[0]].op.reduce_axis) == 1
    parts, parent = _parts(s, graph, FULL_CHUNK if is_flat else FULL_CHUNK_ROWS)
    _fold_by_lanes(s, parts, parent, None, lanes(traced, target), accumulators(traced))
    _share(parent)


def _fold_by_lanes(
    s: Schedule, tensors: Any, parent: Stage, at: Axis | None, width: int, many: int
) -> None:
    """Fold the last reduce axis of a stage by ``many`` vectors of ``width`` partial states.

    The partial states are factored out twice, lanes first: the vectors are then folded lane by
    lane, and only the lanes of the last vector one by one.  They are computed in the loop ``at``
    of ``parent``, by default its last data loop.
    """
    first = tensors[0] if isinstance(tensors, tuple) else tensors
    _, block = s[first].split(s[first].op.reduce_axis[-1], factor=width * many)
    _, lane = s[first].split(block, factor=width)
    by_lane: Any = s.rfactor(tensors, lane, factor_axis=-1)
    vectors = by_lane[0] if isinstance(by_lane, tuple) else by_lane
    by_vector: Any = s.rfactor(by_lane, s[vectors].op.reduce_axis[-1], factor_axis=-2)
    elements = by_vector[0] if isinstance(by_vector, tuple) else by_vector
    axis = parent.op.axis[-1] if at is None else at  # rfactor gives a stage new axes
    s[vectors].compute_at(parent, axis)
    s[elements].compute_at(parent, axis)
    stage = s[elements]
    vector, lane = stage.op.axis[-2:]
    stage.reorder(*stage.op.reduce_axis, vector, lane)
    stage.unroll(vector)
    stage.vectorize(lane)
    stage = s[vectors]
    stage.reorder(stage.op.reduce_axis[0], stage.op.axis[-1])
    stage.unroll(stage.op.reduce_axis[0])
    stage.vectorize(stage.op.axis[-1])
    s[first].unroll(s[first].op.reduce_axis[0])


def _tiled_row(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """A run of the row at a time: each pass over it by lanes, from the first-level cache."""
    parts, parent = _parts(s, graph, FULL_CHUNK_ROWS)
    state = s[parts[0] if isinstance(parts, tuple) else parts]
    run = state.op.reduce_axis[-1]
    for tensor, tile_pass in reversed(list(zip(graph.tiles, traced.tile_passes, strict=True))):
        s[tensor].compute_at(state, run)
        width = max(target.vector_bytes // tile_pass.result.dtype.itemsize, 1)
        _fold_by_lanes(s, tensor, state, run, width, accumulators(traced))
    _share(parent)


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
    _share(result)


def _general(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """One element after the other; correct for every layout and every reducer."""
    result, state = s[graph.results[0]], s[graph.state[0]]
    state.compute_at(result, result.op.axis[-1])
    _share(result)


def _is_row(layout: LayoutClass, traced: Traced) -> bool:
    return _is_vectorizable(layout, traced) and layout.inner_kind == "reduced"


def _is_column(layout: LayoutClass, traced: Traced) -> bool:
    return _is_vectorizable(layout, traced) and layout.inner_kind == "kept"


RULES: Final = (
    Rule(
        "tiled_row",
        lambda c, t: _is_row(c, t) and bool(t.tile_passes),
        "the folded axis is contiguous and the reducer has a form for short runs: each run is "
        "read from the first-level cache by plain vector reductions",
        _tiled_row,
        ROW_RUN,
    ),
    Rule(
        "full",
        lambda c, t: _is_row(c, t) and c.kept == 0,
        "everything is folded and memory is contiguous: several vectors of partial states in "
        "registers read one long row, in chunks that threads share",
        _row,
    ),
    Rule(
        "row",
        _is_row,
        "the folded axis is contiguous: several vectors of partial states in registers read each "
        "row, and are folded at its end; threads share the rows",
        _row,
    ),
    Rule(
        "column",
        _is_column,
        "the kept axis is contiguous: lanes stand for columns, and a tile of states stays in the "
        "first-level cache while rows stream past it; threads share the tiles",
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
