# SPDX-License-Identifier: Apache-2.0
"""The plan of a reduction on an array that need not exist."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Final

from axisfold.api.arguments import item_of
from axisfold.api.dispatch import plan_request
from axisfold.api.fold import Planned
from axisfold.api.options import Request
from axisfold.api.spec import ArraySpec
from axisfold.cli.errors import CommandError
from axisfold.passes.teams import STYLES
from axisfold.plan.lanes import without_lanes
from axisfold.plan.planner import HOST, make_plan
from axisfold.plan.rules_threads import threads_rule
from axisfold.plan.sizes_gpu import GpuClass
from axisfold.target import Target
from axisfold.target import parse as parse_target

SIM: Final = Target("sim")
MOST_THREADS: Final = 256


def plan_of_shape(
    ops: Sequence[str],
    shape: tuple[int, ...],
    dtype: str,
    axis: int | tuple[int, ...] | None,
    order: str,
    target: str,
) -> Planned:
    """Return the plan for arrays of a shape, dtype and order; no such array is made."""
    if order not in ("C", "F"):
        raise CommandError(f"--order {order!r} is not an order. Use C or F.")
    chosen_target = parse_target(target)
    like = ArraySpec(shape, dtype, order=order)
    goal = chosen_target if chosen_target.has_threads else HOST
    items = tuple(item_of(op) for op in ops)
    return plan_request(Request("fold", items, axis=axis), [like], goal)


def by_threads(planned: Planned, threads: int | None, style: str | None) -> Planned:
    """Return another plan of a fold: a block for each result, whose threads combine in a style."""
    if style is not None and style not in STYLES:
        raise CommandError(f"--style {style!r} is no style. Use {', '.join(STYLES)}.")
    if planned.traced.is_spread:
        raise CommandError(
            "--style and --threads are about results of folds, and these have the input's shape. "
            "Leave them away."
        )
    if threads is None:
        folded = prod(axis.extent for axis in planned.problem.reduced)
        threads = min(1 << max(folded - 1, 1).bit_length(), MOST_THREADS)
    if not 1 <= threads <= SIM.max_threads:
        raise CommandError(f"--threads {threads}: a block has 1 to {SIM.max_threads} threads.")
    rule = threads_rule(threads, style or "")
    found = planned.plan.layout
    problem = without_lanes(planned.problem, found.inner_kind, found.lanes)
    layout = replace(
        found, kept=len(problem.kept), reduced=len(problem.reduced), gpu=GpuClass("row")
    )
    plan = make_plan(planned.traced, layout, SIM, rule)
    _ = plan.compiled  # now, so that what does not fit is refused before anything is printed
    return replace(planned, plan=plan, problem=problem)
