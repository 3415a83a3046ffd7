# SPDX-License-Identifier: Apache-2.0
"""Schedules for CPUs where the kept axis is contiguous: lanes stand for columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from axisfold.plan.compose import Graph
from axisfold.plan.schedules_cpu import (
    STREAMS,
    accumulators,
    element_bytes,
    first,
    lanes,
    outputs_of,
    share,
    write_results,
)
from axisfold.plan.sizes_cpu import SHARED_TILE, THIN, TILE
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Stage
from axisfold.target import Target
from axisfold.tensor.axis import Axis
from axisfold.tensor.trace import Traced

# States of a tile of columns: they stay in the second-level cache while rows stream past.  Where
# threads share rows, not tiles, a tile may be wider: reading starts anew in each row of it.
TILE_BYTES: Final = 1 << 16
WIDE_TILE_BYTES: Final = 1 << 17
# Bytes ahead that each row of a tile is asked for: what the processor asks for by itself ends with
# the row, and more than four lines of eight rows are in each other's way in a cache.
TILE_AHEAD: Final = 256
# Vectors of a tile of an array in a cache, where narrower ones give all threads work, and rows of
# it: the fewer, the smaller their rest, but states of several fields, which have twice as many, are
# loaded and stored each time.  Vectors of a row at a time, if they have no more lanes than that.
CACHED_TILE: Final = 128
CACHED_STREAMS: Final = 4
CACHED_VECTORS: Final = 2
MOST_LANES: Final = 16
# Bytes ahead that the rows of large results are asked for.
AHEAD: Final = 1 << 10
# Parts that the rows are cut into where there are too few tiles for all threads.
PARTS: Final = 8


def tile_of(graph: Graph) -> int:
    """Return the columns of the widest tile that leaves all threads work."""
    shared = SHARED_TILE * max(4 // element_bytes(graph), 1)
    return shared if outputs_of(graph) == "shared" else TILE


def _tile(traced: Traced, target: Target, tile_bytes: int, most: int) -> int:
    """Return the columns of a tile."""
    width = lanes(traced.combiner, target)
    field_bytes = sum(v.dtype.itemsize for v in traced.combiner.lhs)
    return max(min(tile_bytes // field_bytes, most) // width, 1) * width


def whole_groups(graph: Graph, size: int, *stages: Stage, axis: int = -1) -> None:
    """Let the last ``size`` columns begin early, if there are as many: no vector is one in part.

    As many are computed at once by all ``stages``, of whose axes the columns are ``axis``.
    """
    if graph.layout is not None and size <= graph.layout.least:
        for stage in stages:
            stage.pragma(stage.op.axis[axis], "shift_inwards", size)


def _stream_rows(
    stage: Stage, row: Axis, folds: Sequence[Axis], width: int, ahead: int = TILE_AHEAD
) -> None:
    """Fold into the states of a tile: each time that these are read, ``row`` says which rows."""
    vector, lane = stage.split(stage.op.axis[-1], factor=width)
    stage.reorder(*folds, vector, row, lane)
    stage.unroll(row)
    stage.vectorize(lane)
    if ahead:
        stage.pragma(vector, "prefetch", ahead)


def by_vectors(stage: Stage, axis: Axis, factor: int, width: int) -> Axis:
    """Split the columns of a result into tiles of vectors; return the loop over tiles."""
    outer, inner = stage.split(axis, factor=factor)
    _, lane = stage.split(inner, factor=width)
    stage.vectorize(lane)
    return outer


def _in_tiles(s: Schedule, graph: Graph, columns: int, width: int, group: int) -> Stage:
    """Compute states by tiles of columns, which threads share; return their stage."""
    result, state = s[graph.results[0]], s[graph.state[0]]
    whole_groups(graph, group, result, state)
    outer = by_vectors(result, result.op.axis[-1], columns, width)
    state.compute_at(result, share(result, [*result.op.axis[:-1], outer]))
    return state


def column(
    s: Schedule,
    graph: Graph,
    traced: Traced,
    target: Target,
    *,
    tile_bytes: int = TILE_BYTES,
    streams: int = STREAMS,
) -> None:
    """Tiles of columns, which threads share."""
    width, tile = lanes(traced.combiner, target), _tile(traced, target, tile_bytes, tile_of(graph))
    state = _in_tiles(s, graph, tile, width, width)
    *others, last = state.op.reduce_axis
    if outputs_of(graph) == "wide":
        rest, row = state.split(last, factor=streams)  # neighbours are far enough apart
    else:
        row, rest = state.split(last, nparts=streams)
    _stream_rows(state, row, [*others, rest], width)


def column_in_cache(
    s: Schedule,
    graph: Graph,
    traced: Traced,
    target: Target,
    *,
    tile: int = CACHED_TILE,
    streams: int = CACHED_STREAMS,
) -> None:
    """Tiles of a few columns, which threads share, a few rows of them at a time."""
    group = width = lanes(traced.combiner, target)
    if graph.layout is not None and set(graph.layout.inner_steps) == {"unit"}:
        group = max(width, min(CACHED_VECTORS * width, MOST_LANES))
    state = _in_tiles(s, graph, tile * width, width, group)
    *others, last = state.op.reduce_axis
    row, rest = state.split(last, nparts=streams * min(len(graph.state), 2))
    _stream_rows(state, row, [*others, rest], group, ahead=0)


def column_parts(
    s: Schedule,
    graph: Graph,
    traced: Traced,
    target: Target,
    *,
    parts: int = PARTS,
    tile_bytes: int = WIDE_TILE_BYTES,
    streams: int = STREAMS,
) -> None:
    """One tile of columns after the other: threads share parts of its rows, which are then folded.

    So no more than the states of one tile, for each part, are in memory.
    """
    result, state = s[graph.results[0]], s[graph.state[0]]
    width = lanes(traced.combiner, target)
    run, _ = state.split(state.op.reduce_axis[-1], nparts=parts * streams)
    part, _ = state.split(run, factor=streams)
    partial: Any = s.rfactor(graph.state, part)
    stage = s[first(partial)]
    whole_groups(graph, width, result, state, stage)
    columns = _tile(traced, target, tile_bytes, 2 * TILE)
    tile, inner = result.split(result.op.axis[-1], factor=columns)
    stage.compute_at(result, tile)
    part, *kept = stage.op.axis
    *others, row, rest = stage.op.reduce_axis
    stage.reorder(part, *kept[:-1], *others, rest, kept[-1], row)
    _stream_rows(stage, row, [*others, rest], width)
    stage.parallel(part)
    few_rows(result, state, by_vectors(result, inner, width, width), width)


def shallow_column(
    s: Schedule, graph: Graph, traced: Traced, target: Target, *, vectors: int | None = None
) -> None:
    """A few vectors of columns at a time: their states live in registers."""
    result, state = s[graph.results[0]], s[graph.state[0]]
    width = lanes(traced.combiner, target)
    *others, last = result.op.axis
    many = vectors or min(accumulators(traced.combiner, target), max(THIN // width, 4))
    whole_groups(graph, many * width, result, state)
    outer = by_vectors(result, last, many * width, width)
    vector = result.leaf_axes[-2]
    result.unroll(vector)  # so that states are registers
    loop = share(result, [*others, outer])
    write_results(graph, result, loop)
    few_rows(result, state, loop, width)
    if outputs_of(graph) == "wide":
        state.pragma(state.op.reduce_axis[0], "prefetch", AHEAD)


def few_rows(result: Stage, state: Stage, outer: Axis, width: int) -> None:
    """Fold by vectors of columns inside of a loop ``outer`` of the results, in registers."""
    state.compute_at(result, outer)
    vector, lane = state.split(state.op.axis[-1], factor=width)
    folds: Sequence[Axis] = state.op.reduce_axis
    state.reorder(*folds, vector, lane)
    state.unroll(vector)
    state.vectorize(lane)
