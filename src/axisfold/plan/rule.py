# SPDX-License-Identifier: Apache-2.0
"""What a rule of a planner is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from axisfold.plan.compose import Graph, LayoutClass
from axisfold.schedule.schedule import Schedule
from axisfold.target import Target
from axisfold.tensor.trace import Traced

Scheduler = Callable[[Schedule, Graph, Traced, Target], None]


@dataclass(frozen=True, slots=True)
class Rule:
    """A way to compute and schedule a class of problems.

    Attributes
    ----------
    name
        Name of the class.
    applies
        Whether the rule takes a layout class.
    reason
        Why its schedule suits the class, in one sentence.
    schedule
        Applies the primitives.
    tile_rows
        Length of the runs that the computation goes by; None folds elements.
    """

    name: str
    applies: Callable[[LayoutClass, Traced], bool]
    reason: str
    schedule: Scheduler
    tile_rows: int | None = None
