# SPDX-License-Identifier: Apache-2.0
"""pragma: a hint for the passes, attached to a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from axisfold.analysis.simplify import can_prove
from axisfold.errors import ScheduleError
from axisfold.schedule.checks import leaf_position
from axisfold.schedule.primitives.unroll import unroll
from axisfold.schedule.primitives.vectorize import vectorize
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule

KINDS: Final = {
    "any_place": "the states that the loop counts are merged: any of them may take an element (1)",
    "auto_unroll_max_step": "unroll inner loops of constant extent, up to this many statements",
    "prefetch": "ask memory for inputs this many bytes after those that vectors are read from",
    "repeat_edge": "compute the last index again (1) for those of a tile that lie beyond the edge",
    "resident": "blocks that a multiprocessor of a GPU should have registers for at once",
    "shift_inwards": "groups of this many indices: the last begins early, so that it is whole",
    "stream": "write vectors of outputs past the caches, where they are aligned (1), or not (0)",
    "unroll_explicit": "whether unrolled loops are written out (1) or left to the compiler (0)",
}
# How the threads of a bound reduce axis combine their states.
REDUCE_STYLES: Final = ("shuffle", "two-level", "interleaved", "adjacent")


def pragma(schedule: Schedule, stage: Stage, axis: Axis, kind: str, value: Any = None) -> None:
    """Attach a hint to a leaf; it holds for everything inside the loop.

    Before::

        for (i…) { for (j, 0, 4) { … } }

    After ``pragma(i, "auto_unroll_max_step", 16)``::

        attr [IterVar(i…)] "pragma_auto_unroll_max_step" = 16;
        for (i…) { … … … … }

    ``unroll`` and ``vectorize`` are other names of these primitives.

    Preconditions
    -------------
    1. ``axis`` is a leaf of the stage (S101, S102, S103).
    2. ``kind`` is known (S231).
    3. ``value`` is an integer >= 0 where the kind takes one (S232).
    4. ``reduce_style`` on a bound reduce axis takes the name of a style (S233): ``shuffle``,
       ``two-level``, ``interleaved`` or ``adjacent``.
    5. ``shift_inwards`` groups no more indices than the axis is known to have (S234).
    """
    leaf_position(stage, axis, "pragma")
    if kind in ("unroll", "vectorize"):
        (unroll if kind == "unroll" else vectorize)(schedule, stage, axis)
        return
    if kind == "reduce_style":
        if value not in REDUCE_STYLES:
            raise ScheduleError(
                f"pragma reduce_style of axis {axis.name!r} of stage {stage.name!r}: there is no "
                f"style {value!r}.",
                code="S233",
                hint=f"Use one of {', '.join(REDUCE_STYLES)}.",
            )
        stage.pragmas.setdefault(axis, {})[kind] = value
        return
    if kind not in KINDS:
        known = ", ".join(["unroll", "vectorize", "reduce_style", *KINDS])
        raise ScheduleError(
            f"pragma of axis {axis.name!r} of stage {stage.name!r}: unknown kind {kind!r}.",
            code="S231",
            hint=f"Known are {known}.",
        )
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ScheduleError(
            f"pragma {kind} of axis {axis.name!r} of stage {stage.name!r}: {value!r} is not an "
            "integer >= 0.",
            code="S232",
        )
    if kind == "shift_inwards" and not can_prove(axis.extent >= value):
        raise ScheduleError(
            f"pragma {kind} of axis {axis.name!r} of stage {stage.name!r}: its extent "
            f"{axis.extent} may be less than {value}.",
            code="S234",
            hint=f"Say that it is not: te.size_var(…, least={value}).",
        )
    stage.pragmas.setdefault(axis, {})[kind] = value
