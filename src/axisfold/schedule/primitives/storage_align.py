# SPDX-License-Identifier: Apache-2.0
"""storage_align: rows of an intermediate tensor are padded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axisfold.errors import ScheduleError
from axisfold.schedule.checks import check_intermediate
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule


def storage_align(schedule: Schedule, stage: Stage, axis: Axis, factor: int, offset: int) -> None:
    """Pad an intermediate tensor so that the stride of ``axis`` is ``offset`` modulo ``factor``.

    Before, for a tensor of (n, 64)::

        T[((i * 64) + j)]

    After ``s[T].storage_align(T.op.axis[0], 32, 1)``::

        T[((i * 65) + j)]

    Neighbouring rows then start in different banks of shared memory or sets of a cache.

    Preconditions
    -------------
    1. The stage is neither an output nor a placeholder (S211).
    2. ``axis`` is a data axis of its operation (S212).
    3. ``factor`` is positive and ``offset`` lies in [0, factor) (S213).
    """
    check_intermediate(stage, "storage_align", "S211")
    if axis not in stage.op.axis:
        raise ScheduleError(
            f"storage_align of stage {stage.name!r}: {axis!r} is no data axis of its operation.",
            code="S212",
            hint=f"Use one of s[{stage.name}].op.axis, before splitting.",
        )
    given: tuple[object, ...] = (factor, offset)
    if not all(type(g) is int for g in given) or not 0 <= offset < factor:
        raise ScheduleError(
            f"storage_align of stage {stage.name!r}: factor={factor!r} and offset={offset!r} are "
            "not integers with 0 <= offset < factor.",
            code="S213",
        )
    stage.alignments[axis] = (factor, offset)
