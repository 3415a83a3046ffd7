# SPDX-License-Identifier: Apache-2.0
"""last_block: a fold over blocks is finished by the last of them, in one launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axisfold.errors import ScheduleError
from axisfold.schedule.stage import Stage

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule


def last_block(schedule: Schedule, stage: Stage, producer: Stage | None = None) -> None:
    """Finish a reduction over blocks in the launch that began it.

    Blocks cannot wait for each other.  Each takes a ticket when its part is in memory, and the one
    that finds itself the last does the rest.  There are two forms.

    ``s[B].last_block()``: reduce axes of B are bound to ``blockIdx``.  Each block leaves one state
    for each element, and the last block folds these in the order of the blocks.

    ``s[B].last_block(s[BF])``: BF, often from rfactor, is bound to blocks, and the last block to
    finish it computes B.  Where B binds axes to the same ``blockIdx`` as BF, blocks that differ in
    the others only wait for each other, and the last of each such set computes B's part.

    Before::

        launch (blockIdx.x < 64) { BF[blockIdx.x] = … }
        launch () { B = sum of BF }

    After ``s[B].last_block(s[BF])``::

        launch (blockIdx.x < 64) {
          BF[blockIdx.x] = …
          last[0] = @ticket(tickets[0], 64)
          if last[0] { B = sum of BF }
        }

    Preconditions
    -------------
    1. The stage is a reduction, or ``producer`` is computed before it (S291).
    2. Neither is attached or inlined (S292).
    3. No other stage is computed in the last block of the producer (S293).
    """
    where = f"last_block of stage {stage.name!r}"
    if producer is None:
        if stage.reduction is None:
            raise ScheduleError(
                f"{where}: it is no reduction.",
                code="S291",
                hint="Name the stage whose last block computes it: s[B].last_block(s[BF]).",
            )
        stage.is_last_block = True
        return
    order = schedule.stages.index
    if not producer.op.body or order(producer) >= order(stage):
        raise ScheduleError(
            f"{where}: stage {producer.name!r} is not computed before it.",
            code="S291",
            hint="Name a stage that it reads, such as the result of rfactor.",
        )
    for place in (stage, producer):
        if place.attachment is not None or place.is_inlined:
            raise ScheduleError(
                f"{where}: stage {place.name!r} is not computed at the top level.",
                code="S292",
                hint=f"Use compute_root for {place.name!r}.",
            )
    for other in schedule.stages:
        if other.last_block_of is producer and other is not stage:
            raise ScheduleError(
                f"{where}: the last block of {producer.name!r} computes {other.name!r} already.",
                code="S293",
                hint=f"Compute {stage.name!r} at an axis of {other.name!r}, or the reverse.",
            )
    stage.last_block_of = producer
