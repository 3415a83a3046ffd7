# SPDX-License-Identifier: Apache-2.0
"""reorder: leaves change places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axisfold.errors import ScheduleError
from axisfold.ir.walk import uses
from axisfold.schedule.checks import check_data_outside, leaf_position
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule


def reorder(schedule: Schedule, stage: Stage, *axes: Axis) -> None:
    """Put the named leaves in the given order, within the slots that they occupy now.

    Before::

        for (i…) { for (j…) { for (k…) { … } } }

    After ``reorder(k, i)``::

        for (k…) { for (j…) { for (i…) { … } } }

    Preconditions
    -------------
    1. Every axis is a leaf of the stage (S101, S102, S103).
    2. No axis is named twice (S121).
    3. The bounds of a loop do not read an axis that would come to lie inside it (S122).
    4. The reduce axes of an ordered reducer keep their order (S123).
    5. No data axis comes to lie inside a reduce axis, if one of these is bound (S124).
    """
    positions = [leaf_position(stage, axis, "reorder") for axis in axes]
    if len(set(positions)) != len(positions):
        raise ScheduleError(
            f"reorder of stage {stage.name!r} names an axis twice: {[a.name for a in axes]}.",
            code="S121",
        )
    leaves = list(stage.leaf_axes)
    for slot, axis in zip(sorted(positions), axes, strict=True):
        leaves[slot] = axis
    _check_bounds(stage, leaves)
    _check_order(stage, leaves)
    _check_threads(stage, leaves)
    stage.leaf_axes = leaves


def _check_bounds(stage: Stage, leaves: list[Axis]) -> None:
    for position, axis in enumerate(leaves):
        ends = [e for root in stage.roots_of(axis) for e in (root.min, root.extent)]
        for inner in leaves[position + 1 :]:
            inside = frozenset(root.var for root in stage.roots_of(inner))
            if any(uses(end, inside) for end in ends):
                raise ScheduleError(
                    f"reorder of stage {stage.name!r}: the bounds of axis {axis.name!r} read axis "
                    f"{inner.name!r}, which would lie inside it.",
                    code="S122",
                )


def _check_order(stage: Stage, leaves: list[Axis]) -> None:
    reduction = stage.reduction
    if reduction is None or not reduction.combiner.is_ordered:
        return
    before = [a for a in stage.leaf_axes if a.kind == "reduce"]
    if [a for a in leaves if a.kind == "reduce"] != before:
        raise ScheduleError(
            f"reorder of stage {stage.name!r}: its reducer is ordered, so the reduce axes "
            f"{[a.name for a in before]} keep their order.",
            code="S123",
        )


def _check_threads(stage: Stage, leaves: list[Axis]) -> None:
    if stage.is_cross_thread:
        where = f"reorder of stage {stage.name!r}, which threads reduce"
        hint = "Keep data axes outside of reduce axes."
        check_data_outside(stage, leaves, where, "S124", hint)
