# SPDX-License-Identifier: Apache-2.0
"""A schedule as JSON: the graph that it started from and the steps that were applied."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from axisfold.errors import AxisfoldError, InternalError, ScheduleError
from axisfold.ir.expr import Expr, Node, Var
from axisfold.schedule.stage import Stage
from axisfold.schedule.steps import Step, threads_of
from axisfold.tensor.axis import THREAD_TAGS, Axis, ThreadAxis, thread_axis
from axisfold.tensor.serialize import GraphReader, GraphWriter, Reading, malformed
from axisfold.tensor.tensor import Operation, Tensor

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule

FORMAT: Final = "schedule"
VERSION: Final = 1
_AXIS_KINDS: Final = ("axis", "reduce_axis")


def saved(
    operations: Sequence[Operation], outputs: Sequence[Operation], steps: Sequence[Step]
) -> str:
    """Return a graph and the steps of its schedule as JSON."""
    writer = _StepsWriter(steps)
    for op in operations:
        writer.operation(op)
    rows = [writer.step(step) for step in steps]
    document = {
        "axisfold": FORMAT,
        "version": VERSION,
        "variables": writer.variables,
        "expressions": writer.expressions,
        "operations": writer.operations,
        "outputs": [writer.numbers[op] for op in outputs],
        "threads": writer.threads,
        "steps": rows,
    }
    return json.dumps(document, ensure_ascii=False)


class _StepsWriter(GraphWriter):
    """Writes steps after a graph; stages are numbered as they are made."""

    def __init__(self, steps: Sequence[Step]) -> None:
        super().__init__()
        self.thread_axes = threads_of(steps)
        self.threads: list[Any] = []
        self.thread_numbers: dict[Var, int] = {}
        self.axis_places: dict[Var, list[Any]] = {}
        self.steps = 0

    def step(self, step: Step) -> dict[str, Any]:
        for var, (owner, kind, position) in step.places.items():
            self.axis_places[var] = ["of", self.numbers[owner.origin_op], kind, position]
        row: dict[str, Any] = {
            "primitive": step.primitive,
            "stage": self.numbers[step.stage.origin_op],
            "args": [self.value(a) for a in step.args],
        }
        if step.kwargs:
            row["kwargs"] = {k: self.value(v) for k, v in step.kwargs.items()}
        results = step.result if isinstance(step.result, tuple) else (step.result,)
        for position, result in enumerate(results):
            if isinstance(result, Axis):
                self.axis_places[result.var] = ["made", self.steps, position]
            elif isinstance(result, Tensor) and position == 0:
                self.numbers[result.op] = len(self.numbers)
        self.steps += 1
        return row

    def value(self, value: Any) -> Any:
        """Return an argument as JSON."""
        match value:
            case tuple() | list():
                return [self.value(v) for v in value]
            case Stage():
                return {"stage": self.numbers[value.origin_op]}
            case Tensor():
                return {"tensor": self.tensor(value)}
            case ThreadAxis():
                return {"thread": self.thread(value)}
            case Axis():
                return {"axis": self.axis_places[value.var]}
            case Expr():
                return {"expr": self.expr(value)}
            case np.integer():
                return int(value)
            case None | bool() | int() | str():
                return value
            case _:  # Invariant: no primitive takes anything else.
                raise InternalError(f"a step has the argument {value!r}", code="I105")

    def thread(self, thread: ThreadAxis) -> int:
        """Return the number of a thread axis."""
        if thread.var not in self.thread_numbers:
            extent = None if thread.extent is None else self.expr(thread.extent)
            self.thread_numbers[thread.var] = len(self.threads)
            self.threads.append([thread.tag, thread.name, extent])
        return self.thread_numbers[thread.var]

    def row(self, node: Node) -> list[Any]:
        if isinstance(node, Var) and node in self.axis_places:
            return ["axis", *self.axis_places[node]]
        if isinstance(node, Var) and node in self.thread_axes:
            return ["thread", self.thread(self.thread_axes[node])]
        return super().row(node)


def loaded(
    text: str,
    create: Callable[[Sequence[Operation]], Schedule],
    primitives: Sequence[str],
) -> Schedule:
    """Return the schedule that :func:`saved` wrote.

    Parameters
    ----------
    text
        JSON.
    create
        Makes the default schedule of outputs.
    primitives
        The steps that there may be.

    Raises
    ------
    ScheduleError
        ``S281``: no JSON of a schedule; ``S282``: an unknown version; ``S283``: malformed.  A
        step that is refused raises what its primitive raises.
    """
    document = _document(text)
    try:
        reader = _StepsReader(document, primitives)
        for row in document.at("operations").items():
            reader.operation(row)
        outputs = [r.index(reader.operations) for r in document.at("outputs").items()]
        return reader.replay(create(outputs), document.at("steps"))
    except AxisfoldError:
        raise
    except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError) as error:
        malformed("some step", f"{type(error).__name__}: {error}")


def _document(text: str) -> Reading:
    try:
        value = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise ScheduleError(
            f"this is no JSON: {error}.",
            code="S281",
            hint="Pass the text that s.trace.to_json() returned.",
        ) from error
    if not isinstance(value, dict) or value.get("axisfold") != FORMAT:
        raise ScheduleError(
            "this JSON is no schedule of axisfold.",
            code="S281",
            hint="Pass the text that s.trace.to_json() returned.",
        )
    if value.get("version") != VERSION:
        raise ScheduleError(
            f"the schedule has version {value.get('version')!r}, and this release reads version "
            f"{VERSION}.",
            code="S282",
            hint="Load it with the release that wrote it, print(s.trace), and run that program.",
        )
    return Reading(value, "")


class _StepsReader(GraphReader):
    """Reads steps and applies them."""

    def __init__(self, document: Reading, primitives: Sequence[str]) -> None:
        super().__init__(document)
        self.primitives = primitives
        self.thread_rows = document.at("threads").items()
        self.threads: dict[int, ThreadAxis] = {}
        self.stages: list[Stage] = []
        self.results: list[tuple[Any, ...]] = []
        self.extra = {
            "axis": lambda row: self.axis_at(row, 1).var,
            "thread": lambda row: self.thread(row.at(1)).var,
        }

    def replay(self, schedule: Schedule, steps: Reading) -> Schedule:
        """Apply the steps to a default schedule."""
        self.stages = [schedule[op] for op in self.operations]
        for row in steps.items():
            name = row.at("primitive").one_of(self.primitives)
            args = [self.value(r) for r in row.at("args").items()]
            kwargs = row.at("kwargs").a(dict) if row.has("kwargs") else {}
            given = {k: self.value(row.at("kwargs").at(k)) for k in kwargs}
            stage = row.at("stage").index(self.stages)
            if name == "cache_read" and schedule[args[0]] is not stage:
                malformed(row.where, "the tensor is not of this stage")
            result = schedule.apply(name, stage, *args, **given)
            results = result if isinstance(result, tuple) else (result,)
            self.results.append(results)
            if isinstance(results[0], Tensor):
                self.stages.append(schedule[results[0]])
                self.operations.append(results[0].op)
        return schedule

    def value(self, row: Reading) -> Any:
        """Return an argument."""
        value = row.value
        if isinstance(value, list):
            return [self.value(r) for r in row.items()]
        if not isinstance(value, dict):
            return value
        if row.has("stage"):
            return row.at("stage").index(self.stages)
        if row.has("tensor"):
            op = row.at("tensor").at(0).index(self.operations)
            return row.at("tensor").at(1).index(op.outputs)
        if row.has("thread"):
            return self.thread(row.at("thread"))
        if row.has("axis"):
            return self.axis_at(row.at("axis"), 0)
        return self.expr(row.at("expr"))

    def axis_at(self, row: Reading, first: int) -> Axis:
        """Return an axis by its place in an operation or in the result of a step."""
        how = row.at(first).one_of(("of", "made"))
        if how == "of":
            op = row.at(first + 1).index(self.stages).op
            found: Any = getattr(op, row.at(first + 2).one_of(_AXIS_KINDS))
            axis: Any = row.at(first + 3).index(found)
        else:
            axis = row.at(first + 2).index(row.at(first + 1).index(self.results))
        return axis if isinstance(axis, Axis) else malformed(row.where, "it is no axis")

    def thread(self, row: Reading) -> ThreadAxis:
        """Return a thread axis, always the same for the same number."""
        given = row.index(self.thread_rows)
        if row.value not in self.threads:
            tag, name = given.at(0).one_of(THREAD_TAGS), given.at(1).a(str)
            extent = None if given.at(2).value is None else self.expr(given.at(2))
            self.threads[row.value] = thread_axis(extent, tag, name)
        return self.threads[row.value]
