# SPDX-License-Identifier: Apache-2.0
"""set_store_predicate: results are stored only where a condition holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from axisfold.errors import ScheduleError
from axisfold.ir import build
from axisfold.schedule.stage import Stage

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule


def set_store_predicate(schedule: Schedule, stage: Stage, predicate: Any) -> None:
    """Guard the stores of a stage's results, not the start of a reduction.

    Before::

        B[i] = T[i]

    After ``s[B].set_store_predicate(tx.var.equal(0))``::

        if (threadIdx.x == 0) { B[i] = T[i] }

    Preconditions
    -------------
    1. The stage computes something (S201).
    2. ``predicate`` is a truth value (S202).
    """
    if not stage.op.body:
        raise ScheduleError(
            f"set_store_predicate of stage {stage.name!r}: it is a placeholder.", code="S201"
        )
    condition = None if isinstance(predicate, (bool, float)) else build.as_expr(predicate)
    if condition is None or not (condition.dtype.is_bool or condition.dtype.is_integer):
        raise ScheduleError(
            f"set_store_predicate of stage {stage.name!r}: {predicate!r} is no condition.",
            code="S202",
            hint="Build one, such as tx.var.equal(0) or axis < 8.",
        )
    stage.store_predicate = build.truth(condition)
