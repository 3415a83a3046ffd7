# SPDX-License-Identifier: Apache-2.0
"""Thread axes of a schedule: one variable for each hardware index, and shared work for all."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping

from axisfold.ir import build
from axisfold.ir.expr import Expr, Var
from axisfold.ir.walk import substitute
from axisfold.lower.regions import StageBounds, enclosing_domains, scope_of, threads_around
from axisfold.schedule.primitives.bind import bind
from axisfold.schedule.primitives.fuse import fuse
from axisfold.schedule.primitives.split import split
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Attachment, Stage
from axisfold.tensor.axis import Axis, ThreadAxis


def copied(schedule: Schedule) -> Schedule:
    """Return a schedule whose stages may be changed without changing the given ones."""
    result = copy.copy(schedule)
    twins: dict[Stage, Stage] = {}
    for stage in schedule.stages:
        twin = copy.copy(stage)
        twin.schedule = result
        twin.leaf_axes, twin.relations = list(stage.leaf_axes), list(stage.relations)
        twin.loop_kinds, twin.bindings = dict(stage.loop_kinds), dict(stage.bindings)
        twin.stops = dict(stage.stops)
        twins[stage] = twin
    for twin in twins.values():
        if twin.attachment is not None:
            place = twin.attachment
            twin.attachment = Attachment(twins[place.stage], place.axis)
        if twin.last_block_of is not None:
            twin.last_block_of = twins[twin.last_block_of]
        twin.stops = {leaf: whole and twins[whole] for leaf, whole in twin.stops.items()}
    result.stages = list(twins.values())
    return result


def with_one_axis_per_tag(schedule: Schedule) -> Schedule:
    """Return a schedule in which loops bound to one tag are bound to one thread axis.

    te scripts make a thread axis where they need one; what counts is its tag.
    """
    first: dict[str, ThreadAxis] = {}
    same: dict[Var, Expr] = {}
    for stage in schedule.stages:
        for thread in stage.bindings.values():
            axis = first.setdefault(thread.tag, thread)
            if axis is not thread:
                same[thread.var] = build.cast(thread.var.dtype, axis.var)
    if not same:
        return schedule
    result = copied(schedule)
    for stage in result.stages:
        stage.bindings = {leaf: first[t.tag] for leaf, t in stage.bindings.items()}
        if stage.store_predicate is not None:
            stage.store_predicate = substitute(stage.store_predicate, same)
    return result


def with_threads_outside(schedule: Schedule) -> Schedule:
    """Return a schedule in which bound reduce loops lie outside of the serial ones.

    Each thread folds its part before threads combine theirs, whatever the order of the leaves.
    Stages inside these loops have to know.
    """

    def leaves(stage: Stage) -> list[Axis]:
        return sorted(
            stage.leaf_axes,
            key=lambda leaf: stage.touches(leaf, "reduce") and leaf not in stage.bindings,
        )

    if all(leaves(s) == s.leaf_axes for s in schedule.stages if s.is_cross_thread):
        return schedule
    result = copied(schedule)
    for stage in result.stages:
        if stage.is_cross_thread:
            stage.leaf_axes = leaves(stage)
    return result


def with_shared_work(schedule: Schedule, bounds: Mapping[Stage, StageBounds]) -> Schedule:
    """Return a schedule in which the threads of a block fill its shared memory together.

    A stage in shared memory whose loops are not bound to threads would be computed by one of them.
    Its data loops are fused, and split over all threads of the block: neighbours take neighbours.
    A vectorized innermost loop stays, so that each thread moves vectors.
    """
    idle = [stage for stage in schedule.stages if _is_idle(stage) and _team(stage, bounds)]
    if not idle:
        return schedule
    names = {id(stage): _team(stage, bounds) for stage in idle}
    positions = [schedule.stages.index(stage) for stage in idle]
    result = copied(schedule)
    for position, stage in zip(positions, idle, strict=True):
        _share(result, result.stages[position], names[id(stage)])
    return result


def with_rounds_for(schedule: Schedule, bounds: Mapping[Stage, StageBounds]) -> Schedule:
    """Return a schedule in which no stage needs more threads than stages around have started.

    A loop that is bound again, inside a loop of fewer rounds, is split: its threads take several
    rounds each, neighbours neighbours; of a reduce axis each thread takes neighbours, in order.
    """
    short = [
        (schedule.stages.index(stage), position, count)
        for stage in schedule.stages
        if stage.op.body
        for position, leaf in enumerate(stage.leaf_axes)
        if (count := _too_few(stage, leaf, bounds))
    ]
    if not short:
        return schedule
    result = copied(schedule)
    for index, position, count in reversed(short):
        _take_rounds(result, result.stages[index], position, count)
    return result


def _too_few(stage: Stage, leaf: Axis, bounds: Mapping[Stage, StageBounds]) -> int:
    """Return how many threads a bound loop finds, if it has more rounds; else 0."""
    thread = stage.bindings.get(leaf)
    around = enclosing_domains(stage, bounds)
    if thread is None or thread.is_block or thread.var not in around:
        return 0
    started = build.as_int(around[thread.var].extent)
    rounds = build.as_int(bounds[stage].extents[leaf])
    return started if started and rounds and rounds > started else 0


def _take_rounds(schedule: Schedule, stage: Stage, position: int, count: int) -> None:
    leaf = stage.leaf_axes[position]
    thread, pragmas = stage.bindings.pop(leaf), stage.pragmas.pop(leaf, None)
    guests = [s for s in schedule.stages if s.attachment and s.attachment.axis is leaf]
    for guest in guests:
        guest.attachment = None
    if stage.touches(leaf, "reduce"):
        bound, inner = split(schedule, stage, leaf, nparts=count)
    else:
        _, inner = split(schedule, stage, leaf, factor=count)
        bound = inner
    stage.bindings[bound] = thread
    if pragmas is not None:
        stage.pragmas[bound] = pragmas
    for guest in guests:
        guest.attachment = Attachment(stage, inner)


def _is_idle(stage: Stage) -> bool:
    """Return whether a stage in shared memory has data loops, outermost, and no threads."""
    if not stage.op.body or stage.attachment is None:
        return False
    if scope_of(stage) not in ("shared", "warp"):
        return False
    if stage.bindings or stage.pragmas or _has_guests(stage):
        return False
    kinds = [stage.touches(leaf, "reduce") for leaf in stage.leaf_axes]
    return bool(stage.op.axis) and kinds == sorted(kinds) and not _is_mixed(stage)


def _is_mixed(stage: Stage) -> bool:
    return any(stage.touches(a, "data") and stage.touches(a, "reduce") for a in stage.leaf_axes)


def _has_guests(stage: Stage) -> bool:
    return any(
        other.attachment is not None and other.attachment.stage is stage
        for other in stage.schedule.stages
    )


def _root(stage: Stage) -> Stage:
    while stage.attachment is not None:
        stage = stage.attachment.stage
    return stage.last_block_of or stage


def _launched(stage: Stage) -> Iterator[Stage]:
    """Yield the stages that run in the launch of a stage."""
    root = _root(stage)
    return (s for s in stage.schedule.stages if s.op.body and _root(s) is root)


def _team(stage: Stage, bounds: Mapping[Stage, StageBounds]) -> dict[str, tuple[ThreadAxis, int]]:
    """Return the thread axes of the launch with their constant extents, x first."""
    found: dict[str, tuple[ThreadAxis, int]] = {}
    if not threads_around(stage):
        return {}
    for other in _launched(stage):
        for leaf, thread in other.bindings.items():
            extent = build.as_int(bounds[other].extents[leaf])
            if thread.is_thread and extent is not None:
                known = found.get(thread.tag, (thread, 1))[1]
                found[thread.tag] = (thread, max(known, extent))
    return dict(sorted(found.items()))


def _share(schedule: Schedule, stage: Stage, team: dict[str, tuple[ThreadAxis, int]]) -> None:
    data = [leaf for leaf in stage.leaf_axes if not stage.touches(leaf, "reduce")]
    if len(data) > 1 and stage.loop_kinds.get(data[-1]) == "vectorized":
        data.pop()
    for leaf in data:
        stage.loop_kinds.pop(leaf, None)
    rest = fuse(schedule, stage, *data) if len(data) > 1 else data[0]
    total = 1
    for _, extent in team.values():
        total *= extent
    _, rest = split(schedule, stage, rest, factor=total)
    for thread, extent in team.values():
        total //= extent
        if total == 1:
            bind(schedule, stage, rest, _undeclared(thread))
            return
        rest, inner = split(schedule, stage, rest, factor=extent)
        bind(schedule, stage, inner, _undeclared(thread))


def _undeclared(thread: ThreadAxis) -> ThreadAxis:
    """Return a thread axis without the extent that it was declared with."""
    return ThreadAxis(thread.var, thread.tag)
