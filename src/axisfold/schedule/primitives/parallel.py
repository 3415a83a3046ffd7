# SPDX-License-Identifier: Apache-2.0
"""parallel: the rounds of a data loop are shared among threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axisfold.errors import ScheduleError
from axisfold.schedule.checks import check_unbound, leaf_position
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule


def parallel(schedule: Schedule, stage: Stage, axis: Axis) -> None:
    """Let the threads of the pool share the rounds of a leaf.

    Before::

        for (i: int32, 0, n) { B[i] = 0; for (k: int32, 0, m) { B[i] = B[i] + A[…] } }

    After ``parallel(i)``::

        for (i: int32, 0, n) "parallel" { B[i] = 0; for (k: int32, 0, m) { B[i] = B[i] + A[…] } }

    Threads take runs of neighbouring rounds; memory allocated inside the loop belongs to the
    thread.  Results do not depend on the number of threads
    (:attr:`axisfold.config.Config.threads`), and a loop with little work runs on the calling
    thread alone.

    Only one loop of a nest can be parallel, so further ones are refused here.  Where a primitive
    called later (reorder, compute_at) puts one parallel loop inside another, or inside a
    vectorized or unrolled one, the inner is lowered as a serial loop, and prints as one.

    Preconditions
    -------------
    1. ``axis`` is a leaf of the stage (S101, S102, S103).
    2. It is a data axis (S176): the rounds of a reduce axis update the same element.
    3. No other leaf of the stage is parallel (S177).
    4. The stage is not computed inside a parallel loop of another, and no stage that is computed
       inside the loop of ``axis`` has a parallel loop (S178).
    5. It is not bound (S179).
    """
    position = leaf_position(stage, axis, "parallel")
    if axis.kind == "reduce":
        raise ScheduleError(
            f"parallel of axis {axis.name!r} of stage {stage.name!r}: it is a reduce axis, whose "
            "rounds update the same element.",
            code="S176",
            hint=f"Make it a data axis first: s.rfactor({stage.name}, {axis.name}).",
        )
    for leaf in stage.leaf_axes:
        if leaf is not axis and stage.loop_kinds.get(leaf) == "parallel":
            raise ScheduleError(
                f"parallel of axis {axis.name!r} of stage {stage.name!r}: its axis {leaf.name!r} "
                "is parallel already, and parallel loops do not nest.",
                code="S177",
                hint="Fuse the two axes first, or choose one.",
            )
    around = _parallel_around(stage)
    if around is not None:
        raise ScheduleError(
            f"parallel of axis {axis.name!r} of stage {stage.name!r}: the stage is computed inside "
            f"the parallel loop {around[1].name!r} of stage {around[0].name!r}, and parallel loops "
            "do not nest.",
            code="S178",
            hint="Attach the stage outside of that loop, or leave its own loops serial.",
        )
    inside = _parallel_inside(schedule, stage, position)
    if inside is not None:
        raise ScheduleError(
            f"parallel of axis {axis.name!r} of stage {stage.name!r}: stage {inside[0].name!r} is "
            f"computed inside that loop and its axis {inside[1].name!r} is parallel, and parallel "
            "loops do not nest.",
            code="S178",
            hint=f"Attach {inside[0].name!r} outside of the loop, or choose one of the two.",
        )
    check_unbound(stage, axis, "parallel", "S179")
    stage.loop_kinds[axis] = "parallel"


def _parallel_leaf(stage: Stage, last: int) -> Axis | None:
    """Return the parallel leaf among the first ``last + 1`` of a stage, if there is one."""
    leaves = stage.leaf_axes[: last + 1]
    return next((leaf for leaf in leaves if stage.loop_kinds.get(leaf) == "parallel"), None)


def _parallel_around(stage: Stage) -> tuple[Stage, Axis] | None:
    """Return the parallel loop of another stage that a stage is computed inside."""
    place = stage.attachment
    while place is not None:
        found = _parallel_leaf(place.stage, place.stage.leaf_axes.index(place.axis))
        if found is not None:
            return place.stage, found
        place = place.stage.attachment
    return None


def _parallel_inside(schedule: Schedule, stage: Stage, position: int) -> tuple[Stage, Axis] | None:
    """Return a parallel loop of a stage that is computed inside a loop of ``stage``."""
    for other in schedule.stages:
        place = other.attachment
        while place is not None and place.stage is not stage:
            place = place.stage.attachment
        if place is None or stage.leaf_axes.index(place.axis) < position:
            continue
        found = _parallel_leaf(other, len(other.leaf_axes))
        if found is not None:
            return other, found
    return None
