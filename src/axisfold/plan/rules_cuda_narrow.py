# SPDX-License-Identifier: Apache-2.0
"""Schedules for GPUs where a few columns are kept: rows as one flat run of lanes."""

from __future__ import annotations

from typing import Any

from axisfold.plan.compose import Graph
from axisfold.plan.schedules_gpu import bind, first, fused
from axisfold.plan.sizes_gpu import UNROLL
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Stage
from axisfold.target import Target
from axisfold.tensor.axis import Axis
from axisfold.tensor.trace import Traced


def narrow(
    s: Schedule, graph: Graph, traced: Traced, target: Target, *, unroll: int = UNROLL
) -> None:
    """Give all columns of an outer position a block."""
    result, state = s[graph.results[0]], s[graph.state[0]]
    swept = graph.gpu.team * graph.gpu.lanes
    _, rest = state.split(fused(state, state.op.reduce_axis), factor=unroll * swept)
    lanes = _sweep(s, graph, graph.state, rest)
    block, column = _columns(result, list(result.op.axis))
    bind(result, block, "blockIdx.x")
    bind(result, column, "threadIdx.x")
    state.compute_at(result, column)
    state.set_scope("local")
    _rows(state, graph)
    lanes.compute_at(result, block)


def narrow_split(
    s: Schedule, graph: Graph, traced: Traced, target: Target, *, unroll: int = UNROLL
) -> None:
    """Share the rows among blocks, of which the last folds what they left."""
    result, state = s[graph.results[0]], s[graph.state[0]]
    swept = unroll * graph.gpu.team * graph.gpu.lanes
    units = fused(state, state.op.reduce_axis)
    _, turn = state.split(units, factor=swept * graph.gpu.parts)
    part, _ = state.split(turn, factor=swept)
    partials: Any = s.rfactor(graph.state, part)
    partial = s[first(partials)]
    lanes = _sweep(s, graph, partials, partial.op.reduce_axis[-1])
    part, *kept = partial.op.axis
    block, column = _columns(partial, kept)
    partial.reorder(block, part, column)
    bind(partial, block, "blockIdx.y")
    bind(partial, part, "blockIdx.x")
    bind(partial, column, "threadIdx.x")
    _rows(partial, graph)
    lanes.compute_at(partial, part)
    block, column = _columns(result, list(result.op.axis))
    bind(result, block, "blockIdx.y")
    bind(result, column, "threadIdx.x")
    state.compute_at(result, column)
    state.set_scope("local")
    _rows(state, graph)
    result.last_block(partial)


def _columns(stage: Stage, kept: list[Axis]) -> tuple[Axis, Axis]:
    """Return the loop over all outer positions, and the one over the columns."""
    *others, column = kept
    outer, inner = stage.split(column, nparts=1)
    return fused(stage, [*others, outer]), inner


def _rows(stage: Stage, graph: Graph) -> None:
    """Let rows of threads fold the rows of lanes, or of blocks."""
    if graph.gpu.team > 1:
        row, _ = stage.split(fused(stage, stage.op.reduce_axis), nparts=graph.gpu.team)
        bind(stage, row, "threadIdx.y")


def _sweep(s: Schedule, graph: Graph, tensors: Any, rest: Axis) -> Stage:
    """Factor out a state for each lane of a sweep over whole rows, in shared memory."""
    lanes, height, width = graph.gpu.lanes, graph.gpu.team, graph.gpu.fixed[0]
    _, row = s[first(tensors)].split(rest, factor=height * lanes)
    rows: Any = s.rfactor(tensors, row, factor_axis=-2)
    stage = s[first(rows)]
    thread, lane = stage.split(stage.fuse(*stage.op.axis[-2:]), factor=lanes)
    # Laid out by lanes: those of a load may belong to two rows.
    fold = s[first(s.cache_write(rows, "local"))]
    stage.set_scope("shared")
    y, x = stage.split(thread, factor=width)
    bind(stage, y, "threadIdx.y")
    bind(stage, x, "threadIdx.x")
    stage.vectorize(lane)
    fold.compute_at(stage, x)
    turns, step = fold.op.reduce_axis
    fold.reorder(turns, step, fold.op.axis[-1])
    fold.unroll(step)
    fold.vectorize(fold.op.axis[-1])
    return stage
