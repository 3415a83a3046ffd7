# SPDX-License-Identifier: Apache-2.0
"""What every primitive checks about the axes that it is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from axisfold.errors import ScheduleError
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule


def check_nothing_attached(schedule: Schedule, stage: Stage, primitive: str, code: str) -> None:
    """Refuse to take away loops in which other stages are computed.

    Raises
    ------
    ScheduleError
        ``code``: some stage is computed at a loop of ``stage``.
    """
    for other in schedule.stages:
        if other.attachment is not None and other.attachment.stage is stage:
            raise ScheduleError(
                f"{primitive} of stage {stage.name!r}: stage {other.name!r} is computed at its "
                f"axis {other.attachment.axis.name!r}.",
                code=code,
                hint=f"Call {primitive} before compute_at.",
            )


def check_serial(stage: Stage, axis: Axis, primitive: str, code: str, hint: str) -> None:
    """Refuse a loop that would lose what was said about it.

    Raises
    ------
    ScheduleError
        ``code``: the axis is vectorized, unrolled, parallel, bound or to end early.
    """
    now: str | None = stage.loop_kinds.get(axis)
    if axis in stage.stops:
        now = "to end early"
    if axis in stage.bindings:
        now = f"bound to {stage.bindings[axis].tag}"
    if now is not None:
        raise ScheduleError(
            f"{primitive} of axis {axis.name!r} of stage {stage.name!r}: it is already {now}.",
            code=code,
            hint=hint,
        )


def check_unbound(stage: Stage, axis: Axis, primitive: str, code: str) -> None:
    """Refuse a loop whose rounds are threads.

    Raises
    ------
    ScheduleError
        ``code``: the axis is bound.
    """
    if axis in stage.bindings:
        raise ScheduleError(
            f"{primitive} of axis {axis.name!r} of stage {stage.name!r}: it is bound to "
            f"{stage.bindings[axis].tag}, so it is no loop.",
            code=code,
            hint="Choose one of the two.",
        )


def check_no_stop(stage: Stage, axis: Axis, primitive: str, code: str) -> None:
    """Refuse a loop that may end early, and so has to be one.

    Raises
    ------
    ScheduleError
        ``code``: the axis is to end early.
    """
    if axis in stage.stops:
        raise ScheduleError(
            f"{primitive} of axis {axis.name!r} of stage {stage.name!r}: its loop is to end early.",
            code=code,
            hint="Split it first, and stop the outer part.",
        )


def check_no_place(
    schedule: Schedule, stage: Stage, axis: Axis, primitive: str, code: str, hint: str
) -> None:
    """Refuse to take away a loop in which another stage is computed.

    Raises
    ------
    ScheduleError
        ``code``: some stage is computed at ``axis``.
    """
    for other in schedule.stages:
        if other.attachment is not None and other.attachment.axis is axis:
            raise ScheduleError(
                f"{primitive} of axis {axis.name!r} of stage {stage.name!r}: stage "
                f"{other.name!r} is computed at it.",
                code=code,
                hint=hint,
            )


def check_data_outside(
    stage: Stage, leaves: Sequence[Axis], where: str, code: str, hint: str
) -> None:
    """Refuse data axes inside reduce axes, of which one is shared by threads.

    Each thread folds what lies inside the outermost reduce axis, so that is one element.

    Raises
    ------
    ScheduleError
        ``code``: a data axis lies inside a reduce axis or is fused with one.
    """
    first = next(n for n, leaf in enumerate(leaves) if stage.touches(leaf, "reduce"))
    for leaf in leaves[first:]:
        if stage.touches(leaf, "data"):
            how = "is fused with a reduce axis"
            if not stage.touches(leaf, "reduce"):
                how = f"lies inside reduce axis {leaves[first].name!r}"
            raise ScheduleError(f"{where}: data axis {leaf.name!r} {how}.", code=code, hint=hint)


def check_intermediate(stage: Stage, primitive: str, code: str) -> None:
    """Refuse a stage whose tensors the caller sees.

    Raises
    ------
    ScheduleError
        ``code``: the stage is an output or a placeholder.
    """
    if stage.is_output or not stage.op.body:
        what = "an output" if stage.is_output else "a placeholder"
        raise ScheduleError(
            f"{primitive} of stage {stage.name!r}: it is {what}.",
            code=code,
            hint="Only tensors between inputs and outputs can be changed like this.",
        )


def leaf_position(stage: Stage, axis: Any, primitive: str) -> int:
    """Return the position of a leaf of ``stage``.

    Raises
    ------
    ScheduleError
        ``S101``: no axis; ``S102``: already split or fused; ``S103``: an axis of another stage,
        or of this one before rfactor.
    """
    if not isinstance(axis, Axis):
        raise ScheduleError(f"{primitive}: {axis!r} is not an axis.", code="S101")
    for position, leaf in enumerate(stage.leaf_axes):
        if leaf is axis:
            return position
    for relation in stage.relations:
        if axis in relation.parents:
            made = " and ".join(repr(child.name) for child in relation.children)
            how = "split into" if len(relation.children) > 1 else "fused into"
            raise ScheduleError(
                f"{primitive}: axis {axis.name!r} of stage {stage.name!r} was already {how} "
                f"{made}.",
                code="S102",
                hint="Use one of these." if len(relation.children) > 1 else "Use that.",
            )
    for other in stage.schedule.stages:
        # A reduce_axis object given to a second reduction is copied for that.
        if axis in other.all_axes:
            raise ScheduleError(
                f"{primitive}: axis {axis.name!r} belongs to stage {other.name!r} and not to "
                f"{stage.name!r}.",
                code="S103",
                hint=f"Use s[{stage.name}].op.axis and s[{stage.name}].op.reduce_axis.",
            )
    raise ScheduleError(
        f"{primitive}: axis {axis.name!r} is not part of stage {stage.name!r}.",
        code="S103",
        hint=f"Its leaves are {[a.name for a in stage.leaf_axes]}; after rfactor re-read "
        f"s[{stage.name}].op.axis and s[{stage.name}].op.reduce_axis.",
    )
