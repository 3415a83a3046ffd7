# SPDX-License-Identifier: Apache-2.0
"""The last block: what it computes when it finds that all others have finished."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from axisfold.analysis.simplify import can_prove, simplify
from axisfold.dtypes import BOOL, INT64, UINT32
from axisfold.errors import ScheduleError
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Expr, Load
from axisfold.ir.stmt import Allocate, Barrier, If, Stmt, Ticket
from axisfold.lower.parts import read_beyond
from axisfold.lower.regions import (
    StageBounds,
    block_leaves,
    grid_leaves,
    root_of,
)
from axisfold.schedule.primitives.compute_at import consumers
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis

if TYPE_CHECKING:
    from axisfold.lower.loops import Nest


class LastBlock:
    """What follows the work of a block: a ticket, and the rest if it was the last.

    Attributes
    ----------
    depth
        How many loops, all over blocks, lie around it.
    perhaps_none
        Leaves over blocks that may have no round; one block of them runs all the same, so that a
        reduction of no elements is finished too.
    guards
        Conditions that such a block has an element.
    """

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.stages = nest.builder.finished_by(nest.stage)
        tags = {t.tag for stage in self.stages for t in stage.bindings.values()}
        leaves = grid_leaves(nest.stage)
        self.depth = len(leaves)
        bindings = nest.stage.bindings
        self.shared = [leaf for leaf in leaves if bindings[leaf].tag in tags]
        self.waiting = [leaf for leaf in leaves if bindings[leaf].tag not in tags]
        extents = nest.bounds.extents
        self.perhaps_none = [a for a in self.waiting if not can_prove(extents[a] >= 1)]
        self.guards: list[Expr] = [
            build.cast(extents[a].dtype, nest.stage.loop_var(a)) < extents[a]
            for a in self.perhaps_none
        ]

    def build(self) -> Stmt:
        """Return the statement that a block runs when its part is in memory."""
        from axisfold.lower.loops import Nest  # noqa: PLC0415  (a nest inside a nest)

        nest, name = self.nest, self.nest.stage.name
        group, groups = self._flat(self.shared)
        _, count = self._flat(self.waiting)
        counter = Buffer(f"{name}.tickets", UINT32, (groups,))
        nest.builder.counters.append(counter)
        is_last = Buffer(f"{name}.is_last", BOOL, (build.const(1),), scope="shared")
        rest = build.seq(*(Nest(nest.builder, stage).build() for stage in self.stages))
        return Allocate(
            is_last,
            build.seq(
                Barrier("block"),  # the thread with the ticket tells what all have written
                Ticket(is_last, counter, group, count),
                Barrier("block"),
                If(Load(is_last, build.const(0)), rest),
            ),
        )

    def _flat(self, leaves: list[Axis]) -> tuple[Expr, Expr]:
        """Return the number of this block among some leaves' blocks, and their count."""
        index: Expr = build.const(0, INT64)
        total: Expr = build.const(1, INT64)
        for leaf in leaves:
            extent = build.cast(INT64, self.nest.builder.lowered(self.nest.bounds.extents[leaf]))
            if leaf in self.perhaps_none:
                extent = simplify(build.maximum(extent, 1))
            index = index * extent + build.cast(INT64, self.nest.stage.loop_var(leaf))
            total = total * extent
        return index, total


def check_places(schedule: Schedule) -> None:
    """Refuse last blocks of which a stage was attached to another one later.

    Raises
    ------
    ScheduleError
        ``S292``: the stage or its producer is not computed at the top level.
    """
    for stage in schedule.stages:
        producer = stage.last_block_of
        if producer is None:
            continue
        for place in (stage, producer):
            if place.attachment is not None:
                raise ScheduleError(
                    f"the last block of stage {producer.name!r} computes {stage.name!r}, but "
                    f"stage {place.name!r} is computed inside {place.attachment.stage.name!r}.",
                    code="S292",
                    hint=f"Use compute_root for {place.name!r}.",
                )


def check_blocks(schedule: Schedule, bounds: Mapping[Stage, StageBounds]) -> None:
    """Refuse folds over blocks that one launch cannot finish.

    Raises
    ------
    ScheduleError
        ``S294``: a reduce axis is bound to blocks without ``last_block``; ``S297``: it is folded
        in a loop, so that blocks would take tickets of several rounds at a time; ``S295``: a loop
        lies outside of the loops over blocks that a last block finishes, or it is bound to others;
        ``S296``: the last block needs what blocks that it does not wait for, or later launches,
        compute.
    """
    for stage in schedule.stages:
        for leaf in block_leaves(stage):
            if stage.touches(leaf, "reduce") and not stage.is_last_block:
                tag = stage.bindings[leaf].tag
                raise ScheduleError(
                    f"reduce axis {leaf.name!r} of stage {stage.name!r} is bound to {tag}, and "
                    "blocks cannot wait for each other.",
                    code="S294",
                    hint=f"Call s[{stage.name}].last_block(): the last block folds what the "
                    "others left. Or factor the axis with rfactor.",
                )
            if stage.touches(leaf, "reduce"):
                _check_no_loop(stage, leaf, bounds[stage])
        if stage.last_block_of is not None:
            _check_order(stage, stage.last_block_of)
            _check_launches(schedule, stage, stage.last_block_of)
            _check_parts(schedule, stage, bounds)


def _check_no_loop(stage: Stage, reduced: Axis, bounds: StageBounds) -> None:
    for leaf in stage.leaf_axes[: stage.leaf_axes.index(reduced)]:
        is_loop = leaf not in stage.bindings and not build.is_const(bounds.extents[leaf], 1)
        if is_loop or stage.attachment is not None:
            around = f"the loop over {leaf.name!r}" if is_loop else "another stage"
            raise ScheduleError(
                f"reduce axis {reduced.name!r} of stage {stage.name!r} is bound to blocks inside "
                f"{around}, where blocks are in different rounds at a time.",
                code="S297",
                hint="Bind the data axes too; or factor the reduction with rfactor and use "
                f"s[{stage.name}].last_block(s[…]).",
            )


def _check_order(stage: Stage, producer: Stage) -> None:
    blocks = grid_leaves(producer)
    reduced = any(producer.touches(leaf, "reduce") for leaf in blocks)
    if not blocks or producer.leaf_axes[: len(blocks)] != blocks or reduced:
        raise ScheduleError(
            f"the last block of stage {producer.name!r} computes {stage.name!r}, but its outermost "
            "loops are not the ones over blocks.",
            code="S295",
            hint="Bind data axes to blockIdx and reorder them outwards.",
        )
    tags = {producer.bindings[leaf].tag for leaf in blocks}
    for leaf in grid_leaves(stage):
        tag = stage.bindings[leaf].tag
        if tag not in tags:
            raise ScheduleError(
                f"axis {leaf.name!r} of stage {stage.name!r} is bound to {tag}, but the last block "
                f"of stage {producer.name!r}, which computes it, is one of "
                f"{', '.join(sorted(tags))}.",
                code="S295",
                hint="Bind it to threads, or bind an axis of both stages to these blocks alike.",
            )


def _check_launches(schedule: Schedule, stage: Stage, producer: Stage) -> None:
    """Refuse a last block that reads what later launches compute."""
    inside = [s for s in schedule.stages if root_of(s) is stage]
    for other in schedule.stages[schedule.stages.index(producer) + 1 :]:
        root = root_of(other)
        if root is stage or root is producer or other.is_inlined:
            continue
        reader = next((s for s in consumers(schedule, other) if s in inside), None)
        if reader is not None:
            raise ScheduleError(
                f"the last block of stage {producer.name!r} computes {reader.name!r}, which reads "
                f"stage {other.name!r}, and that is computed after {producer.name!r}.",
                code="S296",
                hint=f"Use the last block of {other.name!r}, or compute {other.name!r} inside "
                f"{stage.name!r}.",
            )


def _check_parts(schedule: Schedule, stage: Stage, bounds: Mapping[Stage, StageBounds]) -> None:
    """Refuse a last block that reads what other sets of blocks compute."""
    producer = stage.last_block_of
    assert producer is not None  # noqa: S101
    tags = {t.tag for t in stage.bindings.values() if not t.is_thread}
    shared = {
        producer.loop_var(a) for a in grid_leaves(producer) if producer.bindings[a].tag in tags
    }
    if not shared:
        return
    found = read_beyond(schedule, producer, shared, bounds)
    if found is not None:
        raise ScheduleError(
            f"the last block of stage {producer.name!r} computes {stage.name!r}, and "
            f"{found[0].name!r} reads axis {found[1].name!r} of {producer.name!r} beyond what "
            f"blocks with the same {', '.join(sorted(tags))} have computed.",
            code="S296",
            hint="Split and bind this axis in both stages alike.",
        )
