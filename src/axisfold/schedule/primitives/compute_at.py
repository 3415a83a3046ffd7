# SPDX-License-Identifier: Apache-2.0
"""compute_at: produce just what is needed inside a loop of a consumer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axisfold.errors import ScheduleError
from axisfold.schedule.checks import leaf_position
from axisfold.schedule.stage import Attachment, Stage
from axisfold.tensor.axis import Axis

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule


def compute_at(schedule: Schedule, stage: Stage, parent: Stage, axis: Axis) -> None:
    """Compute the stage inside the loop of ``axis`` of ``parent``, and there only what is read.

    Before::

        for (i…) { B.rf[…] = … }
        for (i…) { B[i] = … B.rf[…] … }

    After ``s[BF].compute_at(s[B], i)``::

        for (i…) {
          allocate(B.rf, one element)
          B.rf[0] = …
          B[i] = … B.rf[0] …
        }

    Preconditions
    -------------
    1. ``parent`` is a stage (S150) and ``axis`` a leaf of it (S101, S102, S103).
    2. The stage is neither an output nor a placeholder (S151).
    3. ``parent`` is another stage and does not lie inside this one (S152).
    4. Every consumer of the stage is ``parent``, is computed inside it, or may still be attached
       there: it is an intermediate stage at the top level that ``parent`` depends on (S153).
       That it was is checked when the schedule is lowered (S154).
    5. ``parent`` is not inlined (S155).
    """
    if not isinstance(parent, Stage):
        raise ScheduleError(
            f"compute_at of stage {stage.name!r}: {parent!r} is not a stage.",
            code="S150",
            hint="Write s[A].compute_at(s[B], axis).",
        )
    leaf_position(parent, axis, "compute_at")
    if stage.is_output or not stage.op.body:
        what = "an output" if stage.is_output else "a placeholder"
        raise ScheduleError(f"compute_at of stage {stage.name!r}: it is {what}.", code="S151")
    if parent is stage or _lies_inside(parent, stage):
        raise ScheduleError(
            f"compute_at of stage {stage.name!r}: stage {parent.name!r} is itself or lies inside "
            "it.",
            code="S152",
        )
    if parent.is_inlined:
        raise ScheduleError(
            f"compute_at of stage {stage.name!r} at {parent.name!r}: stage {parent.name!r} is "
            "inlined, so it has no loops.",
            code="S155",
            hint=f"Call compute_root of {parent.name!r} first, or attach to its consumer.",
        )
    for consumer in consumers(schedule, stage):
        if not _may_lie_inside(schedule, consumer, parent):
            raise ScheduleError(
                f"compute_at of stage {stage.name!r} at {parent.name!r}: its consumer "
                f"{consumer.name!r} is not computed inside {parent.name!r}.",
                code="S153",
                hint=f"Attach {consumer.name!r} there first.",
            )
    stage.attachment = Attachment(parent, axis)
    stage.is_inlined = False


def consumers(schedule: Schedule, stage: Stage) -> list[Stage]:
    """Return the stages that read a tensor of ``stage``."""
    own = {id(stage.op), id(stage.origin_op)}
    return [s for s in schedule.stages if any(id(t.op) in own for t in s.op.input_tensors)]


def _may_lie_inside(schedule: Schedule, consumer: Stage, parent: Stage) -> bool:
    if consumer is parent or _lies_inside(consumer, parent):
        return True
    if consumer.is_output or (consumer.attachment is not None and not consumer.is_inlined):
        return False
    return any(_may_lie_inside(schedule, c, parent) for c in consumers(schedule, consumer))


def _lies_inside(stage: Stage, outer: Stage) -> bool:
    attachment = stage.attachment
    while attachment is not None:
        if attachment.stage is outer:
            return True
        attachment = attachment.stage.attachment
    return False
