# SPDX-License-Identifier: Apache-2.0
"""The trace of a schedule: every primitive with its arguments, printable as Python and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from axisfold.schedule.script import StepWriter
from axisfold.schedule.serialize import saved
from axisfold.schedule.steps import Step
from axisfold.tensor.script import GraphScript
from axisfold.tensor.tensor import Operation, Tensor


@dataclass(slots=True)
class Trace:
    """The steps of a schedule, in order, and the graph that they were applied to.

    ``print`` it to read a program in Python that makes the same schedule again.

    Attributes
    ----------
    operations
        The operations that had a stage at first, producers first.
    outputs
        Those among them that the caller asked for.
    steps
        The primitives.
    """

    operations: tuple[Operation, ...]
    outputs: tuple[Operation, ...]
    steps: list[Step] = field(default_factory=list)

    @property
    def args(self) -> list[Tensor]:
        """The inputs of the graph and the tensors of its outputs: a list to lower it with."""
        inputs = [op.output(0) for op in self.operations if not op.body]
        return [*inputs, *(t for op in self.outputs for t in op.outputs)]

    def __str__(self) -> str:
        script = GraphScript(self.args, [t for op in self.outputs for t in op.outputs])
        return script.text() + "\n" + self.schedule_source(script)

    def to_json(self) -> str:
        """Return graph and steps as JSON; ``te.Schedule.from_json`` is the way back."""
        return saved(self.operations, self.outputs, self.steps)

    def as_python(self, names: Mapping[Operation, str]) -> str:
        """Return the steps as Python, one a line.

        Parameters
        ----------
        names
            What each operation's tensor is called in the program that this text joins; stages
            that the steps make get names of their own.
        """
        return "\n".join(StepWriter(self.steps, names).lines())

    def schedule_source(self, script: GraphScript) -> str:
        """Return ``s = …`` and the steps as Python, to go on from the text of the graph."""
        made = [f"{script.names.tensor(op.output(0))}.op" for op in self.outputs]
        ops = made[0] if len(made) == 1 else f"[{', '.join(made)}]"
        steps = StepWriter(self.steps, script.places, script).lines()
        return "\n".join([f"s = te.create_schedule({ops})", *steps, ""])
