# SPDX-License-Identifier: Apache-2.0
"""Edges: which index a place of a tile stands for that has memory beyond the edge of its axis."""

from __future__ import annotations

from collections.abc import Mapping

from axisfold.analysis.bounds import Bounds
from axisfold.analysis.simplify import simplify
from axisfold.errors import ScheduleError
from axisfold.ir import build
from axisfold.ir.expr import Expr, Var
from axisfold.schedule.primitives.compute_at import consumers
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Stage
from axisfold.tensor.tensor import Tensor


def indices_of(stage: Stage, places: Mapping[Var, Expr], env: Bounds) -> dict[Var, Expr]:
    """Return the index that a place stands for, for each axis that reaches over its edge.

    A place beyond it stands for the last index.  Groups of places stand for as many neighbours: the
    last of them begins early, and so may share indices with the one before.

    Parameters
    ----------
    stage
        What is computed.
    places
        The place that each variable of the operation stands for.
    env
        Domains of the loops around.
    """
    found: dict[Var, Expr] = {}
    for axis in stage.repeated_axes:
        found[axis.var] = build.minimum(places[axis.var], axis.min + axis.extent - 1)
    for axis, size in stage.shifted_axes.items():
        within = simplify(places[axis.var] % size, env)
        first = simplify(places[axis.var] - within, env)
        found[axis.var] = build.minimum(first, axis.min + axis.extent - size) + within
    return found


def tiles_beyond(schedule: Schedule) -> set[Tensor]:
    """Return the tensors that are tiles with memory, and values, beyond the edge."""
    return {
        tensor
        for stage in schedule.stages
        if stage.repeated_axes or (stage.shifted_axes and not stage.is_output)
        for tensor in (*stage.op.outputs, *stage.origin_op.outputs)
    }


def check_shifts(schedule: Schedule) -> None:
    """Refuse groups that begin early where what two of them share would be wrong.

    Raises
    ------
    ScheduleError
        ``S235``: an output folds in its own memory, twice what two groups share; ``S236``: a stage
        reads a tile by other groups than those that it was computed by.
    """
    for stage in schedule.stages:
        if stage.is_output and stage.shifted_axes and stage.reduction is not None:
            raise ScheduleError(
                f"pragma shift_inwards of stage {stage.name!r}: it is an output and folds in its "
                "own memory, so that what two groups share would be folded twice.",
                code="S235",
                hint="Fold in a stage of its own, as cache_write makes, and read it.",
            )
        for axis, size in stage.shifted_axes.items():
            for consumer in () if stage.is_output else consumers(schedule, stage):
                _check_reads(stage, stage.op.axis.index(axis), size, consumer)


def _check_reads(stage: Stage, position: int, size: int, consumer: Stage) -> None:
    own = {axis.var for axis, n in consumer.shifted_axes.items() if n == size}
    tensors = {id(t) for t in (*stage.op.outputs, *stage.origin_op.outputs)}
    for read in consumer.op.reads:
        if id(read.tensor) in tensors and read.indices[position] not in own:
            raise ScheduleError(
                f"pragma shift_inwards of stage {stage.name!r}: stage {consumer.name!r} reads "
                f"it by other groups than {size} neighbours along axis {position}.",
                code="S236",
                hint=f"Give that axis of {consumer.name!r} the same pragma.",
            )
