# SPDX-License-Identifier: Apache-2.0
"""The trace of a schedule: every primitive with its arguments, printable as Python."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from axisfold.ir.expr import Const
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis
from axisfold.tensor.tensor import Operation, Tensor

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
        Where arguments that are axes of an operation (rather than results of earlier steps)
        stood at that time: stage, ``axis`` or ``reduce_axis``, position.
    result
        What it returned.
    """

    primitive: str
    stage: Stage
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    places: Mapping[Axis, AxisPlace]
    result: Any


def axis_places(stage: Stage, args: Sequence[Any]) -> dict[Axis, AxisPlace]:
    """Return the places of those arguments that are axes of the operation of a stage given."""
    stages = [stage, *(a for a in args if isinstance(a, Stage))]
    found: dict[Axis, AxisPlace] = {}
    for owner in stages:
        for kind in ("axis", "reduce_axis"):
            for position, axis in enumerate(getattr(owner.op, kind)):
                if any(axis is a for a in args):
                    found[axis] = (owner, kind, position)
    return found


@dataclass(slots=True)
class Trace:
    """The steps of a schedule, in order."""

    steps: list[Step] = field(default_factory=list)

    def as_python(self, names: Mapping[Operation, str]) -> str:
        """Return the steps as Python, one a line.

        Parameters
        ----------
        names
            What each operation's tensor is called in the program that this text joins; stages
            made by rfactor get names of their own.
        """
        writer = _Writer(names)
        return "\n".join(writer.line(step) for step in self.steps)


class _Writer:
    """Writes steps, and names axes and tensors as they appear."""

    def __init__(self, names: Mapping[Operation, str]) -> None:
        self.tensors = dict(names)
        self.axes: dict[Axis, str] = {}
        self.used = {"s", "te", *(n.split("[")[0] for n in names.values())}

    def line(self, step: Step) -> str:
        args = [self.text(step, a) for a in step.args]
        args += [f"{k}={self.text(step, v)}" for k, v in step.kwargs.items()]
        tensor = self.tensors[step.stage.origin_op]
        if step.primitive == "rfactor":
            call = f"s.rfactor({', '.join([tensor, *args])})"
        else:
            call = f"s[{tensor}].{step.primitive}({', '.join(args)})"
        target = self.target(step.result)
        return f"{target} = {call}" if target else call

    def target(self, result: Any) -> str:
        """Return what stands left of ``=``, naming the results for later steps."""
        if result is None:
            return ""
        if isinstance(result, Tensor):
            self.tensors[result.op] = self.fresh(result.op.name)
            return self.tensors[result.op]
        if isinstance(result, Axis):
            result = (result,)
        if isinstance(result[0], Tensor):
            name = self.fresh(result[0].op.name)
            self.tensors[result[0].op] = f"{name}[0]"
            return name
        self.axes.update({axis: self.fresh(axis.name) for axis in result})
        return ", ".join(self.axes[axis] for axis in result)

    def text(self, step: Step, value: Any) -> str:
        if isinstance(value, Stage):
            return f"s[{self.tensors[value.origin_op]}]"
        if isinstance(value, Axis) and value in step.places:
            owner, kind, position = step.places[value]
            return f"s[{self.tensors[owner.origin_op]}].op.{kind}[{position}]"
        if isinstance(value, Axis):
            return self.axes[value]
        return str(value.value) if isinstance(value, Const) else str(value)

    def fresh(self, name: str) -> str:
        base = re.sub(r"\W", "_", name)
        candidate, count = base, 1
        while candidate in self.used:
            candidate, count = f"{base}_{count}", count + 1
        self.used.add(candidate)
        return candidate
