# SPDX-License-Identifier: Apache-2.0
"""Schedules for GPUs of folds by tiles, which each thread holds in registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from axisfold.ir import build
from axisfold.plan.compose import Graph
from axisfold.plan.compose_whole import has_tail, held_unit
from axisfold.plan.merging import is_dear
from axisfold.plan.rules_cuda_columns import fold_parts, tile_of_columns
from axisfold.plan.rules_cuda_rows import fold_row
from axisfold.plan.schedules_gpu import (
    bind,
    bind_team,
    first,
    fused,
    join_parts,
    rows_of_block,
    split_rows,
)
from axisfold.plan.sizes_gpu import BLOCK, RESIDENT_COLUMNS
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Stage
from axisfold.target import Target
from axisfold.tensor.axis import Axis
from axisfold.tensor.tensor import Tensor
from axisfold.tensor.trace import Traced

# Bytes of a tile of a thread that leaves registers for as many blocks as share columns.
TILE_BYTES: Final = 128


def tiled_row(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """Give each row a team of threads, which take tiles of it in turn."""
    result, state = s[graph.results[0]], s[graph.state[0]]
    teams = rows_of_block(graph.gpu)
    state.compute_at(result, split_rows(result, graph, teams, "threadIdx.y"))
    state.set_scope("local")
    turn, _, thread = state.op.reduce_axis
    bind(state, thread, "threadIdx.x")
    _tiles(s, graph, state, turn)


def whole_row(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """Give each row a team of threads, which pass over it several times."""
    result = s[graph.results[0]]
    place = split_rows(result, graph, rows_of_block(graph.gpu))
    s[graph.state[0]].compute_at(result, place)
    pass_over_rows(s, graph, result, place)


def pass_over_rows(s: Schedule, graph: Graph, result: Stage, place: Axis) -> None:
    """Let the team of a row fold it, pass by pass, inside a loop of the result."""
    for tensor in graph.private:
        _hold(s[tensor], graph)
        s[tensor].compute_at(result, place)
    own = graph.tile_parts or (None,)
    for tensors, parts in zip(graph.tiles or (graph.state,), own, strict=True):
        if parts is not None:
            _fold_own(s[parts], graph)
            s[parts].compute_at(result, place)
        s[first(tensors)].compute_at(result, place)
        s[first(tensors)].set_scope("local")
        if parts is None:
            fold_row(s, graph, tensors, graph.gpu.team, graph.gpu.steps)
        else:
            _fold_team(s, graph, tensors)


def _hold(stage: Stage, graph: Graph) -> None:
    """Let each thread of a row's team read its elements into registers, all loads at once."""
    gpu = graph.gpu
    step, block, thread, *lane = stage.op.axis[_kept(graph) :]
    _deal(stage, graph, (block, thread), (step,), lane)
    if has_tail(gpu):
        unit = held_unit(gpu, step.var, block.var, thread.var)
        stage.set_store_predicate(build.likely(unit < gpu.fixed[0]))


def _fold_own(stage: Stage, graph: Graph) -> None:
    """Let each thread of a row's team fold a few loads that it holds, each lane by itself."""
    kept = max(_kept(graph), 1)  # a full fold has an axis of one result
    run, block, thread, *lane = stage.op.axis[kept:]
    _deal(stage, graph, (block, thread), (run, stage.op.reduce_axis[0]), lane)


def _deal(
    stage: Stage, graph: Graph, team: tuple[Axis, Axis], steps: tuple[Axis, ...], lane: list[Axis]
) -> None:
    """Bind the axes of a row's team, and write out what each of its threads does."""
    stage.set_scope("local")
    stage.reorder(*team, *steps, *lane)
    if graph.gpu.cluster > 1:
        bind(stage, team[0], "clusterCtaIdx.x")
    if graph.gpu.team > 1:
        bind(stage, team[1], "threadIdx.x")
    for step in steps:
        stage.unroll(step)
    if lane:
        stage.vectorize(lane[0])


def _fold_team(s: Schedule, graph: Graph, tensors: Any) -> None:
    """Fold what the threads of a row's team have folded, first the states of each."""
    stage = s[first(tensors)]
    run, block, thread, *lane = stage.op.reduce_axis
    if graph.gpu.team == 1:
        for axis in (run, *lane):
            stage.unroll(axis)
        return
    own = s[first(s.rfactor(tensors, fused(stage, [block, thread])))]
    own.compute_at(stage, bind_team(stage, stage.op.reduce_axis[0], graph.gpu))
    for axis in own.op.reduce_axis:
        own.unroll(axis)


def _kept(graph: Graph) -> int:
    assert graph.layout is not None  # noqa: S101  (the composer says it)
    return graph.layout.kept


def tiled_row_split(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """Share each row among blocks, of which the last folds what they left."""
    result, state = s[graph.results[0]], s[graph.state[0]]
    partial = s[first(s.rfactor(graph.state, state.op.reduce_axis[1]))]
    part, *kept = partial.op.axis
    output = fused(partial, kept)
    partial.reorder(output, part)
    bind(partial, output, "blockIdx.y")
    bind(partial, part, "blockIdx.x")
    turn, thread = partial.op.reduce_axis
    bind(partial, thread, "threadIdx.x")
    _tiles(s, graph, partial, turn)
    output = fused(result, result.op.axis)
    bind(result, output, "blockIdx.y")
    state.compute_at(result, output)
    state.set_scope("local")
    _, thread = state.split(state.op.reduce_axis[0], factor=BLOCK)
    bind(state, thread, "threadIdx.x")
    result.last_block(partial)


def tiled_column(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """Give each tile of columns a block, whose rows of threads take tiles of rows."""
    result, state = s[graph.results[0]], s[graph.state[0]]
    rows = _rows(s, graph, graph.state)
    tile, _, column = tile_of_columns(result, result.op.axis, graph)
    state.compute_at(result, column)
    state.set_scope("local")
    rows.compute_at(result, tile)
    _limit_registers(result, tile, graph, traced)


def tiled_column_split(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """Share each tile of columns among blocks, of which the last folds what they left."""
    result, state = s[graph.results[0]], s[graph.state[0]]
    partials: Any = s.rfactor(graph.state, state.op.reduce_axis[1])
    partial = s[first(partials)]
    totals: Any = s.cache_write(partials, "local")
    rows = _rows(s, graph, totals)
    part, *kept = partial.op.axis
    partial.reorder(*kept, part)
    tile, *columns = tile_of_columns(partial, kept, graph)
    partial.reorder(tile, part, *columns)
    bind(partial, part, "blockIdx.y")
    s[first(totals)].compute_at(partial, columns[-1])
    rows.compute_at(partial, part)
    _limit_registers(partial, part, graph, traced)
    fold_parts(s, result, state, graph, dear=is_dear(traced))
    result.last_block(partial)


def _limit_registers(stage: Stage, at: Axis, graph: Graph, traced: Traced) -> None:
    """Ask for a whole wave of blocks where states to merge take registers beside a tile."""
    tile = graph.gpu.steps * graph.gpu.lanes
    if is_dear(traced) and tile * max(_bytes(parts) for parts in graph.inputs) <= TILE_BYTES:
        stage.pragma(at, "resident", RESIDENT_COLUMNS)


def _bytes(parts: Sequence[Tensor]) -> int:
    return sum(tensor.dtype.itemsize for tensor in parts)


def _rows(s: Schedule, graph: Graph, tensors: Any) -> Stage:
    """Factor out one state for each row of threads, in shared memory, and fold tiles into it."""
    rows: Any = s.rfactor(tensors, s[first(tensors)].op.reduce_axis[-1])
    local: Any = s.cache_write(rows, "local")
    stage, fold = s[first(rows)], s[first(local)]
    has_lanes = graph.gpu.lanes > 1
    stage.set_scope("shared")
    column = stage.op.axis[-2 if has_lanes else -1]
    bind(stage, stage.op.axis[0], "threadIdx.y")
    bind(stage, column, "threadIdx.x")
    fold.compute_at(stage, column)
    turn = fold.op.reduce_axis[0]
    if has_lanes:
        stage.vectorize(stage.op.axis[-1])
        fold.reorder(*fold.op.reduce_axis, fold.op.axis[-1])
        fold.vectorize(fold.op.axis[-1])
        turn = fold.op.reduce_axis[-1]
    _tiles(s, graph, fold, turn)
    return stage


def _tiles(s: Schedule, graph: Graph, parent: Stage, turn: Axis) -> None:
    """Compute the passes over the tile of a turn, each lane of a load on its own."""
    layout = graph.layout
    assert layout is not None  # noqa: S101  (the composer says it)
    is_kept = layout.inner_kind == "kept"
    for tensors in reversed(graph.tiles):
        stage = s[tensors[0]]
        stage.compute_at(parent, turn)
        step, lane = stage.op.reduce_axis
        if is_kept and layout.lanes > 1:
            column = stage.op.axis[layout.kept - 1]
            stage.reorder(step, lane, column)
            stage.vectorize(column)
            stage.unroll(step)
        elif layout.lanes > 1:
            lanes = s[first(s.rfactor(tensors, lane, factor_axis=-1))]
            stage.unroll(stage.op.reduce_axis[0])
            lanes.compute_at(parent, turn)
            (step,) = lanes.op.reduce_axis
            lanes.reorder(step, lanes.op.axis[-1])
            lanes.unroll(step)
            lanes.vectorize(lanes.op.axis[-1])
            stage = lanes
        else:
            stage.unroll(step)
        join_parts(s, graph, stage, step)
