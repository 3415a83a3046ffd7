# SPDX-License-Identifier: Apache-2.0
"""Schedules for GPUs where the innermost axis is folded."""

from __future__ import annotations

from typing import Any

from axisfold.plan.compose import Graph
from axisfold.plan.schedules_gpu import (
    bind,
    bind_team,
    first,
    fused,
    join_parts,
    named,
    split_rows,
)
from axisfold.plan.sizes_gpu import BLOCK
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Stage
from axisfold.target import Target
from axisfold.tensor.axis import Axis
from axisfold.tensor.trace import Traced


def row(
    s: Schedule, graph: Graph, traced: Traced, target: Target, *, unroll: int | None = None
) -> None:
    """Give each row a block."""
    result, state = s[graph.results[0]], s[graph.state[0]]
    block = fused(result, result.op.axis)
    bind(result, block, "blockIdx.x")
    state.compute_at(result, block)
    state.set_scope("local")
    fold_row(s, graph, graph.state, BLOCK, unroll or graph.gpu.steps)


def short_row(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """Give each team of threads a row, or several side by side with those of its block."""
    team = graph.gpu.team
    result, state = s[graph.results[0]], s[graph.state[0]]
    turn = split_rows(result, graph, max(BLOCK // team, 1))
    state.compute_at(result, turn)
    state.set_scope("local")
    fold_row(s, graph, graph.state, team, graph.gpu.steps)


def row_split(
    s: Schedule, graph: Graph, traced: Traced, target: Target, *, unroll: int | None = None
) -> None:
    """Share each row among blocks, which take turns; the last of them folds what they left."""
    gpu, unroll = graph.gpu, unroll or graph.gpu.steps
    result, state = s[graph.results[0]], s[graph.state[0]]
    lane = named(state, graph.lane)
    units = fused(state, [a for a in state.op.reduce_axis if a is not lane])
    _, turn = state.split(units, factor=BLOCK * unroll * gpu.parts)
    part, _ = state.split(turn, factor=BLOCK * unroll)
    partials: Any = s.rfactor(graph.state, part)
    partial = s[first(partials)]
    fold_row(s, graph, partials, BLOCK, unroll)
    part, *kept = partial.op.axis
    output = fused(partial, kept)
    partial.reorder(output, part)
    bind(partial, output, "blockIdx.y")
    bind(partial, part, "blockIdx.x")
    output = fused(result, result.op.axis)
    bind(result, output, "blockIdx.y")
    state.compute_at(result, output)
    state.set_scope("local")
    _, thread = state.split(state.op.reduce_axis[0], factor=BLOCK)
    bind(state, thread, "threadIdx.x")
    result.last_block(partial)


def fold_row(s: Schedule, graph: Graph, tensors: Any, team: int, unroll: int) -> None:
    """Fold a stage by ``team`` threads, each with ``unroll`` loads under way.

    Each lane of a load has a state of its own; a thread folds its lanes in the end, and then the
    threads fold theirs.
    """
    stage = s[first(tensors)]
    if team > 1:
        _, rest = _turns(graph, stage, unroll * team)
        _, thread = stage.split(rest, factor=team)
        tensors = s.rfactor(tensors, thread)
        parent, at = stage, bind_team(stage, stage.op.reduce_axis[0], graph.gpu)
        stage = s[first(tensors)]
        stage.compute_at(parent, at)
    lane = named(stage, graph.lane)
    if lane is None:
        step = stage.op.reduce_axis[-1] if team > 1 else _turns(graph, stage, unroll)[1]
        stage.unroll(step)
        join_parts(s, graph, stage, step)
        return
    lanes = s[first(s.rfactor(tensors, lane, factor_axis=-1))]
    stage.unroll(stage.op.reduce_axis[0])
    if team > 1:
        lanes.compute_at(stage, stage.op.axis[-1])
        turn, step = lanes.op.reduce_axis
    else:
        assert stage.attachment is not None  # noqa: S101  (a thread's row is inside of one)
        lanes.compute_at(stage.attachment.stage, stage.attachment.axis)
        turn, step = _turns(graph, lanes, unroll)
    lanes.reorder(turn, step, lanes.op.axis[-1])
    lanes.unroll(step)
    lanes.vectorize(lanes.op.axis[-1])
    join_parts(s, graph, lanes, step)


def _turns(graph: Graph, stage: Stage, size: int) -> tuple[Axis, Axis]:
    """Return the loop over turns of ``size`` loads, and the one over the loads of a turn."""
    lane = named(stage, graph.lane)
    folded = [a for a in stage.op.reduce_axis if a is not lane]
    if graph.gpu.parts > 1:  # blocks take turns already
        return folded[0], folded[1]
    return stage.split(fused(stage, folded), factor=size)
