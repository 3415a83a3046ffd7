# SPDX-License-Identifier: Apache-2.0
"""unroll: a loop of constant extent is written out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axisfold.errors import ScheduleError
from axisfold.schedule.checks import check_no_stop, check_unbound, leaf_position
from axisfold.schedule.stage import MAX_ROUNDS, Stage, has_rounds_for
from axisfold.tensor.axis import Axis

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule


def unroll(schedule: Schedule, stage: Stage, axis: Axis) -> None:
    """Write out every round of a leaf, so that registers can take the place of indices.

    Before::

        for (k.inner: int32, 0, 2) { B[0] = B[0] + A[(k.outer*2) + k.inner] }

    After ``unroll(k.inner)``, in the device program::

        B[0] = B[0] + A[(k.outer * 2)]
        B[0] = B[0] + A[(k.outer * 2) + 1]

    Preconditions
    -------------
    1. ``axis`` is a leaf of the stage (S101, S102, S103).
    2. Its extent is a constant of at most 1024 (S141).  In a stage that is computed inside another
       it is known when the program is lowered; if it is not such a constant then, the loop is
       serial.
    3. It is not bound, nor to end early (S142).
    """
    leaf_position(stage, axis, "unroll")
    if stage.attachment is None and not has_rounds_for("unrolled", axis.extent):
        raise ScheduleError(
            f"unroll of axis {axis.name!r} of stage {stage.name!r}: its extent is not a constant "
            f"of at most {MAX_ROUNDS['unrolled']}.",
            code="S141",
            hint="Split it and unroll the inner part.",
        )
    check_unbound(stage, axis, "unroll", "S142")
    check_no_stop(stage, axis, "unroll", "S142")
    stage.loop_kinds[axis] = "unrolled"
