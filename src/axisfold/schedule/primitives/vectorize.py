# SPDX-License-Identifier: Apache-2.0
"""vectorize: a data loop of constant extent becomes vector operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axisfold.errors import ScheduleError
from axisfold.schedule.checks import check_no_stop, check_unbound, leaf_position
from axisfold.schedule.stage import MAX_ROUNDS, Stage, has_rounds_for
from axisfold.tensor.axis import Axis

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule


def vectorize(schedule: Schedule, stage: Stage, axis: Axis) -> None:
    """Run all rounds of a leaf at once, one lane each.

    Before::

        for (i.inner: int32, 0, 8) { B[(i.outer*8) + i.inner] = A[(i.outer*8) + i.inner] }

    After ``vectorize(i.inner)``, in the device program::

        B[ramp((i.outer * 8), 1, 8)] = A[ramp((i.outer * 8), 1, 8)]

    Lanes beyond a tail are masked.

    Preconditions
    -------------
    1. ``axis`` is a leaf of the stage (S101, S102, S103).
    2. It is a data axis (S131): the rounds of a reduce axis depend on each other.
    3. Its extent is a constant of at most 256 (S132).  In a stage that is computed inside another
       it is known when the program is lowered; if it is not such a constant then, the loop is
       serial.
    4. It is not bound, nor to end early (S133).
    """
    leaf_position(stage, axis, "vectorize")
    if axis.kind == "reduce":
        raise ScheduleError(
            f"vectorize of axis {axis.name!r} of stage {stage.name!r}: it is a reduce axis, whose "
            "rounds update the same element.",
            code="S131",
            hint=f"Make it a data axis first: s.rfactor({stage.name}, {axis.name}).",
        )
    if stage.attachment is None and not has_rounds_for("vectorized", axis.extent):
        raise ScheduleError(
            f"vectorize of axis {axis.name!r} of stage {stage.name!r}: its extent is not a "
            f"constant of at most {MAX_ROUNDS['vectorized']}.",
            code="S132",
            hint="Split it by the number of lanes and vectorize the inner part.",
        )
    check_unbound(stage, axis, "vectorize", "S133")
    check_no_stop(stage, axis, "vectorize", "S133")
    stage.loop_kinds[axis] = "vectorized"
