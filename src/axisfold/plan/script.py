# SPDX-License-Identifier: Apache-2.0
"""A plan as Python: the te computation and the schedule, as a program that builds it again."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from axisfold.ir.build import is_const
from axisfold.ir.combiner import Combiner
from axisfold.ir.expr import Const, Expr, Var
from axisfold.ir.walk import post_order
from axisfold.plan.compose import Graph
from axisfold.plan.notation import LONGEST, ExprWriter, Names, constant, identifier
from axisfold.plan.planner import Plan
from axisfold.tensor.axis import Axis
from axisfold.tensor.commreduce import CommReducer
from axisfold.tensor.compute import ComputeOp
from axisfold.tensor.reduce import Reduce
from axisfold.tensor.tensor import Operation, PlaceholderOp

SAYS_ABSORB: Final = "absorb" in inspect.signature(CommReducer.__call__).parameters


def te_source(graph: Graph) -> str:
    """Return a plan's te computation as Python.

    Running the text defines every tensor under its own name, and ``args`` as the tensors that
    the kernel's caller binds, in order.
    """
    return _Script(graph).text()


def schedule_source(plan: Plan) -> str:
    """Return a plan's schedule as Python; it continues the text of :func:`te_source`."""
    script = _Script(plan.graph)
    lines = [f"s = te.create_schedule({script.names.tensor(plan.graph.results[0])}.op)"]
    lines.append(plan.schedule.trace.as_python(script.places))
    return "\n".join(line for line in lines if line) + "\n"


def plan_source(plan: Plan) -> str:
    """Return te computation and schedule: after it ``axisfold.lower(s, args)`` is the plan's."""
    return te_source(plan.graph) + "\n" + schedule_source(plan)


class _Script:
    """Names everything in a graph, and writes it."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.names = Names()
        self.folds: dict[Combiner, str] = {}
        self.operations = _producers_first(graph)
        for op in self.operations:
            self.names.ops[op] = self.names.fresh(op.name)
            for axis in (*op.axis, *op.reduce_axis):
                if axis.kind == "reduce":
                    self.names.vars[axis.var] = self.names.fresh(axis.name)
                else:
                    # A parameter: its name is that of the loop, and it hides what is outside.
                    self.names.vars[axis.var] = identifier(axis.name)
                    self.names.used.add(self.names.vars[axis.var])

    @property
    def places(self) -> dict[Operation, str]:
        """What stands for each operation in a schedule: its first tensor."""
        return {op: self.names.tensor(op.output(0)) for op in self.names.ops}

    def text(self) -> str:
        variables = self.variables()
        body: list[str] = []
        for op in self.operations:
            if isinstance(op, PlaceholderOp):
                body.append(self.placeholder(op))
            elif isinstance(op, ComputeOp):
                body += ["", *self.compute(op)]
        args = ", ".join(self.names.tensor(t) for t in self.graph.args)
        lines = ["from axisfold import te", "", *variables, *body, "", f"args = [{args}]", ""]
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).replace("):\n\n", "):\n")
        return f"import math\n\n{text}" if "math.inf" in text or "math.nan" in text else text

    def variables(self) -> list[str]:
        """Declare the symbolic extents and strides."""
        lines = []
        for op in self.operations:
            roots = [*op.shape, *(op.strides or ())] if isinstance(op, PlaceholderOp) else []
            for root in roots:
                for node in post_order(root):
                    if isinstance(node, Var) and node not in self.names.vars:
                        self.names.vars[node] = self.names.fresh(node.name)
                        kind = "size_var" if node.is_size else "var"
                        call = f'te.{kind}("{node.name}", "{node.dtype}")'
                        lines.append(f"{self.names.vars[node]} = {call}")
        return lines

    def placeholder(self, op: PlaceholderOp) -> str:
        parts = [self.tuple(op.shape), f'"{op.dtype}"', f'"{op.name}"']
        if op.strides is not None:
            strides = ", ".join(
                str(s.value) if isinstance(s, Const) else self.expr(s) for s in op.strides
            )
            parts += [f"strides=[{strides}]", f'unit="{op.unit}"']
        return f"{self.names.ops[op]} = te.placeholder({', '.join(parts)})"

    def tuple(self, exprs: Iterable[Expr]) -> str:
        texts = [self.expr(e) for e in exprs]
        return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"

    def expr(self, expr: Expr) -> str:
        return ExprWriter(self.names).operand(expr)

    def compute(self, op: ComputeOp) -> list[str]:
        """Write the axes, the reducer and the function of a computation."""
        name = self.names.ops[op]
        axes = [self.names.vars[a.var] for a in op.axis]
        first = op.body[0]
        lines: list[str] = []
        if isinstance(first, Reduce):
            lines += [self.reduce_axis(a) for a in op.reduce_axis]
            lines += self.reducer(first.combiner)
            lines += self.function(f"{name}_at", axes, [], lambda w: self.fold(w, first, op))
        else:
            lines += self.function(f"{name}_at", axes, [], lambda w: w.values(op.body))
        shape = self.tuple(op.shape)
        return _joined(lines, f'{name} = te.compute({shape}, {{}}, name="{op.name}")')

    def reduce_axis(self, axis: Axis) -> str:
        low, high = axis.min, axis.extent
        start = "0" if is_const(low, 0) else self.expr(low)
        end = self.expr(high if is_const(low, 0) else low + high)
        return f'{self.names.vars[axis.var]} = te.reduce_axis(({start}, {end}), "{axis.name}")'

    def reducer(self, combiner: Combiner) -> list[str]:
        """Write ``fold = te.comm_reducer(…)``."""
        for var in (*combiner.lhs, *combiner.rhs):
            self.names.vars[var] = self.names.fresh(var.name)
        unpack: list[str] = []
        names = (
            [self.names.vars[v] for v in combiner.lhs],
            [self.names.vars[v] for v in combiner.rhs],
        )
        params = [side[0] for side in names]
        if len(combiner.lhs) > 1:
            params = ["a", "b"]
            unpack = [f"{', '.join(n)} = {p}" for n, p in zip(names, params, strict=True)]
        start = ", ".join(constant(e) for e in combiner.identity if isinstance(e, Const))
        starts = f"({start})" if len(combiner.identity) > 1 else start
        name = self.names.fresh("combine")
        lines = self.function(name, params, unpack, lambda w: w.values(combiner.result))
        facts = sorted(combiner.facts - {"commutative"})
        note = [f"# The reducer is {', '.join(facts)}."] if facts else []
        self.folds[combiner] = self.names.fresh("fold")
        call = f"{self.folds[combiner]} = te.comm_reducer({{}}, lambda *t: {starts})"
        *before, last = _joined(lines, call)
        return [*before, *note, last]

    def fold(self, writer: ExprWriter, reduction: Reduce, op: ComputeOp) -> str:
        """Write the call of the reducer, and before it what it needs."""
        parts = [writer.values(reduction.source)]
        parts.append(f"axis=[{', '.join(self.names.vars[a.var] for a in op.reduce_axis)}]")
        if not is_const(reduction.condition, True):
            parts.append(f"where={writer.operand(reduction.condition)}")
        if reduction.init:
            parts.append(f"init={writer.values(reduction.init)}")
        plain = reduction.combiner.merge(reduction.combiner.lhs, reduction.source)
        if reduction.absorb and reduction.absorb != plain:
            parts.append(self.absorb(writer, reduction))
        return f"{self.folds[reduction.combiner]}({', '.join(parts)})"

    def absorb(self, writer: ExprWriter, reduction: Reduce) -> str:
        """Write the cheaper update as a function inside the computation's."""
        fields = [self.names.vars[v] for v in reduction.combiner.lhs]
        many = len(fields) > 1
        unpack = [f"{', '.join(fields)} = a"] if many else []
        lines = self.function(
            "absorb", ["a"] if many else fields, unpack, lambda w: w.values(reduction.absorb)
        )
        if not SAYS_ABSORB:
            writer.lines.append("# absorb: cheaper than combine. te's reducers do not take it yet.")
        if lines[0].startswith("lambda"):
            return f"absorb={lines[0]}"
        writer.lines += lines[1:]
        return "absorb=absorb"

    def function(
        self,
        name: str,
        params: Sequence[str],
        unpack: Sequence[str],
        result: Callable[[ExprWriter], str],
    ) -> list[str]:
        """Return a lambda as one line, or the lines of a def where one line is not enough."""
        writer = ExprWriter(self.names)
        value = result(writer)
        lines = [*unpack, *writer.lines]
        if not lines and len(value) <= LONGEST:
            return [f"lambda {', '.join(params)}: {value}"]
        body = [f"    {line}".rstrip() for line in (*lines, f"return {_bare(value)}")]
        return ["", f"def {name}({', '.join(params)}):", *body, ""]


def _joined(lines: Sequence[str], template: str) -> list[str]:
    """Put a lambda, or the name of the def, in its place in the statement that uses it."""
    last = lines[-1]
    if last.startswith("lambda"):
        return [*lines[:-1], template.format(last)]
    defined = [line for line in lines if line.startswith("def ")][-1]
    return [*lines, template.format(defined[4 : defined.index("(")])]


def _bare(value: str) -> str:
    """Drop the brackets of a tuple that stands alone after ``return``."""
    is_tuple = value.startswith("(") and _closes_at_end(value)
    return value[1:-1] if is_tuple else value


def _closes_at_end(text: str) -> bool:
    depth = 0
    for position, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return position == len(text) - 1
    return False


def _producers_first(graph: Graph) -> list[Operation]:
    """Return the placeholders in order of the arguments, then the computations."""
    found: dict[Operation, None] = {}
    for tensor in graph.args:
        if isinstance(tensor.op, PlaceholderOp):
            found[tensor.op] = None
    stack = [(t.op, False) for t in reversed(graph.results)]
    while stack:
        op, expanded = stack.pop()
        if expanded:
            found[op] = None
        elif op not in found:
            stack.append((op, True))
            stack += [(t.op, False) for t in reversed(op.input_tensors)]
    return list(found)
