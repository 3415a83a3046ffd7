# SPDX-License-Identifier: Apache-2.0
"""unroll: a loop of constant extent is written out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axisfold.errors import ScheduleError
from axisfold.ir import build
from axisfold.schedule.checks import check_unbound, leaf_position
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule

MAX_ROUNDS = 1024


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
    2. Its extent is a constant of at most 1024 (S141).
    3. It is not bound (S142).
    """
    leaf_position(stage, axis, "unroll")
    extent = build.as_int(axis.extent)
    if extent is None or extent > MAX_ROUNDS:
        raise ScheduleError(
            f"unroll of axis {axis.name!r} of stage {stage.name!r}: its extent is not a constant "
            f"of at most {MAX_ROUNDS}.",
            code="S141",
            hint="Split it and unroll the inner part.",
        )
    check_unbound(stage, axis, "unroll", "S142")
    stage.loop_kinds[axis] = "unrolled"
