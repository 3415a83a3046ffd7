# SPDX-License-Identifier: Apache-2.0
"""What a rule writes: te, its schedule, loops and the program; a plan on disk needs none of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from axisfold.build import Compiled, cuda_program, sim_program
from axisfold.ir.expr import Expr
from axisfold.ir.stmt import Kernel
from axisfold.passes.pipelines import legible
from axisfold.plan.compose import Composer, Graph
from axisfold.plan.rule import Rule
from axisfold.schedule.schedule import Schedule, create_schedule
from axisfold.target import Target
from axisfold.tensor.tensor import Tensor
from axisfold.tensor.trace import Traced

if TYPE_CHECKING:
    from axisfold.plan.planner import Plan


@dataclass(frozen=True, slots=True)
class Written:
    """What a rule wrote."""

    graph: Graph
    schedule: Schedule
    compiled: Any


def write(plan: Plan) -> Written:
    """Write the kernel of a plan."""
    layout, rule, target = plan.layout, plan.rule, plan.target
    others = (
        plan.traced.skipping if rule.skips else None,
        (plan.traced.narrowing if rule.narrows else None),
    )
    traced = next((other for other in others if other is not None), plan.traced)
    composer = Composer(traced, layout)
    graph = (
        rule.compose(composer) if rule.tile_rows is None else composer.tiled_graph(rule.tile_rows)
    )
    schedule = create_schedule(graph.results[0].op)
    if any(stage.op is graph.state[0].op for stage in schedule.stages):
        rule.schedule(schedule, graph, traced, target)  # else no result reads the state
    kernel = _loops(traced, rule, graph, schedule, target)
    return Written(graph, schedule, _compiled(kernel, target))


def loops(traced: Traced, made: Plan, target: Target) -> Kernel:
    """Return the loop IR of a plan as people read it."""
    return _loops(traced, made.rule, made.graph, made.schedule, target)


def _loops(traced: Traced, rule: Rule, graph: Graph, schedule: Schedule, target: Target) -> Kernel:
    return legible(
        schedule,
        graph.args,
        f"{rule.name}_fold",
        layouts=_layouts(graph),
        facts=graph.facts,
        target=target if target.has_threads else None,
    )


def _compiled(kernel: Kernel, target: Target) -> Any:
    if target.kind == "cuda":
        return cuda_program(kernel, target)
    return sim_program(kernel, target) if target.kind == "sim" else Compiled(kernel, "brief")


def _layouts(graph: Graph) -> dict[Tensor, tuple[Expr, ...]]:
    """Return the strides that results are promised to have."""
    pairs = zip(graph.results, graph.layouts, strict=True)
    return {tensor: strides for tensor, strides in pairs if strides is not None}
