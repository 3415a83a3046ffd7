# SPDX-License-Identifier: Apache-2.0
"""Schedules for CPUs where the innermost axis is short and memory is one run: constant extents."""

from __future__ import annotations

import math
from typing import Any, Final

from axisfold.ir import build
from axisfold.plan.compose import Graph
from axisfold.plan.schedules_cpu import (
    FEW_LANES,
    STREAMS,
    accumulators,
    first,
    lanes,
    outputs_of,
    share,
    write_results,
)
from axisfold.plan.traffic import LINE_BYTES
from axisfold.runtime.cpu import WIDE_VECTOR
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Stage
from axisfold.target import Target
from axisfold.tensor.axis import Axis
from axisfold.tensor.trace import Traced

# Parts that the rows are cut into where all of them are folded into few results.
PARTS: Final = 16
# Places that many short rows begin at, no power of two: those that a power of two is apart share
# few lines of a cache.  Places of a part, of rows of up to WHOLE elements, or STRIDED where vectors
# have 64 bytes, and of others; elements that are folded at a time.
ROW_PLACES: Final = 504
SHORTEST_STREAMS: Final = 8
ROW_STREAMS: Final = 4
STEP: Final = 64
# Rows up to this length are read by lanes that stand for rows, out of vectors of whole rows, if a
# state has several fields, or a row fills no vector of states and is no multiple of WHOLE elements.
STRIDED: Final = 8
WHOLE: Final = 4
# Rows whose lanes change places with each other, at most: their vectors live in registers.
TURNED: Final = 16
# Bytes of integers whose lanes are folded by halves: shorter ones change places at more cost.
HALVED: Final = 4
# Bytes ahead that each place of memory is asked for, where rows are not in a cache: what is done
# with few elements keeps the processor from running ahead far enough by itself.
ROWS_AHEAD: Final = 1024


def few_columns(
    s: Schedule,
    graph: Graph,
    traced: Traced,
    target: Target,
    *,
    parts: int = PARTS,
    streams: int = STREAMS,
) -> None:
    """Whole rows side by side fill whole vectors: lanes stand for elements of a few rows.

    What the lanes hold is folded by rows at the end.
    """
    result, state = s[graph.results[0]], s[graph.state[0]]
    width = lanes(traced.combiner, target)
    group = _group(graph, traced, target)
    many, row = state.split(state.op.reduce_axis[-1], factor=group)
    if outputs_of(graph) in ("shared", "many") and len(result.op.axis) > 1:
        run, _ = state.split(many, nparts=streams)
        tile: Any = s.rfactor(graph.state, row, factor_axis=-2)
        parent, kept = result, list(result.op.axis)
        state.compute_at(result, loop := share(result, kept[:-1]))
    else:
        run, _ = state.split(many, nparts=parts * streams)
        part, _ = state.split(run, factor=streams)
        partial: Any = s.rfactor(graph.state, part)
        parent = s[first(partial)]
        tile = s.rfactor(partial, parent.op.reduce_axis[-1], factor_axis=-2)
        loop = share(parent, parent.op.axis[:-1])
    inner = s[first(tile)]
    inner.compute_at(parent, loop)
    *others, run, rest = inner.op.reduce_axis
    vector, lane = inner.split(inner.fuse(*inner.op.axis[-2:]), factor=width)
    inner.reorder(*others, rest, vector, run, lane)
    if (build.as_int(vector.extent) or 0) <= accumulators(traced.combiner, target):
        inner.unroll(vector)
    inner.unroll(run)
    inner.vectorize(lane)


def _group(graph: Graph, traced: Traced, target: Target) -> int:
    """Return how many rows fill whole vectors, and at least two of them."""
    assert graph.layout is not None  # noqa: S101  (the composer says it)
    width, columns = lanes(traced.combiner, target), graph.layout.width
    group = width // math.gcd(width, columns)
    return group if group * columns > width else 2 * group


def short_rows(
    s: Schedule,
    graph: Graph,
    traced: Traced,
    target: Target,
    *,
    parts: int | None = None,
    streams: int | None = None,
) -> None:
    """A few rows at a time: lanes stand for very short ones, for elements of others.

    The lanes of elements are folded for all these rows at once.
    """
    assert graph.layout is not None  # noqa: S101  (the composer says it)
    result, state = s[graph.results[0]], s[graph.state[0]]
    length, few = graph.layout.width, min(lanes(traced.combiner, target), TURNED)
    is_part = length < few and length % WHOLE != 0
    is_strided = length <= STRIDED and (is_part or len(traced.combiner.lhs) > 1)
    if is_strided:
        narrowest = min(v.dtype.itemsize for each in traced.elements for v in each)
        few = max(few, target.vector_bytes // narrowest)
    places, many = _places_and_rows(graph, few, target)
    streams = places if streams is None else streams
    parts = ROW_PLACES // streams if parts is None else parts
    *others, last = result.op.axis
    group, rows = result.split(last, factor=many)
    vector, row = result.split(rows, factor=few)
    result.unroll(vector)
    result.vectorize(row)
    if others:
        loop = share(result, [*others, group])
    else:
        run, rest = result.split(group, nparts=parts * streams)
        part, stream = result.split(run, factor=streams)
        result.reorder(part, rest, stream, vector, row)
        loop = share(result, [part])
    write_results(graph, result, loop)
    state.compute_at(result, vector)
    if is_strided:
        folds = state.op.reduce_axis
        state.reorder(*folds, state.op.axis[-1])
        _ask_ahead(graph, state, folds[-1])
        state.unroll(folds[-1])
        state.vectorize(state.op.axis[-1])
    else:
        _by_row(s, graph, traced, result, vector, few)


def _places_and_rows(graph: Graph, few: int, target: Target) -> tuple[int, int]:
    """Return how many places rows are read at, and how many rows at a time, a multiple of ``few``.

    Where many places are written past the caches each gets whole lines: the processor has room for
    few of those that are not whole, and writes them to memory as they are.
    """
    assert graph.layout is not None  # noqa: S101  (the composer says it)
    length, line = graph.layout.width, LINE_BYTES // max(r.dtype.itemsize for r in graph.results)
    many = max(STEP // length // few, 1) * few
    if length > (STRIDED if target.vector_bytes >= WIDE_VECTOR else WHOLE):
        return ROW_STREAMS, many
    if not graph.layout.stores:
        return SHORTEST_STREAMS, many
    return (SHORTEST_STREAMS, max(line, few)) if line <= 2 * few else (ROW_STREAMS, many)


def _ask_ahead(graph: Graph, stage: Stage, loop: Axis) -> None:
    """Ask for the elements of a loop ahead where they come from memory."""
    if graph.layout is not None and graph.layout.loads:
        stage.pragma(loop, "prefetch", ROWS_AHEAD)


def _by_row(s: Schedule, graph: Graph, traced: Traced, result: Stage, at: Axis, width: int) -> None:
    """Fold each row by vectors, then what their lanes hold, lanes standing for rows."""
    state = s[graph.state[0]]
    _, lane = state.split(state.op.reduce_axis[-1], factor=width)
    partial: Any = s.rfactor(graph.state, lane, factor_axis=-1, negative_zero=True)
    inner = s[first(partial)]
    inner.compute_at(result, at)
    row, lane = inner.op.axis[-2:]
    *others, step = inner.op.reduce_axis
    inner.reorder(*others, row, step, lane)
    _ask_ahead(graph, inner, row)
    inner.unroll(row)
    inner.unroll(step)
    inner.vectorize(lane)
    if _has_halves(graph, traced):
        _fold_halves(s, graph, result, at, width)
    lane, row = state.op.reduce_axis[0], state.op.axis[-1]
    state.reorder(lane, row)
    state.unroll(lane)
    state.vectorize(row)


def _has_halves(graph: Graph, traced: Traced) -> bool:
    """Return whether lanes are folded by halves, which pays where they are as many as elements."""
    dtypes = [v.dtype for v in traced.combiner.lhs]
    are_wide = all(d.is_float or d.itemsize >= HALVED for d in dtypes)
    return graph.layout is not None and graph.layout.width <= TURNED and are_wide


def _fold_halves(s: Schedule, graph: Graph, result: Stage, at: Axis, width: int) -> None:
    """Fold one half of the lanes of each row into the other until few are left.

    Vectors then hold the lanes of several rows: half as many are left each time to be turned.
    """
    state, halves = s[graph.state[0]], []
    held = build.as_int(state.op.reduce_axis[0].extent) or 0
    while held > FEW_LANES and width % held == 0:
        held //= 2
        _, lane = state.split(state.op.reduce_axis[0], factor=held)
        halves.append(s.rfactor(graph.state, lane, factor_axis=-1, negative_zero=True))
    for half in halves:
        stage = s[first(half)]
        stage.compute_at(result, at)
        vector, lane = stage.split(stage.fuse(*stage.op.axis[-2:]), factor=width)
        fold = stage.op.reduce_axis[0]
        stage.reorder(vector, fold, lane)
        stage.unroll(vector)
        stage.unroll(fold)
        stage.vectorize(lane)
