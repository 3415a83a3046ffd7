# SPDX-License-Identifier: Apache-2.0
"""The rules for GPUs where results have the inputs' shape: a fold, then each element again.

The table is read from the top; the first rule that applies plans the kernel.
"""

from __future__ import annotations

from typing import Final

from axisfold.plan import rules_cuda as folds
from axisfold.plan.compose import Graph
from axisfold.plan.rule import Scheduler
from axisfold.plan.rules_cuda_tiles import pass_over_rows
from axisfold.plan.schedules_gpu import bind, bind_team, fused, rows_of_block
from axisfold.plan.sizes_gpu import BLOCK, TILE, UNROLL
from axisfold.plan.spread import fold_of, result_axes, spread_rules
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Stage
from axisfold.target import Target
from axisfold.tensor.axis import Axis
from axisfold.tensor.trace import Traced


def _row(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """Give each row a team of threads, which fold it and then compute its elements."""
    result, gpu = s[graph.results[0]], graph.gpu
    kept, folded = result_axes(s, graph)
    rows = rows_of_block(gpu)
    block, place = result.split(fused(result, kept), factor=rows)
    bind(result, block, "blockIdx.x")
    bind(result, place, "threadIdx.y" if gpu.team > 1 else "threadIdx.x")
    _elements_of_row(result, folded, graph)
    _fold_at(s, graph, place)
    if traced.combiner.is_ordered:
        _fold_by_threads(s[graph.state[0]], traced, "threadIdx.x", gpu.team)
        return
    pass_over_rows(s, graph, result, place)


def _elements_of_row(result: Stage, folded: list[Axis], graph: Graph) -> None:
    """Share the elements of a row among its team, as its loads are shared."""
    gpu = graph.gpu
    units = folded[:-1] if gpu.lanes > 1 else folded
    _, rest = result.split(fused(result, units), factor=gpu.team * gpu.steps)
    step, thread = result.split(rest, factor=gpu.team)
    if gpu.team > 1:
        bind_team(result, thread, gpu)
    result.unroll(step)
    if gpu.lanes > 1:
        result.vectorize(folded[-1])


def _column(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """Give each tile of columns a block, whose rows of threads share the rows."""
    result, team = s[graph.results[0]], graph.gpu.team
    kept, folded = result_axes(s, graph)
    tile, column = result.split(kept[-1], factor=TILE if team > 1 else BLOCK)
    result.reorder(*kept[:-1], tile, column, *folded)
    bind(result, fused(result, [*kept[:-1], tile]), "blockIdx.x")
    bind(result, column, "threadIdx.x")
    if team > 1:
        _elements_by_threads(result, folded, "threadIdx.y", team)
    _fold_at(s, graph, column)
    _fold_by_threads(s[graph.state[0]], traced, "threadIdx.y", team)


def _fold_at(s: Schedule, graph: Graph, axis: Axis) -> None:
    """Fold inside a loop of the result, where its elements need it."""
    for tensor in (graph.shares[0], graph.state[0]):
        s[tensor].compute_at(s[graph.results[0]], axis)


def _elements_by_threads(result: Stage, folded: list[Axis], tag: str, team: int) -> None:
    """Share the elements of a fold among a team: neighbours take neighbours."""
    _, thread = result.split(fused(result, folded), factor=team)
    bind(result, thread, tag)


def _fold_by_threads(state: Stage, traced: Traced, tag: str, team: int) -> None:
    """Share the fold of a stage among a team.

    Neighbours read neighbours, and each thread has several loads under way; the states of an
    ordered reducer have to be folded in order, so there each thread has a run of its own.
    """
    if team == 1:
        return
    elements = fused(state, state.op.reduce_axis)
    if traced.combiner.is_ordered:
        thread, _ = state.split(elements, nparts=team)
        bind(state, thread, tag)
        return
    rest, thread = state.split(elements, factor=team)
    bind(state, thread, tag)
    _, step = state.split(rest, factor=UNROLL)
    state.unroll(step)


def _then_elements(fold: Scheduler) -> Scheduler:
    """Return the schedule of all folds, and then, in a second launch, of all elements."""

    def schedule(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
        fold(s, fold_of(graph), traced, target)
        result = s[graph.results[0]]
        has_lanes = graph.gpu.lanes > 1
        axes = result.op.axis[:-1] if has_lanes else result.op.axis
        block, thread = result.split(fused(result, axes), factor=BLOCK)
        if has_lanes:
            result.vectorize(result.op.axis[-1])
        bind(result, block, "blockIdx.x")
        bind(result, thread, "threadIdx.x")

    return schedule


RULES: Final = spread_rules(
    folds.RULES,
    {
        "short_row": _row,
        "row": _row,
        "whole_row": _row,
        "ordered": _row,
        "thread_column": _column,
        "column": _column,
    },
    _then_elements,
)
