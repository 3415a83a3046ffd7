# SPDX-License-Identifier: Apache-2.0
"""What a rule of a planner is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from axisfold.plan.compose import Composer, Graph, LayoutClass
from axisfold.tensor.trace import Traced

# Parameters that may be tuned are keyword arguments after these, with their defaults.
Scheduler = Callable[..., None]


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
        Applies the primitives to a :class:`Schedule`, given the graph, the trace and the target.
    tile_rows
        Length of the runs that the computation goes by; None folds elements.
    parameters
        For each keyword argument of ``schedule`` that may be tuned (and for ``"tile_rows"``) the
        values that are worth trying.
    values
        The parameters that do not have their defaults.
    skips
        Whether passes that few runs need stand under conditions, so that the form with such passes
        is the faster one.
    narrows
        Whether sums of floats are narrower for a while than their results.
    """

    name: str
    applies: Callable[[LayoutClass, Traced], bool]
    reason: str
    schedule: Scheduler
    tile_rows: int | None = None
    parameters: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    values: Mapping[str, int] = field(default_factory=dict)
    skips: bool = False
    narrows: bool = False
    compose: Callable[[Composer], Graph] = Composer.graph

    def with_values(self, values: Mapping[str, int]) -> Rule:
        """Return the rule with parameters other than its defaults."""
        keywords = {name: value for name, value in values.items() if name != "tile_rows"}
        return replace(
            self,
            schedule=partial(self.schedule, **keywords),
            tile_rows=values.get("tile_rows", self.tile_rows),
            values=dict(values),
        )

    def default(self, name: str) -> int | None:
        """Return the default of a parameter; None if it follows from the problem."""
        if name == "tile_rows":
            return self.tile_rows
        found = inspect.signature(self.schedule).parameters[name].default
        return None if found is None else int(found)
