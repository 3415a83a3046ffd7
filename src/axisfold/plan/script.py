# SPDX-License-Identifier: Apache-2.0
"""A plan as Python: the te computation and the schedule, as a program that builds it again."""

from __future__ import annotations

from axisfold.plan.compose import Graph
from axisfold.plan.planner import Plan
from axisfold.tensor.script import GraphScript


def te_source(graph: Graph) -> str:
    """Return a plan's te computation as Python.

    Running the text defines every tensor under its own name, and ``args`` as the tensors that
    the kernel's caller binds, in order.
    """
    return GraphScript(graph.args, graph.results).text()


def schedule_source(plan: Plan) -> str:
    """Return a plan's schedule as Python; it continues the text of :func:`te_source`."""
    script = GraphScript(plan.graph.args, plan.graph.results)
    script.text()  # names what the steps may read
    return plan.schedule.trace.schedule_source(script)


def plan_source(plan: Plan) -> str:
    """Return te computation and schedule: after it ``axisfold.lower(s, args)`` is the plan's."""
    return te_source(plan.graph) + "\n" + schedule_source(plan)
