# SPDX-License-Identifier: Apache-2.0
"""compute_root: a stage is computed at the top level, as at first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axisfold.schedule.stage import Stage

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule


def compute_root(schedule: Schedule, stage: Stage) -> None:
    """Undo ``compute_at`` and ``compute_inline``: compute the whole tensor at the top level.

    Before::

        for (i…) { allocate(T, one element) { T[0] = A[i]*2 ; B[i] = T[0] + 1 } }

    After ``s[T].compute_root()``::

        for (i…) { T[i] = A[i]*2 }
        for (i…) { B[i] = T[i] + 1 }

    Preconditions
    -------------
    None: every stage can be computed at the top level.
    """
    stage.attachment = None
    stage.is_inlined = False
