# SPDX-License-Identifier: Apache-2.0
"""Tails: the guards of splits that do not divide and of regions that reach over the edge."""

from __future__ import annotations

from collections.abc import Mapping

from axisfold.analysis.bounds import Bounds
from axisfold.analysis.simplify import can_prove
from axisfold.ir.expr import Expr, Var
from axisfold.ir.walk import variables
from axisfold.lower.regions import StageBounds
from axisfold.schedule.relations import split_guards
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis


def guard_level(guard: Expr, levels: Mapping[Var, int]) -> int:
    """Return how many loops must be open before a guard can be tested."""
    return max((levels[v] + 1 for v in variables(guard) if v in levels), default=0)


def stage_guards(
    stage: Stage,
    bounds: StageBounds,
    offsets: Mapping[Axis, Expr],
    indices: Mapping[Var, Expr],
    env: Bounds,
) -> list[Expr]:
    """Return the conditions that a round must fulfil, one for each split or edge not proved.

    Parameters
    ----------
    stage, bounds
        What is computed.
    offsets
        Value of each axis from the start of its region; axes that are absent are not guarded.
    indices
        Index that each variable of the operation stands for.
    env
        Domains of the loops around.
    """
    found = [c for _, c in split_guards(stage.relations, bounds.extents, offsets, env)]
    if stage.attachment is not None:
        for axis in stage.op.axis:
            index = indices[axis.var]
            edges = [index >= axis.min]
            if axis not in stage.repeated_axes:
                edges.insert(0, index < stage.places(axis))
            for edge in edges:
                if not can_prove(edge, env) and edge not in found:
                    found.append(edge)
    return found
