# SPDX-License-Identifier: Apache-2.0
"""Parts: whether threads read only what the same threads, or the same blocks, have computed."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from axisfold.analysis.bounds import Bounds, Domain, environment, symbolic_bounds
from axisfold.analysis.simplify import can_prove
from axisfold.errors import ScheduleError, UnsupportedError
from axisfold.ir import build
from axisfold.ir.expr import Expr, Var
from axisfold.ir.walk import substitute
from axisfold.lower.regions import (
    Region,
    StageBounds,
    enclosing_domains,
    scope_of,
)
from axisfold.schedule.primitives.compute_at import consumers
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis, ThreadAxis


def read_beyond(
    schedule: Schedule,
    producer: Stage,
    shared: Collection[Var],
    bounds: Mapping[Stage, StageBounds],
) -> tuple[Stage, Axis] | None:
    """Return a consumer and an axis of which it reads more than a part of the producer, if any.

    The part is what the producer computes for the same values of the hardware indices ``shared``.
    """
    around, own = enclosing_domains(producer, bounds), bounds[producer].loops
    env = environment({**around, **own})
    inner = set(own) - set(shared)
    made = [_ends(bounds[producer].values[axis.var], env, inner, axis) for axis in producer.op.axis]
    tensors = {id(t) for t in (*producer.op.outputs, *producer.origin_op.outputs)}
    for consumer in consumers(schedule, producer):
        outside = enclosing_domains(consumer, bounds)
        reading = {**outside, **bounds[consumer].loops}
        over = set(reading) - set(shared) - set(around)
        idle = next((v for v in shared if not _runs_within(reading, own, v)), None)
        if idle is not None:
            leaf = next(a for a in producer.leaf_axes if producer.loop_var(a) is idle)
            return consumer, next(iter(producer.roots_of(leaf)), leaf)
        for read in (r for r in consumer.op.reads if id(r.tensor) in tensors):
            for index, (low, high), axis in zip(read.indices, made, producer.op.axis, strict=True):
                place = substitute(index, bounds[consumer].values)
                least, most = _ends(place, environment(reading), over, axis)
                last = build.minimum(most, axis.extent - 1)
                both = environment({**around, **own, **reading})
                inside = can_prove(least >= low, both) and (
                    can_prove(most <= high, both) or can_prove(last <= high, both)
                )
                if not inside:
                    return consumer, axis
    return None


def _runs_within(reading: Mapping[Var, Domain], own: Mapping[Var, Domain], index: Var) -> bool:
    """Return whether only those threads read that have computed something."""
    return index in reading and can_prove(reading[index].extent <= own[index].extent)


def _ends(index: Expr, env: Bounds, over: Collection[Var], axis: Axis) -> tuple[Expr, Expr]:
    try:
        return symbolic_bounds(index, env, set(over))
    except UnsupportedError:
        return axis.min, axis.min + axis.extent - 1


def check_private(schedule: Schedule, bounds: Mapping[Stage, StageBounds]) -> None:
    """Refuse memory of one thread or block that others would have to fill.

    Raises
    ------
    ScheduleError
        ``S300``: a stage in local memory is bound to threads, or one in shared memory to blocks,
        and what one of them computes others read.
    """
    for stage in schedule.stages:
        scope = scope_of(stage)
        if stage.attachment is None or scope not in ("local", "shared", "warp", "cluster"):
            continue
        threads = [
            thread
            for leaf, thread in stage.bindings.items()
            if not stage.touches(leaf, "reduce") and _is_beyond(thread, scope)
        ]
        found = read_beyond(schedule, stage, {t.var for t in threads}, bounds) if threads else None
        if found is not None:
            raise _private(stage, scope, threads, *found)


def own_part(stage: Stage, region: Region) -> Region:
    """Return the part of a region in local memory that one thread computes, and so reads.

    Of an axis that is bound as it is, each thread has one index.
    """
    return tuple(
        (build.cast(low.dtype, stage.bindings[axis].var) + low, build.const(1, extent.dtype))
        if axis in stage.bindings and not stage.bindings[axis].is_block
        else (low, extent)
        for axis, (low, extent) in zip(stage.op.axis, region, strict=True)
    )


def _is_beyond(thread: ThreadAxis, scope: str) -> bool:
    """Return whether threads that differ in an index have memory of a scope for each."""
    return thread.is_block if scope == "cluster" else scope == "local" or not thread.is_thread


def _private(
    stage: Stage, scope: str, threads: list[ThreadAxis], consumer: Stage, axis: Axis
) -> ScheduleError:
    unit = "thread" if scope == "local" else "block"
    tags = ", ".join(sorted(t.tag for t in threads))
    return ScheduleError(
        f"stage {stage.name!r} is in {scope} memory, of which each {unit} has its own, and bound "
        f"to {tags}, but {consumer.name!r} reads axis {axis.name!r} of it beyond what the same "
        f"{unit} computes.",
        code="S300",
        hint="Use set_scope('shared'), or leave it unbound."
        if unit == "thread"
        else f"Bind {consumer.name!r} to {tags} in the same way, or leave {stage.name!r} unbound.",
    )
