# SPDX-License-Identifier: Apache-2.0
"""Schedules for CPUs where the folded axis is contiguous."""

from __future__ import annotations

from typing import Any, Final

from axisfold.ir import build
from axisfold.plan.compose import NARROW_STREAMS, Graph
from axisfold.plan.schedules_cpu import (
    FEW_VECTORS,
    accumulators,
    calls,
    element_bytes,
    first,
    fold_by_lanes,
    lanes,
    long_streams,
    narrowest_bytes,
    pass_lanes,
    repeat_last,
    share,
    streams_of,
)
from axisfold.plan.sizes_cpu import LONG, ROW_STREAMS
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Stage
from axisfold.target import Target
from axisfold.tensor.axis import Axis
from axisfold.tensor.trace import Traced

CHUNK: Final = 1 << 15
# Bytes of a chunk of a huge row, after each of which states are merged; the last chunk, which is
# not whole, is read by guarded loops.
CHUNK_BYTES: Final = 1 << 18
CHUNK_ROWS: Final = 32
# The same of long runs: of half a MiB of float32.
LONG_CHUNK_ROWS: Final = 4
# The same where runs are searched, as the first one of each part is: of huge rows CHUNK_ROWS.
SEARCHED_CHUNK_ROWS: Final = 8
# Runs of a part whose fold may end early: the first part is folded before threads start.
STOP_ROWS: Final = 4
# Bytes ahead that each place of memory is asked for, where rows are not in a cache: what is done
# with elements keeps the processor from running ahead far enough by itself.
PLACE_AHEAD: Final = 384
ROWS: Final = 4


def parts(s: Schedule, graph: Graph, chunk: int) -> tuple[Any, Stage, Axis | None]:
    """Return the tensors that elements are folded into, and the loop to fold them inside of.

    With kept axes these are the states themselves, at the results' innermost loop, and threads
    share the results.  A full fold has one result: threads share chunks of the outermost folded
    axis, and the partial states are folded in the order of the chunks.
    """
    result, state = s[graph.results[0]], s[graph.state[0]]
    if build.as_int(result.op.axis[0].extent) is None:
        loop = share(result, result.op.axis)
        state.compute_at(result, loop)
        return graph.state, result, loop
    state.compute_at(result, result.op.axis[-1])
    outer, _ = state.split(state.op.reduce_axis[0], factor=chunk)
    partial: Any = s.rfactor(graph.state, outer)
    return partial, s[first(partial)], None


def full(
    s: Schedule,
    graph: Graph,
    traced: Traced,
    target: Target,
    *,
    chunk: int = CHUNK,
    chunk_rows: int = CHUNK_ROWS,
    vectors: int | None = None,
) -> None:
    """Lanes along the row, several vectors side by side, in chunks."""
    is_flat = len(s[graph.state[0]].op.reduce_axis) == 1
    tensors, parent, at = parts(s, graph, chunk if is_flat else chunk_rows)
    many = accumulators(traced.combiner, target) if vectors is None else vectors
    width, row = lanes(traced.combiner, target), None if is_flat else parent.op.reduce_axis[-2]
    fold_by_lanes(s, tensors, parent, at, width, many, axis=row)


def long_row(
    s: Schedule,
    graph: Graph,
    traced: Traced,
    target: Target,
    *,
    chunk: int | None = None,
    streams: int | None = None,
) -> None:
    """Chunks of the last folded axis, each read by several streams at once."""
    result, state = s[graph.results[0]], s[graph.state[0]]
    assert graph.layout is not None  # noqa: S101  (the composer says it)
    if chunk is None:
        chunk = CHUNK_BYTES // element_bytes(graph) if graph.layout.run == "huge" else CHUNK
    outer, _ = state.split(state.op.reduce_axis[-1], factor=chunk)
    partial: Any = s.rfactor(graph.state, outer, factor_axis=-1)
    state.compute_at(result, share(result, result.op.axis))
    stage = s[first(partial)]
    many = accumulators(traced.combiner, target)
    places = min(streams_of(graph), many, long_streams(target)) if streams is None else streams
    width = lanes(traced.combiner, target)
    ahead = _ahead(graph)
    fold_by_lanes(s, partial, stage, None, width, max(many, places), streams=places, ahead=ahead)


def _ahead(graph: Graph) -> int:
    """Return how many bytes ahead places of memory are asked for, 0 if they may be in a cache."""
    return PLACE_AHEAD if graph.layout is not None and graph.layout.loads else 0


def rows(s: Schedule, graph: Graph, traced: Traced, target: Target, *, rows: int = ROWS) -> None:
    """A few rows at a time: each is a stream of its own."""
    result, state = s[graph.results[0]], s[graph.state[0]]
    loop = _side_by_side(result, state, rows)
    many = max(accumulators(traced.combiner, target) // rows, 1)
    width, row = lanes(traced.combiner, target), len(state.op.axis) - 1
    fold_by_lanes(s, graph.state, result, loop, width, many, row=row)


def _side_by_side(result: Stage, state: Stage, rows: int) -> Axis:
    """Compute the states of a few rows just before their results; return that loop."""
    *others, last = result.op.axis
    outer, row = result.split(last, factor=rows)
    result.vectorize(row)
    loop = share(result, [*others, outer])
    state.compute_at(result, loop)
    return loop


def tiled_rows(
    s: Schedule, graph: Graph, traced: Traced, target: Target, *, rows: int = ROWS
) -> None:
    """A run of each of a few rows at a time: each row is a stream of its own.

    One vector of each is enough for the processor to have work while results are on their way; two
    gain nothing, and leave a rest in which some are whole and others are not.
    """
    state = s[graph.state[0]]
    _side_by_side(s[graph.results[0]], state, rows)
    row = len(state.op.axis) - 1
    state.reorder(*state.op.reduce_axis, state.op.axis[row])
    state.vectorize(state.op.axis[row])
    run = state.op.reduce_axis[-1]
    for tensors, tile_pass in reversed(list(zip(graph.tiles, traced.tile_passes, strict=True))):
        s[tensors[0]].compute_at(state, run)
        width = pass_lanes(tile_pass, target)
        many = max(ROWS // rows, 1)
        fold_by_lanes(s, tensors, state, run, width, many, row=row, ahead=PLACE_AHEAD)
    for head in graph.tile_heads:
        s[head].compute_at(state, run)
        s[head].unroll(s[head].op.axis[row])
        repeat_last(s[head], row)
    repeat_last(state, row)


def stopping_rows(
    s: Schedule, graph: Graph, traced: Traced, target: Target, *, rows: int = ROWS
) -> None:
    """A run of each of a few rows at a time, until the states of all of them are absorbing."""
    tiled_rows(s, graph, traced, target, rows=rows)
    state = s[graph.state[0]]
    for axis in state.op.reduce_axis:
        state.stop(axis)


def row_streams(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """One row of each of the runs of a block of rows, all at once."""
    result, state = s[graph.results[0]], s[graph.state[0]]
    width = lanes(traced.combiner, target)
    block, run, row = result.op.axis
    result.reorder(block, row, run)
    result.unroll(run)
    share(result, [block])
    state.compute_at(result, row)
    _, lane = state.split(state.op.reduce_axis[-1], factor=width)
    partial: Any = s.rfactor(graph.state, lane, factor_axis=-1)
    _rows_at_once(s[first(partial)], state, width, result, row, _ahead(graph))


def _rows_at_once(
    inner: Stage, state: Stage, width: int, parent: Stage, at: Axis, ahead: int
) -> None:
    """Fold a row of each run by lanes, and the lanes of all, inside a loop ``at`` of ``parent``."""
    inner.compute_at(parent, at)
    *others, run, row, lane = inner.op.axis
    inner.reorder(*others, *inner.op.reduce_axis, row, run, lane)
    if ahead:
        inner.pragma(inner.op.reduce_axis[-1], "prefetch", ahead)
    inner.unroll(run)
    inner.vectorize(lane)
    # As many rows as vectors have lanes: these are then whole vectors, turned in registers.
    *others, run, row = state.op.axis
    group, run = state.split(run, factor=min(width, ROW_STREAMS))
    lane = state.op.reduce_axis[0]
    state.reorder(*others, row, group, lane, run)
    state.unroll(group)
    state.unroll(lane)
    state.vectorize(run)


def outer_row_streams(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """The rows of a block for one step of the outermost folded axis after the other.

    So a block is read as it lies in memory, and its states stay in the first-level cache.
    """
    result, state = s[graph.results[0]], s[graph.state[0]]
    width = lanes(traced.combiner, target)
    block, run, row = result.op.axis
    result.reorder(block, row, run)
    share(result, [block])
    state.compute_at(result, block)
    of_step: Any = s.rfactor(graph.state, state.op.reduce_axis[0], factor_axis=0)
    middle = s[first(of_step)]
    _, lane = middle.split(middle.op.reduce_axis[-1], factor=width)
    partial: Any = s.rfactor(of_step, lane, factor_axis=-1)
    state, middle = s[graph.state[0]], s[first(of_step)]
    block, run, row = state.op.axis
    state.reorder(block, *state.op.reduce_axis, row, run)
    state.vectorize(run)
    middle.compute_at(state, row)
    _rows_at_once(s[first(partial)], middle, width, state, row, _ahead(graph))


def _chunk_rows(graph: Graph, traced: Traced) -> int:
    """Return how many runs of a row threads take at once."""
    run = "row" if graph.layout is None else graph.layout.run
    if not any(p.is_seldom for p in traced.tile_passes):
        return CHUNK_ROWS if run == "row" else LONG_CHUNK_ROWS
    return SEARCHED_CHUNK_ROWS if run == "long" else CHUNK_ROWS


def tiled_row(
    s: Schedule, graph: Graph, traced: Traced, target: Target, *, chunk_rows: int | None = None
) -> None:
    """A run of the row at a time: each pass over it by lanes, from the first-level cache."""
    if chunk_rows is None:
        chunk_rows = _chunk_rows(graph, traced)
    tensors, _, at = parts(s, graph, chunk_rows)
    state = s[first(tensors)]
    if at is None:
        share(state, state.op.axis)
    fold_runs(s, graph, traced, target, state)


def stopping_row(
    s: Schedule, graph: Graph, traced: Traced, target: Target, *, chunk_rows: int = STOP_ROWS
) -> None:
    """A run of the row at a time, until the state is absorbing; parts tell each other."""
    result, state = s[graph.results[0]], s[graph.state[0]]
    is_full = build.as_int(result.op.axis[0].extent) is not None
    state.compute_at(result, share(result, result.op.axis))
    part, _ = state.split(state.op.reduce_axis[-1], factor=chunk_rows)
    partial: Any = s.rfactor(graph.state, part, factor_axis=0 if is_full else -1)
    inner = s[first(partial)]
    parts = share(inner, inner.op.axis)
    fold_runs(s, graph, traced, target, inner)
    if is_full:
        inner.stop(parts, state)
    for axis in inner.op.reduce_axis:
        inner.stop(axis, state)


def row_of_passes(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """A run of one row at a time; the last pass over it asks for the next run."""
    result, state = s[graph.results[0]], s[graph.state[0]]
    state.compute_at(result, share(result, result.op.axis))
    fold_runs(s, graph, traced, target, state)


def fold_runs(s: Schedule, graph: Graph, traced: Traced, target: Target, state: Stage) -> None:
    """Make each pass over a run by lanes, inside the loop of the state over runs."""
    run = state.op.reduce_axis[-1]
    passes = list(zip(graph.tiles, graph.tile_parts, traced.tile_passes, strict=True))
    often = [p for p in traced.tile_passes if not p.is_seldom]
    length = "row" if graph.layout is None else graph.layout.run
    for tensors, part, tile_pass in reversed(passes):
        s[tensors[0]].compute_at(state, run)
        width, many = pass_lanes(tile_pass, target), accumulators(tile_pass.combiner, target)
        if tile_pass.is_seldom:
            width, many = max(width, target.vector_bytes // narrowest_bytes(graph)), 1
        elif calls(tile_pass):
            many = 1  # the processor has several in flight, and registers hold their constants
        elif len(passes) > 1:
            many = min(many, FEW_VECTORS)  # exponentials take the time, and all passes the text
        is_alone = part is None and len(often) == 1
        most = long_streams(target) if length == "huge" else many
        places = min(streams_of(graph), many, most) if is_alone else 1
        # What the first of several passes over the next run reads.
        is_last = len(often) > 1 and tile_pass is often[-1]
        is_far = is_alone and len(tile_pass.combiner.lhs) > 1
        ahead = _run_bytes(graph) if is_last else _ahead(graph) if is_far else 0
        if part is not None and part.dtype.is_float and len(passes) > 1:
            short_sums(s, tensors, s[part], state, run, target, ahead)
            continue
        is_long = length in LONG or len(passes) > 1
        fold_by_lanes(
            s, tensors, state, run, width, many, streams=places, ahead=ahead, is_long=is_long
        )
        if part is not None:
            places = long_streams(target) if length == "huge" else NARROW_STREAMS
            _narrow(s[part], state, run, target, places, _ahead(graph))
    for head in graph.tile_heads:
        s[head].compute_at(state, run)


def _run_bytes(graph: Graph) -> int:
    """Return the bytes of a run of the widest input."""
    (first_pass, *_) = graph.tiles[0]
    count = build.as_int(first_pass.op.reduce_axis[-1].extent) or 0
    return count * element_bytes(graph)


def short_sums(
    s: Schedule, tensors: Any, part: Stage, parent: Stage, at: Axis, target: Target, ahead: int = 0
) -> None:
    """Keep a few sums of float32 in registers, and add them to float64 lanes now and then.

    That is inside a loop ``at`` of ``parent``; inputs are asked for ``ahead`` bytes ahead, or 0.
    """
    partial: Any = s.rfactor(tensors, s[first(tensors)].op.reduce_axis[-1], factor_axis=-1)
    wide = s[first(partial)]
    wide.compute_at(parent, at)
    (block,), lane = wide.op.reduce_axis, wide.op.axis[-1]
    width = target.vector_bytes // part.op.output(0).dtype.itemsize
    vector, lane = wide.split(lane, factor=width)
    wide.reorder(block, vector, lane)
    wide.unroll(vector)
    wide.vectorize(lane)
    part.compute_at(wide, block)
    vector, lane = part.split(part.op.axis[-1], factor=width)
    (row,) = part.op.reduce_axis
    part.reorder(row, vector, lane)
    part.unroll(vector)
    part.vectorize(lane)
    if ahead:
        part.pragma(row, "prefetch", ahead)


def _narrow(part: Stage, state: Stage, run: Axis, target: Target, places: int, ahead: int) -> None:
    """Keep the narrow sums of all places that a run is read at in registers."""
    part.compute_at(state, run)
    width = target.vector_bytes // part.op.output(0).dtype.itemsize
    place, block = part.split(part.op.axis[-2], nparts=places)
    vector, lane = part.split(part.op.axis[-1], factor=width)
    (row,) = part.op.reduce_axis
    part.reorder(block, row, place, vector, lane)
    if ahead:
        part.pragma(row, "prefetch", ahead)
    part.unroll(place)
    part.unroll(vector)
    part.vectorize(lane)
