# SPDX-License-Identifier: Apache-2.0
"""Schedules for CPUs where a kept axis is contiguous, for reducers with a form for short runs."""

from __future__ import annotations

from typing import Any, Final

from axisfold.ir.build import as_int
from axisfold.plan.compose import Graph
from axisfold.plan.rules_cpu_columns import (
    TILE_AHEAD,
    by_vectors,
    few_rows,
    tile_of,
    whole_groups,
)
from axisfold.plan.schedules_cpu import (
    element_bytes,
    first,
    lanes,
    outputs_of,
    pass_lanes,
    share,
    write_results,
)
from axisfold.plan.sizes_cpu import SHARED_TILE, TILE
from axisfold.runtime.cpu import WIDE_VECTOR
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Stage
from axisfold.target import Target
from axisfold.tensor.axis import Axis
from axisfold.tensor.tile_pass import TilePass
from axisfold.tensor.trace import Traced

# Rows of a tile of columns that a pass takes at a time, and how far ahead each is asked for: more
# rows, a power of two apart, are in each other's way in a cache: 12 ways come with wide vectors.
PASS_STREAMS, WIDE_PASS_STREAMS = 4, 8
PASS_AHEAD: Final = 512
# Vectors of states for a line of elements: with one, each line would be asked for twice.
LINE_VECTORS: Final = 2
# Columns of a tile whose rows are passed over in registers, where threads have enough of them.
WIDE_COLUMNS: Final = 4096
# Parts of the rows, where there are too few tiles for all threads.
PASS_PARTS: Final = 4


def _group(graph: Graph, traced: Traced, target: Target) -> int:
    """Return how many columns the merges of runs and all passes over them take at once."""
    passes = [_row_lanes(graph, p, target) for p in traced.tile_passes]
    parts = [target.vector_bytes // p.dtype.itemsize for p in graph.tile_parts if p is not None]
    return max(lanes(traced.combiner, target), *passes, *parts)


def _row_lanes(graph: Graph, tile_pass: TilePass, target: Target) -> int:
    """Return how many columns a pass over rows takes at once: whole lines of a cache.

    As many states fill two registers at most, of which there are 32 where vectors have 64 bytes.
    Arrays of few tiles may be in a cache, where longer vectors leave more of the last one.
    """
    width, layout = pass_lanes(tile_pass, target), graph.layout
    if target.vector_bytes < WIDE_VECTOR or layout is None or layout.outputs == "shared":
        return width
    if set(layout.inner_steps) != {"unit"}:
        return width
    return max(width, min(target.vector_bytes // element_bytes(graph), LINE_VECTORS * width))


def tiled_column(
    s: Schedule, graph: Graph, traced: Traced, target: Target, *, pass_columns: int | None = None
) -> None:
    """A tile of columns and some rows at a time: states of the rows stay in cache."""
    columns = tile_of(graph) if pass_columns is None else pass_columns
    state, _ = _columns_of_runs(s, graph, traced, target, columns)
    _passes_over(s, graph, traced, target, state)


def tiled_column_parts(
    s: Schedule,
    graph: Graph,
    traced: Traced,
    target: Target,
    *,
    parts: int = PASS_PARTS,
    pass_columns: int = TILE,
) -> None:
    """One tile of columns after the other: threads share parts of its runs, which are then folded.

    So no more than the states of one tile, for each part, are in memory.
    """
    result, state = s[graph.results[0]], s[graph.state[0]]
    width = lanes(traced.combiner, target)
    part, _ = state.split(state.op.reduce_axis[-1], nparts=parts)
    partial: Any = s.rfactor(graph.state, part)
    stage = s[first(partial)]
    whole_groups(graph, _group(graph, traced, target), result, state)
    tile, inner = result.split(result.op.axis[-1], factor=pass_columns)
    stage.compute_at(result, tile)
    _merge_runs(s, graph, traced, target, stage)
    stage.parallel(stage.op.axis[0])
    _passes_over(s, graph, traced, target, stage)
    few_rows(result, state, by_vectors(result, inner, width, width), width)


def column_of_passes(
    s: Schedule,
    graph: Graph,
    traced: Traced,
    target: Target,
    *,
    pass_columns: int | None = None,
) -> None:
    """A vector of columns and a few rows at a time: all passes take them from registers."""
    if pass_columns is None:
        pass_columns = WIDE_COLUMNS if outputs_of(graph) == "wide" else SHARED_TILE
    state, vector = _columns_of_runs(s, graph, traced, target, pass_columns, is_around=True)
    _passes_at(s, graph, traced, target, state, vector)


def fold_columns(
    s: Schedule, graph: Graph, traced: Traced, target: Target, parent: Stage, tile: Axis
) -> None:
    """Fold a tile of columns inside of a loop: a vector of them and a few rows at a time."""
    s[graph.state[0]].compute_at(parent, tile)
    state, vector = _merge_runs(s, graph, traced, target, s[graph.state[0]], is_around=True)
    _passes_at(s, graph, traced, target, state, vector)


def _passes_at(
    s: Schedule, graph: Graph, traced: Traced, target: Target, state: Stage, vector: Axis
) -> None:
    group = _group(graph, traced, target)
    passes = zip(graph.tiles, graph.tile_parts, traced.tile_passes, strict=True)
    for tensors, part, tile_pass in reversed(list(passes)):
        for tensor in [tensors[0], *([part] if part is not None else [])]:
            stage = s[tensor]
            stage.compute_at(state, vector)
            whole_groups(graph, group, stage, axis=len(_kept(stage)) - 1)
            ours, lane = stage.split(_kept(stage)[-1], factor=pass_lanes(tile_pass, target))
            stage.reorder(*_kept(stage)[:-1], ours, *stage.op.reduce_axis, lane)
            for axis in stage.op.reduce_axis:
                stage.unroll(axis)
            stage.vectorize(lane)
        if part is not None and as_int(part.shape[-2]) != 1:
            # The short sums of a column are not neighbours: one at a time, they are a register.
            s[part].compute_at(s[tensors[0]], s[tensors[0]].op.reduce_axis[0])


def _kept(stage: Stage) -> list[Axis]:
    return [a for a in stage.op.axis if a.name.startswith("i")]


def _columns_of_runs(
    s: Schedule,
    graph: Graph,
    traced: Traced,
    target: Target,
    columns: int,
    *,
    is_around: bool = False,
) -> tuple[Stage, Axis]:
    """Merge runs into the states of a tile of columns; return their stage and loop of vectors."""
    result = s[graph.results[0]]
    whole_groups(graph, _group(graph, traced, target), result)
    *others, last = result.op.axis
    outer = by_vectors(result, last, columns, lanes(traced.combiner, target))
    loop = share(result, [*others, outer])
    write_results(graph, result, loop)
    s[graph.state[0]].compute_at(result, loop)
    return _merge_runs(s, graph, traced, target, s[graph.state[0]], is_around=is_around)


def _merge_runs(
    s: Schedule,
    graph: Graph,
    traced: Traced,
    target: Target,
    state: Stage,
    *,
    is_around: bool = False,
) -> tuple[Stage, Axis]:
    """Merge runs into states by vectors of columns; return the stage of these and that loop.

    Where passes are made inside of it, a round has as many columns as their longest vectors.
    """
    group = _group(graph, traced, target)
    whole_groups(graph, group, state)
    width = lanes(traced.combiner, target)
    passes = [pass_lanes(p, target) for p in traced.tile_passes if is_around]
    vector, rest = state.split(state.op.axis[-1], factor=max((width, *passes)))
    part, lane = state.split(rest, factor=width)
    *others, _ = state.op.axis
    state.reorder(*others, *state.op.reduce_axis, vector, part, lane)
    state.unroll(part)
    state.vectorize(lane)
    for head in graph.tile_heads:
        stage = s[head]
        stage.compute_at(state, state.op.reduce_axis[-1])
        kept = _kept(stage)
        whole_groups(graph, group, stage, axis=len(kept) - 1)
        ours, lane = stage.split(kept[-1], factor=width)
        stage.reorder(*kept[:-1], *(a for a in stage.op.axis if a not in kept), ours, lane)
        stage.vectorize(lane)
    return state, vector


def _passes_over(s: Schedule, graph: Graph, traced: Traced, target: Target, state: Stage) -> None:
    """Make each pass over a tile inside the loop over runs of the states, or of their parts."""
    run, kept = state.op.reduce_axis[-1], len(s[graph.results[0]].op.axis)
    group = _group(graph, traced, target)
    is_tall = graph.layout is not None and graph.layout.run == "tall"
    rows = WIDE_PASS_STREAMS if target.vector_bytes >= WIDE_VECTOR else PASS_STREAMS
    passes = zip(graph.tiles, graph.tile_parts, traced.tile_passes, strict=True)
    for tensors, part, tile_pass in reversed(list(passes)):
        stage, width = s[first(tensors)], _row_lanes(graph, tile_pass, target)
        stage.compute_at(state, run)
        if part is not None:
            whole_groups(graph, group, stage, s[part], axis=kept - 1)
            _by_lanes(stage, kept, width)
            stage, width = s[part], target.vector_bytes // part.dtype.itemsize
            stage.compute_at(state, run)
            _rows_at_once(stage, kept, width, TILE_AHEAD, rows, is_tall)
        elif is_tall and tile_pass.absorb:
            far = _far_rows(s, tensors, rows)
            whole_groups(graph, group, stage, axis=kept - 1)
            whole_groups(graph, group, far, axis=kept)
            _rows_in_order(stage, far, kept, width)
        else:
            whole_groups(graph, group, stage, axis=kept - 1)
            _rows_at_once(stage, kept, width, PASS_AHEAD, rows, is_tall)


def _rows_at_once(stage: Stage, kept: int, width: int, ahead: int, rows: int, is_far: bool) -> None:
    """Fold a few rows at a time into the states of a tile, which are read once for these.

    Each row is asked for ``ahead`` bytes ahead: the more vectors are loaded for one of states, the
    sooner these bytes are reached.
    Neighbours leave few rows of a run to the rest of the loop; rows that are far apart are each
    read on where their tile ends, if it has all columns.
    """
    (run,), columns = stage.op.reduce_axis, stage.op.axis[:kept]
    row, rest = stage.split(run, nparts=rows) if is_far else stage.split(run, factor=rows)[::-1]
    vector, lane = stage.split(columns[-1], factor=width)
    stage.reorder(*columns[:-1], *stage.op.axis[kept:], rest, vector, row, lane)
    stage.unroll(row)
    stage.vectorize(lane)
    stage.pragma(vector, "prefetch", ahead)


def _far_rows(s: Schedule, tensors: Any, rows: int) -> Stage:
    """Let a few rows that are far apart be folded in a stage of their own, and return that."""
    _, rest = s[first(tensors)].split(s[first(tensors)].op.reduce_axis[0], nparts=rows)
    return s[first(s.rfactor(tensors, rest))]


def _rows_in_order(stage: Stage, rows: Stage, kept: int, width: int) -> None:
    """Fold a few rows in registers, then merge them into the states of a tile.

    These then see elements in no order, as merging allows.
    """
    vector = _by_lanes(stage, kept, width)
    stage.pragma(vector, "prefetch", PASS_AHEAD)
    rows.compute_at(stage, vector)
    _, lane = rows.split(rows.op.axis[kept], factor=width)  # the first axis is which rows
    (row,) = rows.op.reduce_axis
    rows.reorder(row, lane)
    rows.unroll(row)
    rows.vectorize(lane)


def _by_lanes(stage: Stage, kept: int, width: int) -> Axis:
    """Go over the columns of a tile by vectors, inside of the loops that fold; return that loop."""
    columns = stage.op.axis[:kept]
    vector, lane = stage.split(columns[-1], factor=width)
    stage.reorder(*columns[:-1], *stage.op.axis[kept:], *stage.op.reduce_axis, vector, lane)
    stage.vectorize(lane)
    return vector
