# SPDX-License-Identifier: Apache-2.0
"""Schedules for GPUs where the states of a reducer have an order."""

from __future__ import annotations

from axisfold.plan.compose import Graph
from axisfold.plan.schedules_gpu import bind, first, fused
from axisfold.plan.sizes_gpu import BLOCK
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Stage
from axisfold.target import Target
from axisfold.tensor.trace import Traced


def ordered(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """Give each fold a team of threads, each with a run of its own."""
    team = graph.gpu.team
    result, state = s[graph.results[0]], s[graph.state[0]]
    block, place = result.split(fused(result, result.op.axis), factor=BLOCK // team)
    bind(result, block, "blockIdx.x")
    bind(result, place, "threadIdx.y" if team > 1 else "threadIdx.x")
    state.compute_at(result, place)
    state.set_scope("local")
    _runs(state, team)


def ordered_split(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """Give each block a run, and each of its threads a part of it."""
    gpu = graph.gpu
    result, state = s[graph.results[0]], s[graph.state[0]]
    part, _ = state.split(fused(state, state.op.reduce_axis), nparts=gpu.parts)
    partial = s[first(s.rfactor(graph.state, part))]
    part, *kept = partial.op.axis
    output = fused(partial, kept)
    partial.reorder(output, part)
    bind(partial, output, "blockIdx.y")
    bind(partial, part, "blockIdx.x")
    _runs(partial, gpu.team)
    output = fused(result, result.op.axis)
    bind(result, output, "blockIdx.y")
    state.compute_at(result, output)
    state.set_scope("local")
    _runs(state, gpu.team)
    result.last_block(partial)


def _runs(stage: Stage, team: int) -> None:
    folded = fused(stage, stage.op.reduce_axis)
    if team > 1:
        thread, _ = stage.split(folded, nparts=team)
        bind(stage, thread, "threadIdx.x")
