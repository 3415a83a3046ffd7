# SPDX-License-Identifier: Apache-2.0
"""Tails: the guards of splits that do not divide and of regions that reach over the edge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from axisfold.analysis.bounds import Bounds
from axisfold.analysis.simplify import can_prove
from axisfold.ir.expr import Expr, Var
from axisfold.ir.walk import free_vars
from axisfold.lower.regions import StageBounds, enclosing_domains, loop_domains
from axisfold.schedule.relations import split_guards
from axisfold.schedule.stage import Stage


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition that a round must fulfil; ``is_data``: it reads no reduce axis."""

    condition: Expr
    is_data: bool

    def level(self, levels: Mapping[Var, int]) -> int:
        """Return how many loops must be open before the condition can be tested."""
        return max((levels[v] + 1 for v in free_vars(self.condition) if v in levels), default=0)


def stage_guards(stage: Stage, bounds: Mapping[Stage, StageBounds]) -> list[Guard]:
    """Return the guards of a stage, one for each split or edge that cannot be proved."""
    own = bounds[stage]
    env = Bounds({**enclosing_domains(stage, bounds), **loop_domains(stage, own)})
    found = [
        Guard(condition, axis.kind == "data")
        for axis, condition in split_guards(stage.relations, own.extents, own.offsets, env)
    ]
    if stage.attachment is not None:
        for axis in stage.op.axis:
            index = own.values[axis.var]
            for edge in (index < axis.extent, index >= axis.min):
                if not can_prove(edge, env) and not any(g.condition == edge for g in found):
                    found.append(Guard(edge, is_data=True))
    return found
