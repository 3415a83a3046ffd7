# SPDX-License-Identifier: Apache-2.0
"""The steps of a schedule as Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from axisfold.ir.expr import Const, Expr, Var
from axisfold.ir.walk import free_vars
from axisfold.schedule.stage import Stage
from axisfold.schedule.steps import Step, threads_of
from axisfold.tensor.axis import Axis, ThreadAxis
from axisfold.tensor.notation import ExprWriter, Names, constant, quoted
from axisfold.tensor.script import GraphScript
from axisfold.tensor.tensor import Operation, Tensor

# These are called on the schedule, with a tensor first.
_OF_SCHEDULE: Final = ("rfactor", "cache_read", "cache_write")


class StepWriter:
    """Writes steps, and names axes, threads and tensors as they appear.

    Parameters
    ----------
    steps
        What to write.
    tensors
        What the first tensor of each operation is called in the program around.
    script
        The program around, if its variables are to be used and new ones declared; otherwise
        variables are called by their own names.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        tensors: Mapping[Operation, str],
        script: GraphScript | None = None,
    ) -> None:
        self.steps, self.script = steps, script
        self.names = Names() if script is None else script.names
        self.names.used |= {n.split("[")[0] for n in tensors.values()}
        for op, name in tensors.items():
            self.names.ops[op] = name.removesuffix("[0]") if op.num_outputs > 1 else name
        self.threads = threads_of(steps)
        self.before: list[str] = []

    def lines(self) -> list[str]:
        """Return all steps, one or more lines each."""
        return [line for step in self.steps for line in self.step(step)]

    def step(self, step: Step) -> list[str]:
        """Return the lines of a step; what its arguments need comes before the call."""
        self.before = []
        for var, (owner, kind, position) in step.places.items():
            self.names.vars[var] = f"{self.stage(owner)}.op.{kind}[{position}]"
        args = [self.value(a) for a in step.args]
        args += [f"{k}={self.value(v)}" for k, v in step.kwargs.items()]
        if step.primitive == "rfactor":
            args.insert(0, self.names.tensor(step.stage.origin_op.output(0)))
        owner_text = "s" if step.primitive in _OF_SCHEDULE else self.stage(step.stage)
        call = f"{owner_text}.{step.primitive}({', '.join(args)})"
        target = self.target(step.result)
        return [*self.before, f"{target} = {call}" if target else call]

    def target(self, result: Any) -> str:
        """Return what stands left of ``=``, naming the results for later steps."""
        if result is None:
            return ""
        items = result if isinstance(result, tuple) else (result,)
        if isinstance(items[0], Tensor):
            op = items[0].op
            name = self.names.ops[op] = self.names.fresh(op.name)
            return f"({name},)" if isinstance(result, tuple) and len(items) == 1 else name
        for axis in items:
            self.names.vars[axis.var] = self.names.fresh(axis.name)
        return ", ".join(self.names.vars[axis.var] for axis in items)

    def stage(self, stage: Stage) -> str:
        """Return ``s[T]``."""
        return f"s[{self.names.tensor(stage.origin_op.output(0))}]"

    def value(self, value: Any) -> str:
        """Return the text of an argument."""
        match value:
            case tuple() | list():
                return f"[{', '.join(map(self.value, value))}]"
            case Stage():
                return self.stage(value)
            case Tensor():
                return self.names.tensor(value)
            case ThreadAxis():
                return self.thread(value)
            case Axis():
                return self.names.vars[value.var]
            case Const():
                return str(value.value) if value.dtype.is_integer else constant(value)
            case Expr():
                return self.expr(value)
            case str():
                return quoted(value)
            case np.integer():
                return str(int(value))
            case _:
                return repr(value)

    def thread(self, thread: ThreadAxis) -> str:
        """Return the name of a thread axis, which is made where it is first named."""
        if thread.var not in self.names.vars:
            name = self.names.vars[thread.var] = self.names.fresh(thread.name)
            parts = [quoted(thread.tag)]
            if thread.extent is not None:
                parts.insert(0, f"(0, {self.expr(thread.extent)})")
            if thread.name != thread.tag:
                parts.append(f"name={quoted(thread.name)}")
            self.before.append(f"{name} = te.thread_axis({', '.join(parts)})")
        return self.names.vars[thread.var]

    def expr(self, root: Expr) -> str:
        """Return the text of an expression over axes, threads and variables."""
        unknown: list[Var] = []
        for var in free_vars(root):
            if var in self.threads:
                self.thread(self.threads[var])
            elif var not in self.names.vars:
                unknown.append(var)
        if self.script is not None:
            self.before += self.script.variables(unknown)
        else:
            self.names.vars.update((var, var.name) for var in unknown)
        writer = ExprWriter(self.names)
        text = writer.bound(root)
        self.before += writer.lines
        return text
