# SPDX-License-Identifier: Apache-2.0
"""Schedules for GPUs where the innermost axis is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from axisfold.plan.compose import Graph
from axisfold.plan.schedules_gpu import bind, first, fused, join_parts
from axisfold.plan.sizes_gpu import BLOCK, TILE, UNROLL
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Stage
from axisfold.target import Target
from axisfold.tensor.axis import Axis
from axisfold.tensor.trace import Traced

# States of a column up to so many are one thread's to fold.
FEW_PARTS: Final = 8


def thread_column(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """Give each thread neighbouring columns."""
    result, state = s[graph.results[0]], s[graph.state[0]]
    has_lanes = graph.gpu.lanes > 1
    columns = result.op.axis[:-1] if has_lanes else result.op.axis
    block, thread = result.split(fused(result, columns), factor=BLOCK)
    bind(result, block, "blockIdx.x")
    bind(result, thread, "threadIdx.x")
    state.compute_at(result, thread)
    state.set_scope("local")
    folded = fused(state, state.op.reduce_axis)
    if has_lanes:
        result.vectorize(result.op.axis[-1])
        state.reorder(folded, state.op.axis[-1])
        state.vectorize(state.op.axis[-1])
    state.unroll(folded)
    join_parts(s, graph, state, folded)


def column(
    s: Schedule, graph: Graph, traced: Traced, target: Target, *, unroll: int | None = None
) -> None:
    """Give each tile of columns a block."""
    result, state = s[graph.results[0]], s[graph.state[0]]
    swept = (unroll or graph.gpu.steps) * graph.gpu.team
    _, rest = state.split(fused(state, state.op.reduce_axis), factor=swept)
    rows = _rows(s, graph, graph.state, rest)
    tile, _, column = tile_of_columns(result, result.op.axis, graph)
    state.compute_at(result, column)
    state.set_scope("local")
    s[first(rows)].compute_at(result, tile)


def column_split(
    s: Schedule, graph: Graph, traced: Traced, target: Target, *, unroll: int | None = None
) -> None:
    """Share each tile of columns among blocks, of which the last folds what they left."""
    result, state = s[graph.results[0]], s[graph.state[0]]
    swept = (unroll or graph.gpu.steps) * graph.gpu.team
    units = fused(state, state.op.reduce_axis)
    _, turn = state.split(units, factor=swept * graph.gpu.parts)
    part, _ = state.split(turn, factor=swept)
    partials: Any = s.rfactor(graph.state, part)
    partial = s[first(partials)]
    totals: Any = s.cache_write(partials, "local")
    total = s[first(totals)]
    rows = _rows(s, graph, totals, total.op.reduce_axis[-1])
    part, *kept = partial.op.axis
    partial.reorder(*kept, part)
    tile, *columns = tile_of_columns(partial, kept, graph)
    partial.reorder(tile, part, *columns)
    bind(partial, part, "blockIdx.y")
    total.compute_at(partial, columns[-1])
    s[first(rows)].compute_at(partial, part)
    fold_parts(s, result, state, graph)
    result.last_block(partial)


def fold_parts(
    s: Schedule, result: Stage, state: Stage, graph: Graph, *, dear: bool = False
) -> None:
    """Let the last block of a tile of columns fold what the others left.

    Few states, unless they are dear to merge, a thread folds for each column, all loads under way
    at once; more of them are shared by rows of threads, as the rows of the input were.
    """
    gpu = graph.gpu
    if gpu.parts <= FEW_PARTS and not dear:
        *_, column = tile_of_columns(result, result.op.axis, graph)
        state.compute_at(result, column)
        state.set_scope("local")
        state.unroll(state.op.reduce_axis[0])
        return
    steps = min(UNROLL, -(-gpu.parts // gpu.team)) if gpu.form == "column_split" else 1
    _, rest = state.split(state.op.reduce_axis[0], factor=steps * gpu.team)
    rows = _rows(s, graph, graph.state, rest)
    tile, _, column = tile_of_columns(result, result.op.axis, graph)
    state.compute_at(result, column)
    state.set_scope("local")
    s[first(rows)].compute_at(result, tile)


def tile_of_columns(stage: Stage, kept: Sequence[Axis], graph: Graph) -> tuple[Axis, ...]:
    """Bind kept axes: each block has a tile of columns, which rows of threads take one by one."""
    lanes = graph.gpu.lanes
    *others, column = (*kept[:-2], stage.fuse(*kept[-2:])) if lanes > 1 else kept
    tile, inner = stage.split(column, factor=TILE * lanes)
    y, x = stage.split(inner, factor=TILE)
    block = fused(stage, [*others, tile])
    bind(stage, block, "blockIdx.x")
    bind(stage, y, "threadIdx.y")
    bind(stage, x, "threadIdx.x")
    return block, y, x


def _rows(s: Schedule, graph: Graph, tensors: Any, rest: Axis) -> Any:
    """Factor out one state for each row of threads, in shared memory, and fold into it."""
    _, row = s[first(tensors)].split(rest, factor=graph.gpu.team)
    rows: Any = s.rfactor(tensors, row)
    local: Any = s.cache_write(rows, "local")
    stage, fold = s[first(rows)], s[first(local)]
    has_lanes = graph.gpu.lanes > 1
    stage.set_scope("shared")
    column = stage.op.axis[-2 if has_lanes else -1]
    bind(stage, stage.op.axis[0], "threadIdx.y")
    bind(stage, column, "threadIdx.x")
    fold.compute_at(stage, column)
    turns, step = fold.op.reduce_axis
    if has_lanes:
        stage.vectorize(stage.op.axis[-1])
        fold.reorder(turns, step, fold.op.axis[-1])
        fold.vectorize(fold.op.axis[-1])
    fold.unroll(step)
    join_parts(s, graph, fold, step)
    return rows
