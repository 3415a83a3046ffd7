# SPDX-License-Identifier: Apache-2.0
"""Steps: one applied primitive with its arguments, and where these stood."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from axisfold.ir.expr import Expr, Node, Var
from axisfold.ir.walk import free_vars, rewrite
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis, AxisVar, ThreadAxis
from axisfold.tensor.tensor import Operation, Tensor, TensorLoad

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule

AxisPlace = tuple[Stage, str, int]


@dataclass(frozen=True, slots=True)
class Step:
    """One primitive that was applied.

    Attributes
    ----------
    primitive
        Its name.
    stage
        The stage it was applied to.
    args, kwargs
        What the caller gave.
    places
        Where axes of an operation (rather than results of earlier steps) that the arguments are,
        or read, stood at that time, by variable: stage, ``axis`` or ``reduce_axis``, position.
    result
        What it returned.
    """

    primitive: str
    stage: Stage
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    places: Mapping[Var, AxisPlace]
    result: Any


def flat(values: Any) -> Iterator[Any]:
    """Yield arguments, those in lists and tuples too."""
    if isinstance(values, (tuple, list)):
        for value in values:
            yield from flat(value)
    else:
        yield values


def axis_places(schedule: Schedule, args: Sequence[Any]) -> dict[Var, AxisPlace]:
    """Return the places of those operations' axes that arguments are or read."""
    wanted: set[Var] = set()
    for value in flat(args):
        if isinstance(value, Axis):
            wanted.add(value.var)
        elif isinstance(value, Expr):
            wanted.update(v for v in free_vars(value) if isinstance(v, AxisVar))
    if not wanted:
        return {}
    found: dict[Var, AxisPlace] = {}
    for owner in schedule.stages:
        for kind in ("axis", "reduce_axis"):
            for position, axis in enumerate(getattr(owner.op, kind)):
                if axis.var in wanted:
                    found[axis.var] = (owner, kind, position)
    return found


def threads_of(steps: Iterable[Step]) -> dict[Var, ThreadAxis]:
    """Return the thread axes that steps name, by variable, in order."""
    found: dict[Var, ThreadAxis] = {}
    for step in steps:
        for value in flat((step.args, tuple(step.kwargs.values()))):
            if isinstance(value, ThreadAxis):
                found.setdefault(value.var, value)
    return found


def recorded(schedule: Schedule, value: Any) -> Any:
    """Return an argument as it is recorded: tensors are those that stages were made for.

    rfactor and other primitives replace operations, but a stage keeps its first one.

    Raises
    ------
    ScheduleError
        ``S002``: a tensor is not part of the schedule.
    """
    if isinstance(value, (tuple, list)):
        return type(value)(recorded(schedule, v) for v in value)
    if isinstance(value, Operation):
        return schedule[value].origin_op.output(0)
    if isinstance(value, Tensor):
        return schedule[value].origin_op.output(value.value_index)
    if isinstance(value, Expr):

        def rule(node: Node) -> Node:
            if isinstance(node, TensorLoad):
                return TensorLoad(recorded(schedule, node.tensor), node.indices)
            return node

        return rewrite(value, rule)
    return value
