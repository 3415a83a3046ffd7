# SPDX-License-Identifier: Apache-2.0
"""From a layout class and traced reducers to a compiled kernel, at most once for each."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Final

from axisfold.build import Compiled, cuda_program, sim_program
from axisfold.ir.stmt import Kernel
from axisfold.passes.pipelines import legible
from axisfold.plan import rules_cpu, rules_cuda
from axisfold.plan.compose import Composer, Graph, LayoutClass
from axisfold.plan.rule import Rule
from axisfold.runtime.cpu import host_vector_bytes
from axisfold.schedule.schedule import Schedule, create_schedule
from axisfold.target import Target
from axisfold.tensor.key import expression_key
from axisfold.tensor.tensor import Tensor
from axisfold.tensor.trace import Traced

HOST: Final = Target("llvm")

_plans: dict[Hashable, Plan] = {}
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Plan:
    """A planned kernel.

    Attributes
    ----------
    layout
        The layout class it serves.
    rule
        The rule that wrote the schedule.
    graph, schedule
        The te computation and its schedule.
    compiled
        The kernel: machine code of the host, or a program of launches for target ``cuda`` or
        ``sim``.
    """

    layout: LayoutClass
    rule: Rule
    graph: Graph
    schedule: Schedule
    compiled: Any


def traced_key(traced: Traced) -> Hashable:
    """Return what two traces share when the same kernel serves both."""
    results = [p for r in traced.results for p in r.parts]
    roots = [
        *(v for parts in traced.elements for v in parts), *traced.combiner.lhs,
        *traced.combiner.rhs, traced.index, traced.count, traced.tile_count,
        *traced.combiner.result, *traced.combiner.identity, *traced.lifted, *traced.absorb,
        *(v for value in traced.initial for v in value.variables),
        *results, *(p.source for p in traced.tile_passes), *traced.tile_state,
    ]  # fmt: skip
    # Two real numbers and one complex one have the same expressions but not the same strides.
    shape = (
        tuple(len(parts) for parts in traced.elements), len(traced.combiner.lhs),
        tuple(len(value.variables) for value in traced.initial),
        tuple(len(r.parts) for r in traced.results), len(traced.tile_passes),
    )  # fmt: skip
    return (shape, traced.uses_index, traced.combiner.facts, expression_key(roots))


def plan(traced: Traced, layout: LayoutClass, target: Target = HOST) -> Plan:
    """Return the plan of a layout class; the same class is planned once."""
    key = (traced_key(traced), layout, target)
    found = _plans.get(key)
    if found is None:
        with _lock:
            found = _plans.get(key)
            if found is None:
                found = _plans[key] = make_plan(traced, layout, target)
    return found


def make_plan(
    traced: Traced, layout: LayoutClass, target: Target = HOST, rule: Rule | None = None
) -> Plan:
    """Write te and schedule by a rule, by default the target's first one that applies."""
    if target == HOST:
        target = replace(target, vector_bytes=host_vector_bytes())
    if rule is None:
        rule = next(r for r in rules_of(target) if r.applies(layout, traced))
    composer = Composer(traced, layout)
    graph = composer.graph() if rule.tile_rows is None else composer.tiled_graph(rule.tile_rows)
    schedule = create_schedule(graph.results[0].op)
    if any(stage.op is graph.state[0].op for stage in schedule.stages):
        rule.schedule(schedule, graph, traced, target)  # else no result reads the state
    kernel = _loops(traced, rule, graph, schedule, target)
    return Plan(layout, rule, graph, schedule, _compiled(kernel, target))


def loops(traced: Traced, made: Plan, target: Target) -> Kernel:
    """Return the loop IR of a plan as people read it."""
    return _loops(traced, made.rule, made.graph, made.schedule, target)


def _loops(traced: Traced, rule: Rule, graph: Graph, schedule: Schedule, target: Target) -> Kernel:
    return legible(
        schedule,
        graph.args,
        f"{rule.name}_fold",
        compact=_real_results(traced, graph),
        target=target if target.has_threads else None,
    )


def rules_of(target: Target) -> tuple[Rule, ...]:
    """Return the table of rules of a target, which is read from the top."""
    return rules_cuda.RULES if target.has_threads else rules_cpu.RULES


def _compiled(kernel: Kernel, target: Target) -> Any:
    if target.kind == "cuda":
        return cuda_program(kernel, target)
    return sim_program(kernel, target) if target.kind == "sim" else Compiled(kernel, "brief")


def _real_results(traced: Traced, graph: Graph) -> list[Tensor]:
    """Return the results that are compact; the parts of a complex one lie two apart."""
    sizes = [len(r.parts) for r in traced.results for _ in r.parts]
    return [t for t, size in zip(graph.results, sizes, strict=True) if size == 1]
