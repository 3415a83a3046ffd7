# SPDX-License-Identifier: Apache-2.0
"""double_buffer: the next part of a tensor is loaded while this one is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axisfold.schedule.checks import check_intermediate
from axisfold.schedule.stage import Stage

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule


def double_buffer(schedule: Schedule, stage: Stage) -> None:
    """Mark an intermediate tensor to be kept twice by targets that copy asynchronously.

    Before::

        allocate(T…) { … }

    After ``s[T].double_buffer()``::

        allocate(T…) { attr [T] "double_buffer_scope" = 1; … }

    CPUs prefetch by themselves, so their targets ignore the mark; results never depend on it.

    Preconditions
    -------------
    1. The stage is neither an output nor a placeholder (S221).
    """
    check_intermediate(stage, "double_buffer", "S221")
    stage.is_double_buffered = True
