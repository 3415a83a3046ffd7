# SPDX-License-Identifier: Apache-2.0
"""fuse: neighbouring loops become one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axisfold.errors import ScheduleError
from axisfold.ir import build
from axisfold.ir.walk import uses
from axisfold.schedule.checks import check_no_place, check_serial, leaf_position
from axisfold.schedule.relations import fused_extent
from axisfold.schedule.stage import Fuse, Singleton, Stage
from axisfold.tensor.axis import Axis, AxisKind, make_axis

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule


def fuse(schedule: Schedule, stage: Stage, *axes: Axis) -> Axis:
    """Make one loop of neighbouring leaves, the first the slowest.

    Before::

        for (i: int32, 0, n) { for (j: int32, 0, 8) { … i … j … } }

    After ``fuse(i, j)``::

        for (i.j.fused: int32, 0, (n*8)) {
          … floordiv(i.j.fused, 8) … floormod(i.j.fused, 8) …
        }

    More than two are fused from the left.  Without axes a loop of one round is put outermost: a
    place to attach a stage to.  A data axis fused with a reduce axis counts as a reduce axis.

    Preconditions
    -------------
    1. Every axis is a leaf of the stage (S101, S102, S103).
    2. They are neighbours; two in reverse order are swapped (S171).
    3. The bounds of none read another of them (S172).
    4. No loop of them is vectorized, unrolled, parallel or bound (S173), and no stage is computed
       at one (S174): either would be lost with the loop.
    5. They are not data and reduce axes of a stage of which a reduce axis is bound (S175).

    Returns
    -------
    Axis
        ``i.j.fused``.
    """
    positions = [leaf_position(stage, axis, "fuse") for axis in axes]
    if not axes:
        return _singleton(stage)
    names = [axis.name for axis in axes]
    if len(axes) == 2 and positions[0] == positions[1] + 1:
        axes, positions = axes[::-1], positions[::-1]
    if positions != list(range(positions[0], positions[0] + len(positions))):
        raise ScheduleError(
            f"fuse of stage {stage.name!r}: axes {names} are not neighbours in this order.",
            code="S171",
            hint=f"Its leaves are {[a.name for a in stage.leaf_axes]}; reorder them first.",
        )
    _check(schedule, stage, axes, names)
    fused = axes[0]
    for inner in axes[1:]:
        fused = _pair(stage, fused, inner)
    return fused


def _check(schedule: Schedule, stage: Stage, axes: tuple[Axis, ...], names: list[str]) -> None:
    inside = frozenset(root.var for axis in axes for root in stage.roots_of(axis))
    for axis in axes:
        ends = [e for root in stage.roots_of(axis) for e in (root.min, root.extent)]
        if len(axes) > 1 and any(uses(end, inside) for end in ends):
            raise ScheduleError(
                f"fuse of stage {stage.name!r}: the bounds of axis {axis.name!r} read another of "
                f"{names}.",
                code="S172",
            )
        if len(axes) > 1:
            check_serial(stage, axis, "fuse", "S173", "Fuse first.")
            check_no_place(schedule, stage, axis, "fuse", "S174", "Fuse first, then compute_at.")
    kinds = {root.kind for axis in axes for root in stage.roots_of(axis)}
    if len(kinds) > 1 and stage.is_cross_thread:
        raise ScheduleError(
            f"fuse of stage {stage.name!r}: axes {names} are data and reduce axes, and threads "
            "reduce the stage.",
            code="S175",
            hint="Keep data axes outside of reduce axes.",
        )


def _singleton(stage: Stage) -> Axis:
    zero, one = build.const(0), build.const(1)
    axis = make_axis("singleton", zero, one, "data")
    stage.relations.append(Singleton(axis))
    stage.leaf_axes.insert(0, axis)
    return axis


def _pair(stage: Stage, outer: Axis, inner: Axis) -> Axis:
    position = stage.leaf_axes.index(outer)
    extent = fused_extent(outer.extent, inner.extent)
    kind: AxisKind = "reduce" if "reduce" in (outer.kind, inner.kind) else "data"
    name = f"{outer.name}.{inner.name}.fused"
    fused = make_axis(name, build.const(0, extent.dtype), extent, kind)
    stage.relations.append(Fuse(outer, inner, fused))
    stage.leaf_axes[position : position + 2] = [fused]
    return fused
