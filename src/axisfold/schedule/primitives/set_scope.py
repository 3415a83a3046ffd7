# SPDX-License-Identifier: Apache-2.0
"""set_scope: which memory holds an intermediate tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, get_args

from axisfold.errors import ScheduleError
from axisfold.ir.buffer import Scope
from axisfold.schedule.checks import check_intermediate
from axisfold.schedule.stage import Stage

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule

SCOPES: Final[tuple[str, ...]] = get_args(Scope)


def set_scope(schedule: Schedule, stage: Stage, scope: str) -> None:
    """Choose the memory of an intermediate tensor.

    ``global``: seen by all threads; ``cluster``: by the blocks of a cluster; ``shared`` and
    ``warp``: by the threads of a block; ``local``: of one thread, in registers or on its stack
    where the extents are small constants.  By default it follows from where the stage is computed:
    inside loops over blocks only it is shared, inside loops over threads local.

    Before::

        allocate(T: Pointer(global float32), float32, [n]), storage_scope = global

    After ``s[T].set_scope("shared")``::

        allocate(T: Pointer(shared float32), float32, [n]), storage_scope = shared

    Preconditions
    -------------
    1. The stage is neither an output nor a placeholder (S191).
    2. ``scope`` is one of these (S192).
    """
    check_intermediate(stage, "set_scope", "S191")
    check_scope(scope, f"set_scope of stage {stage.name!r}")
    stage.scope = scope  # type: ignore[assignment]


def check_scope(scope: str, where: str) -> None:
    """Refuse an unknown scope (S192)."""
    if scope not in SCOPES:
        raise ScheduleError(
            f"{where}: there is no scope {scope!r}.",
            code="S192",
            hint=f"Use one of {', '.join(SCOPES)}.",
        )
