# SPDX-License-Identifier: Apache-2.0
"""A te graph as Python: a program that builds the same tensors again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from axisfold.ir.build import is_const
from axisfold.ir.combiner import Combiner
from axisfold.ir.expr import Binary, Const, Expr, Var
from axisfold.ir.walk import post_order, uses
from axisfold.tensor import commreduce
from axisfold.tensor.axis import Axis, AxisVar
from axisfold.tensor.compute import ComputeOp
from axisfold.tensor.key import expression_key
from axisfold.tensor.notation import LONGEST, ExprWriter, Names, constant, identifier, quoted
from axisfold.tensor.reduce import Reduce
from axisfold.tensor.tensor import Operation, PlaceholderOp, Tensor

_BUILT_IN = {"sum": commreduce.sum, "max": commreduce.max, "min": commreduce.min}


class GraphScript:
    """Names everything in a graph, and writes it.

    Parameters
    ----------
    args
        Tensors that a kernel's caller binds, in order: ``args`` in the program.
    results
        What is computed.
    """

    def __init__(self, args: Sequence[Tensor], results: Sequence[Tensor]) -> None:
        self.args = args
        self.names = Names()
        self.folds: dict[Combiner, str] = {}
        self.operations = _producers_first(args, results)
        for op in self.operations:
            self._name_parameters(op)
        for op in self.operations:
            self.names.ops[op] = self.names.fresh(op.name)
            for axis in op.reduce_axis:
                self.names.vars[axis.var] = self.names.fresh(axis.name)

    def _name_parameters(self, op: Operation) -> None:
        """Name data axes after their loops: the names are those of a function's parameters."""
        taken: set[str] = set()
        for axis in op.axis:
            name = base = identifier(axis.name)
            while name in taken:
                name = f"{base}_{len(taken)}"
            taken.add(name)
            self.names.vars[axis.var] = name
        self.names.used |= taken

    @property
    def places(self) -> dict[Operation, str]:
        """What stands for each operation in a schedule: its first tensor."""
        return {op: self.names.tensor(op.output(0)) for op in self.names.ops}

    def text(self) -> str:
        """Return the program; running it defines the tensors, and ``args``."""
        variables = self.variables(self._roots())
        body: list[str] = []
        for op in self.operations:
            if isinstance(op, PlaceholderOp):
                body.append(self.placeholder(op))
            elif isinstance(op, ComputeOp):
                body += ["", *self.compute(op)]
        args = ", ".join(self.names.tensor(t) for t in self.args)
        lines = ["from axisfold import te", "", *variables, *body, "", f"args = [{args}]", ""]
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).replace("):\n\n", "):\n")
        return f"import math\n\n{text}" if "math.inf" in text or "math.nan" in text else text

    def _roots(self) -> list[Expr]:
        """Return the expressions of all operations, those of the inputs first."""
        found: list[Expr] = []
        for op in self.operations:
            if isinstance(op, PlaceholderOp):
                found += [*op.shape, *(op.strides or ())]
        for op in self.operations:
            found += [e for a in (*op.axis, *op.reduce_axis) for e in (a.min, a.extent)]
            found += op.body
        return found

    def variables(self, roots: Iterable[Expr]) -> list[str]:
        """Declare the symbolic extents and strides of expressions that have no name yet."""
        inside = {v for r in roots if isinstance(r, Reduce) for v in _state(r)}
        lines = []
        for root in roots:
            for node in post_order(root):
                is_known = node in self.names.vars or node in inside
                if isinstance(node, Var) and not is_known and not isinstance(node, AxisVar):
                    self.names.vars[node] = self.names.fresh(node.name)
                    kind = "size_var" if node.is_size else "var"
                    least = f", least={node.least}" if node.least else ""
                    call = f'te.{kind}({quoted(node.name)}, "{node.dtype}"{least})'
                    lines.append(f"{self.names.vars[node]} = {call}")
        return lines

    def placeholder(self, op: PlaceholderOp) -> str:
        """Write an input with what is known of its memory."""
        parts = [self.tuple(op.shape), f'"{op.dtype}"', quoted(op.name)]
        if op.strides:
            strides = ", ".join(
                str(s.value) if isinstance(s, Const) else self.bound(s) for s in op.strides
            )
            parts += [f"strides=[{strides}]", f'unit="{op.unit}"']
        elif op.strides is not None:
            parts.append("compact=True")
        if op.facts is not None:
            usual = 0 if op.unit == "byte" else op.dtype.itemsize
            if op.facts.align != usual:
                parts.append(f"align={op.facts.align}")
            if op.facts.divisible:
                parts.append(f"divisible={op.facts.divisible}")
        return f"{self.names.ops[op]} = te.placeholder({', '.join(parts)})"

    def tuple(self, exprs: Iterable[Expr]) -> str:
        """Write extents as a tuple."""
        texts = [self.bound(e) for e in exprs]
        return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"

    def bound(self, expr: Expr) -> str:
        """Write an extent or the end of a range."""
        return ExprWriter(self.names, is_inline=True).bound(expr)

    def compute(self, op: ComputeOp) -> list[str]:
        """Write the axes, the reducer and the function of a computation."""
        name = self.names.ops[op]
        axes = [self.names.vars[a.var] for a in op.axis]
        first = op.body[0]
        lines: list[str] = []
        if isinstance(first, Reduce):
            # Bounds that read the function's parameters are written inside it.
            late: list[Axis] = []
            inner: set[Var] = {a.var for a in op.axis}
            for axis in op.reduce_axis:
                if uses(axis.min, inner) or uses(axis.extent, inner):
                    late.append(axis)
                    inner.add(axis.var)
                else:
                    lines.append(self.reduce_axis(axis))
            lines += self.reducer(first.combiner)

            def result(writer: ExprWriter) -> str:
                writer.lines += map(self.reduce_axis, late)
                return self.fold(writer, op, first)
        else:

            def result(writer: ExprWriter) -> str:
                return writer.values(op.body)

        more = f", tag={quoted(op.tag)}" if op.tag else ""
        unpack: list[str] = []
        if axes != [a.name for a in op.axis]:  # loops whose names no parameters can have
            more += f", varargs_names=[{', '.join(quoted(a.name) for a in op.axis)}]"
            unpack, axes = [f"[{', '.join(axes)}] = axes"], ["*axes"]
        lines += self.function(f"{name}_at", axes, unpack, result)
        call = f"te.compute({self.tuple(op.shape)}, \0, name={quoted(op.name)}{more})"
        return _joined(lines, f"{name} = {call}")

    def reduce_axis(self, axis: Axis) -> str:
        """Write a reduce axis by the ends of its range."""
        low, extent = axis.min, axis.extent
        if is_const(low, 0):
            end = extent
        elif isinstance(extent, Binary) and extent.op == "sub" and extent.b == low:
            end = extent.a
        else:
            end = low + extent
        start = "0" if is_const(low, 0) else self.bound(low)
        name = self.names.vars[axis.var]
        return f"{name} = te.reduce_axis(({start}, {self.bound(end)}), {quoted(axis.name)})"

    def reducer(self, combiner: Combiner) -> list[str]:
        """Write ``fold = te.comm_reducer(…)``, unless te has the reducer or it is written."""
        if combiner in self.folds:
            return []
        built_in = _built_in(combiner)
        if built_in is not None:
            self.folds[combiner] = f"te.{built_in}"
            return []
        for var in (*combiner.lhs, *combiner.rhs):
            self.names.vars[var] = self.names.fresh(var.name)
        unpack: list[str] = []
        sides = [[self.names.vars[v] for v in side] for side in (combiner.lhs, combiner.rhs)]
        params = [side[0] for side in sides]
        if len(combiner.lhs) > 1:
            params = ["a", "b"]
            unpack = [f"{', '.join(n)} = {p}" for n, p in zip(sides, params, strict=True)]
        name = self.names.fresh("combine")
        lines = self.function(name, params, unpack, lambda w: w.values(combiner.result))
        facts = sorted(combiner.facts - {"commutative"})
        known = f", facts=[{', '.join(map(quoted, facts))}]" if facts else ""
        if combiner.absorbing:
            known += f", absorbing=lambda *t: {_constants(combiner.absorbing)}"
        self.folds[combiner] = self.names.fresh("fold")
        call = f"te.comm_reducer(\0, lambda *t: {_constants(combiner.identity)}{known})"
        return _joined(lines, f"{self.folds[combiner]} = {call}")

    def fold(self, writer: ExprWriter, op: ComputeOp, reduction: Reduce) -> str:
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
        for var in reduction.combiner.lhs:
            self.names.vars.setdefault(var, self.names.fresh(var.name))
        fields = [self.names.vars[v] for v in reduction.combiner.lhs]
        many = len(fields) > 1
        unpack = [f"{', '.join(fields)} = a"] if many else []
        lines = self.function(
            "absorb", ["a"] if many else fields, unpack, lambda w: w.values(reduction.absorb)
        )
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
            return [f"lambda {', '.join(params)}: {value}".replace("lambda :", "lambda:")]
        body = [f"    {line}".rstrip() for line in (*lines, f"return {_bare(value)}")]
        return ["", f"def {name}({', '.join(params)}):", *body, ""]


def _constants(values: Sequence[Expr]) -> str:
    """Return the text of a state: a value, or a tuple of several."""
    text = ", ".join(constant(e) for e in values if isinstance(e, Const))
    return f"({text})" if len(values) > 1 else text


def _state(reduction: Reduce) -> tuple[Var, ...]:
    return (*reduction.combiner.lhs, *reduction.combiner.rhs)


def _built_in(combiner: Combiner) -> str | None:
    """Return which of te's own reducers a combiner is, its parameters' names included."""
    names = [v.name for v in (*combiner.lhs, *combiner.rhs)]
    if names != ["x", "y"] or combiner.facts != {"commutative"} or combiner.absorbing:
        return None
    key = _combiner_key(combiner)
    for name, reducer in _BUILT_IN.items():
        if _combiner_key(reducer.combiner([combiner.identity[0].dtype])) == key:
            return name
    return None


def _combiner_key(combiner: Combiner) -> object:
    return expression_key([*combiner.lhs, *combiner.rhs, *combiner.result, *combiner.identity])


def _joined(lines: Sequence[str], template: str) -> list[str]:
    r"""Put a lambda, or the name of the def, at \0 in the statement that uses it."""
    last = lines[-1]
    if last.startswith("lambda"):
        return [*lines[:-1], template.replace("\0", last)]
    defined = [line for line in lines if line.startswith("def ")][-1]
    return [*lines, template.replace("\0", defined[4 : defined.index("(")])]


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


def _producers_first(args: Sequence[Tensor], results: Sequence[Tensor]) -> list[Operation]:
    """Return the placeholders in order of the arguments, then the computations."""
    found: dict[Operation, None] = {}
    for tensor in args:
        if isinstance(tensor.op, PlaceholderOp):
            found[tensor.op] = None
    stack = [(t.op, False) for t in reversed(results)]
    while stack:
        op, expanded = stack.pop()
        if expanded:
            found[op] = None
        elif op not in found:
            stack.append((op, True))
            stack += [(t.op, False) for t in reversed(op.input_tensors)]
    return list(found)
