# SPDX-License-Identifier: Apache-2.0
"""bind: the rounds of a loop are the threads or blocks of a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from axisfold.errors import ScheduleError
from axisfold.ir import build
from axisfold.ir.walk import uses
from axisfold.schedule.checks import check_data_outside, leaf_position
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis, ThreadAxis

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule


def bind(schedule: Schedule, stage: Stage, axis: Axis, thread: ThreadAxis) -> None:
    """Let a hardware index take the place of a loop.

    Before::

        for (i.inner: int32, 0, 32) { … i.inner … }

    After ``bind(i.inner, te.thread_axis("threadIdx.x"))``::

        attr [IterVar(threadIdx.x…)] "thread_extent" = 32 { … threadIdx.x … }

    Stages that share a thread axis share the threads.  A bound reduce axis makes a cross-thread
    reduction: each thread folds its part, then the parts are combined.

    Preconditions
    -------------
    1. ``axis`` is a leaf of the stage (S101, S102, S103).
    2. ``thread`` is a thread axis (S241).
    3. The axis is not bound, vectorized, unrolled or parallel (S242), and no other leaf of the
       stage is bound to the same tag (S243).
    4. A declared extent of the thread axis is that of the axis, where both are constants (S244).
    5. A bound reduce axis: the reduction has no ``init=`` (S245), and every data axis lies outside
       all reduce axes (S247).  If its reducer is ordered, every thread folds neighbours, and
       threads are combined in order: the reduce axes outside of it are bound already, to units no
       smaller than its own (S246).
    6. The extent of the axis does not read another axis (S248): threads are started once.
    """
    leaf_position(stage, axis, "bind")
    where = f"bind of axis {axis.name!r} of stage {stage.name!r}"
    if not isinstance(thread, ThreadAxis):
        raise ScheduleError(
            f"{where}: {thread!r} is no thread axis.",
            code="S241",
            hint='Make one with te.thread_axis("threadIdx.x").',
        )
    if axis in stage.bindings or axis in stage.loop_kinds or axis in stage.stops:
        now = "to end early" if axis in stage.stops else stage.loop_kinds.get(axis, "")
        now = stage.bindings[axis].tag if axis in stage.bindings else now
        raise ScheduleError(f"{where}: it is {now} already.", code="S242")
    for other, taken in stage.bindings.items():
        if taken.tag == thread.tag:
            raise ScheduleError(
                f"{where}: {thread.tag} is bound to axis {other.name!r}.",
                code="S243",
                hint="Fuse the two axes, or use another tag.",
            )
    declared = None if thread.extent is None else build.as_int(thread.extent)
    extent = build.as_int(axis.extent)
    if declared is not None and extent is not None and declared != extent:
        raise ScheduleError(
            f"{where}: {thread.tag} was declared with extent {declared}, the axis has {extent}.",
            code="S244",
        )
    if uses(axis.extent, frozenset(other.var for other in stage.all_axes)):
        raise ScheduleError(
            f"{where}: its extent depends on another axis, and threads are started once.",
            code="S248",
            hint="Split it by a constant and bind the inner part.",
        )
    if stage.touches(axis, "reduce"):
        _check_reduction(stage, axis, thread, where)
    stage.bindings[axis] = thread


def _check_reduction(stage: Stage, axis: Axis, thread: ThreadAxis, where: str) -> None:
    reduction: Any = stage.reduction
    if reduction.init:
        raise ScheduleError(
            f"{where}: the reduction has init=, which each thread would count.",
            code="S245",
            hint="Fold the start in a stage of its own, or factor the axis first.",
        )
    if reduction.combiner.is_ordered:
        _check_order(stage, axis, thread, where)
    hint = "Reorder the data axes outwards first."
    check_data_outside(stage, stage.leaf_axes, where, "S247", hint)


_UNITS: Final = ("blockIdx", "clusterCtaIdx", "threadIdx")


def _check_order(stage: Stage, axis: Axis, thread: ThreadAxis, where: str) -> None:
    """Refuse threads that would fold an ordered reduction out of order."""
    unit = _UNITS.index(thread.tag.split(".")[0])
    for leaf in stage.leaf_axes[: stage.leaf_axes.index(axis)]:
        if not stage.touches(leaf, "reduce"):
            continue
        outer = stage.bindings.get(leaf)
        if outer is None or _UNITS.index(outer.tag.split(".")[0]) > unit:
            now = "not bound" if outer is None else f"bound to {outer.tag}"
            raise ScheduleError(
                f"{where}: its reducer is ordered, and reduce axis {leaf.name!r} outside of it is "
                f"{now}, so that a thread would fold elements that are no neighbours.",
                code="S246",
                hint="Bind the outermost part of the axis, as split by nparts= makes it.",
            )
