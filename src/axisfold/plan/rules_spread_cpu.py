# SPDX-License-Identifier: Apache-2.0
"""The rules for CPUs where results have the inputs' shape: a fold, then each element again.

The table is read from the top; the first rule that applies plans the kernel.  Where one round of
the threads' loop holds a whole fold, its elements are read again while they are in cache.
"""

from __future__ import annotations

from typing import Final

from axisfold.plan import rules_cpu as folds
from axisfold.plan.compose import Graph, LayoutClass
from axisfold.plan.compose_held import held_graph
from axisfold.plan.rule import Rule, Scheduler
from axisfold.plan.rules_cpu_columns import whole_groups
from axisfold.plan.rules_cpu_passes import fold_columns
from axisfold.plan.rules_cpu_rows import fold_runs, short_sums
from axisfold.plan.runs_cpu import is_long
from axisfold.plan.schedules_cpu import (
    FEW_VECTORS,
    STREAMS,
    accumulators,
    fold_by_lanes,
    lanes,
    pass_lanes,
    share,
    write_results,
)
from axisfold.plan.sizes_cpu import FEW_ROWS, HELD
from axisfold.plan.spread import fold_of, result_axes, spread_rules
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Stage
from axisfold.target import Target
from axisfold.tensor.axis import Axis
from axisfold.tensor.trace import Traced

# Elements that a thread computes before it takes others, where threads share a whole fold.
CHUNK: Final = 1 << 14
# Columns that are folded side by side: a few rows of them stay in cache, and a part of a row is
# long enough to be read as fast as a whole one.
TILE: Final = 2048
# Vectors whose functions are computed side by side, and how far ahead their elements are asked for:
# the next row, of as many bytes, or one of those behind it.
VECTORS: Final = 2
AHEAD: Final = 1 << 15
# Vectors of columns whose rows are held in cache, and how far ahead the elements of a row are asked
# for where all rows have been folded before.
HELD_VECTORS: Final = 4
ELEMENTS_AHEAD: Final = 1 << 10


def _width(graph: Graph, target: Target) -> int:
    """Return how many elements fill a vector register, by the widest tensor of their shape."""
    tensors = [*(t for parts in graph.inputs for t in parts), *graph.results]
    return max(target.vector_bytes // max(t.dtype.itemsize for t in tensors), 1)


def _at_each(s: Schedule, graph: Graph) -> tuple[Stage, Axis]:
    """Compute what a fold's elements share just before them; return that stage and its loop."""
    result, shared, state = s[graph.results[0]], s[graph.shares[0]], s[graph.state[0]]
    shared.compute_at(result, share(result, result_axes(s, graph)[0]))
    state.compute_at(shared, shared.op.axis[-1])
    return shared, shared.op.axis[-1]


def _row(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """Fold a row by lanes, then compute its elements by lanes."""
    shared, loop = _at_each(s, graph)
    width, many = lanes(traced.combiner, target), accumulators(traced.combiner, target)
    fold_by_lanes(s, graph.state, shared, loop, width, many)
    _by_lanes(s, graph, target)


def _tiled_row(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """Fold a row run by run, then compute its elements by lanes."""
    _at_each(s, graph)
    fold_runs(s, graph, traced, target, s[graph.state[0]])
    _by_lanes(s, graph, target)


def _held_row(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """Make each pass over a row by lanes, and compute its elements from what is held of them."""
    result = s[graph.results[0]]
    loop = share(result, result_axes(s, graph)[0])
    stages = (graph.shares, graph.state, *graph.once, *graph.tiles)
    for tensors in stages:
        s[tensors[0]].compute_at(result, loop)
    for tensors, part, tile_pass in zip(
        graph.tiles, graph.tile_parts, traced.tile_passes, strict=True
    ):
        if part is not None:
            short_sums(s, tensors, s[part], result, loop, target)
            continue
        many = min(accumulators(tile_pass.combiner, target), FEW_VECTORS)
        fold_by_lanes(s, tensors, result, loop, pass_lanes(tile_pass, target), many)
    for tensor in graph.held:
        stage = s[tensor]
        stage.compute_at(result, loop)
        vector, lane = stage.split(stage.op.axis[-1], factor=_width(graph, target))
        line, vector = stage.split(vector, factor=VECTORS)
        stage.unroll(vector)
        stage.vectorize(lane)
        stage.pragma(line, "prefetch", AHEAD)
    _by_lanes(s, graph, target)
    write_results(graph, result, loop)


def _holds_row(layout: LayoutClass, traced: Traced) -> bool:
    """Return whether what passes read of a row fits the cache, and a row is a run."""
    return (
        traced.holding is not None
        and folds.sums_are_wide(traced)
        and layout.inner_kind == "reduced"
        and not is_long(layout)
        and layout.kept > 0
        and layout.reduced == 1
    )


def _held_column(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """Make each pass over a few columns row by row, and their elements from what is held."""
    result, width = s[graph.results[0]], _width(graph, target)
    columns = HELD_VECTORS * target.vector_bytes // max(t.dtype.itemsize for t in graph.held)
    kept, _ = result_axes(s, graph)
    whole_groups(graph, columns, result, axis=len(kept) - 1)
    loop = _rows_of_tiles(s, graph, width, columns)
    for tensors in (graph.shares, graph.state, *graph.once):
        stage = s[tensors[0]]
        stage.compute_at(result, loop)
        whole_groups(graph, columns, stage)
        own = target.vector_bytes // max(t.dtype.itemsize for t in tensors)
        _, lane = stage.split(stage.op.axis[-1], factor=own)
        stage.vectorize(lane)
    for tensors, part, tile_pass in zip(
        graph.tiles, graph.tile_parts, traced.tile_passes, strict=True
    ):
        stage = s[tensors[0]]
        stage.compute_at(result, loop)
        whole_groups(graph, columns, stage)
        _row_by_row(stage, pass_lanes(tile_pass, target))
        if part is not None:
            s[part].compute_at(stage, stage.op.reduce_axis[0])
            whole_groups(graph, columns, s[part])
            _row_by_row(s[part], target.vector_bytes // part.dtype.itemsize)
    for tensor in graph.held:
        s[tensor].compute_at(result, loop)
        whole_groups(graph, columns, s[tensor])
        vector, lane = s[tensor].split(s[tensor].op.axis[-1], factor=width)
        _, vector = s[tensor].split(vector, factor=VECTORS)
        s[tensor].unroll(vector)
        s[tensor].vectorize(lane)


def _row_by_row(stage: Stage, width: int) -> None:
    """Fold the rows of a few columns, whose states are registers."""
    vector, lane = stage.split(stage.op.axis[-1], factor=width)
    stage.reorder(*stage.op.reduce_axis, vector, lane)
    stage.unroll(vector)
    stage.vectorize(lane)


def _holds_column(layout: LayoutClass, traced: Traced) -> bool:
    """Return whether what passes read of a few columns fits the cache, as the whole array does."""
    return traced.holding is not None and folds.sums_are_wide(traced) and layout.outputs == HELD


def _by_lanes(s: Schedule, graph: Graph, target: Target) -> None:
    result = s[graph.results[0]]
    _, lane = result.split(result.op.axis[-1], factor=_width(graph, target))
    result.vectorize(lane)


def _rows_of_tiles(s: Schedule, graph: Graph, width: int, columns: int) -> Axis:
    """Compute the elements of a tile of columns row by row; return the loop of tiles.

    Threads share that.
    """
    result = s[graph.results[0]]
    kept, folded = result_axes(s, graph)
    tile, column = result.split(kept[-1], factor=columns)
    vector, lane = result.split(column, factor=width)
    result.reorder(*kept[:-1], tile, *folded, vector, lane)
    result.vectorize(lane)
    return share(result, [*kept[:-1], tile])


def _tiles_of_columns(s: Schedule, graph: Graph, target: Target) -> Axis:
    """Compute the elements of a tile of columns row by row, and before them what they share.

    Return the loop over tiles, which threads share.
    """
    result, shared = s[graph.results[0]], s[graph.shares[0]]
    width = _width(graph, target)
    loop = _rows_of_tiles(s, graph, width, TILE // width * width)
    shared.compute_at(result, loop)
    _, lane = shared.split(shared.op.axis[-1], factor=width)
    shared.vectorize(lane)
    return loop


def _column(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """Fold a tile of columns, then compute its elements row by row."""
    state = s[graph.state[0]]
    state.compute_at(s[graph.results[0]], _tiles_of_columns(s, graph, target))
    vector, lane = state.split(state.op.axis[-1], factor=lanes(traced.combiner, target))
    *others, last = state.op.reduce_axis
    rows, row = state.split(last, factor=STREAMS)
    state.reorder(*others, rows, vector, row, lane)
    state.unroll(row)
    state.vectorize(lane)


def _column_of_passes(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """Fold a tile of columns by runs of a few rows, then compute its elements row by row."""
    tile = _tiles_of_columns(s, graph, target)
    fold_columns(s, graph, traced, target, s[graph.results[0]], tile)


def _general(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """Fold element by element, then compute them."""
    _at_each(s, graph)


def _then_elements(fold: Scheduler) -> Scheduler:
    """Return the schedule of a whole fold, and then of all of its elements."""

    def schedule(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
        fold(s, fold_of(graph), traced, target)
        result = s[graph.results[0]]
        kept, folded = result_axes(s, graph)
        width = _width(graph, target)
        if graph.layout is not None and _has_full_lanes(graph.layout):
            vector, lane = result.split(kept[-1], factor=width)
            result.reorder(*kept[:-1], *folded, vector, lane)
            share(result, [*kept[:-1], *folded])
            result.pragma(vector, "prefetch", ELEMENTS_AHEAD)
        else:
            _, rest = result.split(result.op.axis[-1], factor=CHUNK)
            _, lane = result.split(rest, factor=width)
            share(result, result.leaf_axes[:1])
        result.vectorize(lane)

    return schedule


def _has_full_lanes(layout: LayoutClass) -> bool:
    """Return whether elements of a row fill vectors: lanes then stand for columns."""
    return layout.inner_kind == "kept" and layout.outputs != "thin"


def _are_near(layout: LayoutClass) -> bool:
    """Return whether elements are in cache after their fold: those of many rows are not."""
    return layout.inner_kind == "reduced" or layout.run in FEW_ROWS or layout.kept > 1


_AT_EACH: Final = {
    "row_of_passes": _tiled_row,
    "tiled_row": _tiled_row,
    "row": _row,
    "column_of_passes": _column_of_passes,
    "shallow_column": _column,
    "column": _column,
    "general": _general,
}
_FOR_ONE: Final = ("long_row", "full", "column_parts")

HELD_ROW: Final = Rule(
    "held_row",
    _holds_row,
    "the folded axis is contiguous, and passes over a row and its elements read the same function "
    "of them: it is computed once for each, into memory that stays in cache",
    _held_row,
    compose=held_graph,
)
HELD_COLUMN: Final = Rule(
    "held_column",
    _holds_column,
    "the kept axis is contiguous, passes over a column and its elements read the same function of "
    "them, and the array fits in a cache: it is computed once for each element of a few columns",
    _held_column,
    compose=held_graph,
)
RULES: Final = (
    HELD_ROW,
    HELD_COLUMN,
    *spread_rules(
        [rule for rule in folds.RULES if rule.name in (*_AT_EACH, *_FOR_ONE)],
        _AT_EACH,
        _then_elements,
        _are_near,
    ),
)
