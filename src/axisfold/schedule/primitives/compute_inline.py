# SPDX-License-Identifier: Apache-2.0
"""compute_inline: consumers compute the value themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axisfold.errors import ScheduleError
from axisfold.schedule.checks import check_intermediate, check_nothing_attached
from axisfold.schedule.stage import Stage

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule


def compute_inline(schedule: Schedule, stage: Stage) -> None:
    """Put the stage's expression in the place of every read of it.

    Before::

        for (i…) { T[i] = A[i]*2 }
        for (i…) { B[i] = T[i] + 1 }

    After ``s[T].compute_inline()``::

        for (i…) { B[i] = A[i]*2 + 1 }

    Preconditions
    -------------
    1. The stage is neither an output nor a placeholder (S181).
    2. It is no reduction (S182) and has one output (S183).
    3. No stage is computed inside it (S184).
    """
    check_intermediate(stage, "compute_inline", "S181")
    if stage.reduction is not None:
        raise ScheduleError(
            f"compute_inline of stage {stage.name!r}: it is a reduction, which has no value that "
            "an expression could hold.",
            code="S182",
            hint="Use compute_at.",
        )
    if stage.op.num_outputs > 1:
        raise ScheduleError(
            f"compute_inline of stage {stage.name!r}: it has {stage.op.num_outputs} outputs.",
            code="S183",
            hint="Use compute_at.",
        )
    check_nothing_attached(schedule, stage, "compute_inline", "S184")
    stage.attachment = None
    stage.is_inlined = True
