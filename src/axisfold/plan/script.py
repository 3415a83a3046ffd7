# SPDX-License-Identifier: Apache-2.0
"""A plan as Python: the te computation and the schedule, as a program that builds it again."""

from __future__ import annotations

import inspect
import keyword
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from axisfold.dtypes import DType, Scalar
from axisfold.ir.build import is_const
from axisfold.ir.expr import (
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    IfThenElse,
    Node,
    Not,
    Select,
    Var,
)
from axisfold.ir.walk import children, post_order
from axisfold.plan.compose import Graph
from axisfold.plan.planner import Plan
from axisfold.tensor.axis import Axis
from axisfold.tensor.commreduce import CommReducer
from axisfold.tensor.compute import ComputeOp
from axisfold.tensor.reduce import Combiner, Reduce
from axisfold.tensor.tensor import Operation, PlaceholderOp, Tensor, TensorLoad

LONGEST: Final = 72  # characters of an expression before parts of it get names
RESERVED: Final = frozenset({"a", "absorb", "args", "b", "math", "s", "t", "te"})
SAYS_ABSORB: Final = "absorb" in inspect.signature(CommReducer.__call__).parameters

_OPERATORS: Final[dict[str, tuple[str, int]]] = {
    "add": ("+", 5), "sub": ("-", 5), "mul": ("*", 6), "div": ("/", 6),
    "floordiv": ("//", 6), "floormod": ("%", 6),
    "bitand": ("&", 4), "bitxor": ("^", 3), "bitor": ("|", 2),
    "lt": ("<", 1), "le": ("<=", 1), "gt": (">", 1), "ge": (">=", 1),
}  # fmt: skip
_METHODS: Final = {"eq": "equal", "ne": "not_equal"}
_FUNCTIONS: Final = {
    "min": "minimum", "max": "maximum", "and": "all", "or": "any",
    "truncdiv": "truncdiv", "truncmod": "truncmod",
}  # fmt: skip
ATOM: Final = 9


def te_source(graph: Graph) -> str:
    """Return a plan's te computation as Python.

    Running the text defines every tensor under its own name, and ``args`` as the tensors that
    the kernel's caller binds, in order.
    """
    return _Script(graph).text()


def schedule_source(plan: Plan) -> str:
    """Return a plan's schedule as Python; it continues the text of :func:`te_source`."""
    script = _Script(plan.graph)
    lines = [f"s = te.create_schedule({script.tensor(plan.graph.results[0])}.op)"]
    lines.append(plan.schedule.trace.as_python(script.places))
    return "\n".join(line for line in lines if line) + "\n"


def plan_source(plan: Plan) -> str:
    """Return te computation and schedule: after it ``axisfold.lower(s, args)`` is the plan's."""
    return te_source(plan.graph) + "\n" + schedule_source(plan)


class _Script:
    """Names everything in a graph, and writes it."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.used = set(RESERVED)
        self.vars: dict[Var, str] = {}
        self.ops: dict[Operation, str] = {}
        self.folds: dict[Combiner, str] = {}
        self.operations = _producers_first(graph)
        for op in self.operations:
            self.ops[op] = self.fresh(op.name)
            for axis in (*op.axis, *op.reduce_axis):
                if axis.kind == "reduce":
                    self.vars[axis.var] = self.fresh(axis.name)
                else:
                    # A parameter: its name is that of the loop, and it hides what is outside.
                    self.vars[axis.var] = _identifier(axis.name)
                    self.used.add(self.vars[axis.var])

    @property
    def places(self) -> dict[Operation, str]:
        """What stands for each operation in a schedule: its first tensor."""
        return {op: self.tensor(op.output(0)) for op in self.ops}

    def fresh(self, name: str) -> str:
        """Return an identifier that is not yet used."""
        base = candidate = _identifier(name)
        count = 0
        while candidate in self.used:
            count += 1
            candidate = f"{base}_{count}"
        self.used.add(candidate)
        return candidate

    def tensor(self, tensor: Tensor) -> str:
        name = self.ops[tensor.op]
        return f"{name}[{tensor.value_index}]" if tensor.op.num_outputs > 1 else name

    def text(self) -> str:
        variables = self.variables()
        body: list[str] = []
        for op in self.operations:
            if isinstance(op, PlaceholderOp):
                body.append(self.placeholder(op))
            elif isinstance(op, ComputeOp):
                body += ["", *self.compute(op)]
        args = ", ".join(self.tensor(t) for t in self.graph.args)
        lines = ["from axisfold import te", "", *variables, *body, "", f"args = [{args}]", ""]
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines))
        return f"import math\n\n{text}" if "math.inf" in text or "math.nan" in text else text

    def variables(self) -> list[str]:
        """Declare the symbolic extents and strides."""
        lines = []
        for op in self.operations:
            roots = [*op.shape, *(op.strides or ())] if isinstance(op, PlaceholderOp) else []
            for root in roots:
                for node in post_order(root):
                    if isinstance(node, Var) and node not in self.vars:
                        self.vars[node] = self.fresh(node.name)
                        kind = "size_var" if node.is_size else "var"
                        call = f'te.{kind}("{node.name}", "{node.dtype}")'
                        lines.append(f"{self.vars[node]} = {call}")
        return lines

    def placeholder(self, op: PlaceholderOp) -> str:
        parts = [self.tuple(op.shape), f'"{op.dtype}"', f'"{op.name}"']
        if op.strides is not None:
            strides = ", ".join(
                str(s.value) if isinstance(s, Const) else self.expr(s) for s in op.strides
            )
            parts += [f"strides=[{strides}]", f'unit="{op.unit}"']
        return f"{self.ops[op]} = te.placeholder({', '.join(parts)})"

    def tuple(self, exprs: Iterable[Expr]) -> str:
        texts = [self.expr(e) for e in exprs]
        return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"

    def expr(self, expr: Expr) -> str:
        return _Writer(self).operand(expr)

    def compute(self, op: ComputeOp) -> list[str]:
        """Write the axes, the reducer and the function of a computation."""
        name = self.ops[op]
        axes = [self.vars[a.var] for a in op.axis]
        first = op.body[0]
        lines: list[str] = []
        if isinstance(first, Reduce):
            lines += [self.reduce_axis(a) for a in op.reduce_axis]
            lines += self.reducer(first.combiner)
            lines += self.function(f"{name}_at", axes, [], lambda w: self.fold(w, first, op))
        else:
            lines += self.function(f"{name}_at", axes, [], lambda w: w.values(op.body))
        shape = self.tuple(op.shape)
        return _joined(lines, f"{name} = te.compute({shape}, {{}}, name=\"{op.name}\")")

    def reduce_axis(self, axis: Axis) -> str:
        low = "0" if is_const(axis.min, 0) else self.expr(axis.min)
        high = axis.extent if is_const(axis.min, 0) else axis.min + axis.extent
        return f'{self.vars[axis.var]} = te.reduce_axis(({low}, {self.expr(high)}), "{axis.name}")'

    def reducer(self, combiner: Combiner) -> list[str]:
        """Write ``fold = te.comm_reducer(…)``."""
        for var in (*combiner.lhs, *combiner.rhs):
            self.vars[var] = self.fresh(var.name)
        unpack: list[str] = []
        names = [self.vars[v] for v in combiner.lhs], [self.vars[v] for v in combiner.rhs]
        params = [side[0] for side in names]
        if len(combiner.lhs) > 1:
            params = ["a", "b"]
            unpack = [f"{', '.join(n)} = {p}" for n, p in zip(names, params, strict=True)]
        start = ", ".join(_const(e) for e in combiner.identity if isinstance(e, Const))
        starts = f"({start})" if len(combiner.identity) > 1 else start
        name = self.fresh("combine")
        lines = self.function(name, params, unpack, lambda w: w.values(combiner.result))
        facts = sorted(combiner.facts - {"commutative"})
        note = [f"# The reducer is {', '.join(facts)}."] if facts else []
        self.folds[combiner] = self.fresh("fold")
        call = f"{self.folds[combiner]} = te.comm_reducer({{}}, lambda *t: {starts})"
        return [*note, *_joined(lines, call)]

    def fold(self, writer: _Writer, reduction: Reduce, op: ComputeOp) -> str:
        """Write the call of the reducer, and before it what it needs."""
        parts = [writer.values(reduction.source)]
        parts.append(f"axis=[{', '.join(self.vars[a.var] for a in op.reduce_axis)}]")
        if not is_const(reduction.condition, True):
            parts.append(f"where={writer.operand(reduction.condition)}")
        if reduction.init:
            parts.append(f"init={writer.values(reduction.init)}")
        plain = reduction.combiner.merge(reduction.combiner.lhs, reduction.source)
        if reduction.absorb and reduction.absorb != plain:
            parts.append(self.absorb(writer, reduction))
        return f"{self.folds[reduction.combiner]}({', '.join(parts)})"

    def absorb(self, writer: _Writer, reduction: Reduce) -> str:
        """Write the cheaper update as a function inside the computation's."""
        fields = [self.vars[v] for v in reduction.combiner.lhs]
        many = len(fields) > 1
        unpack = [f"{', '.join(fields)} = a"] if many else []
        lines = self.function(
            "absorb", ["a"] if many else fields, unpack, lambda w: w.values(reduction.absorb)
        )
        if lines[0].startswith("lambda"):
            return f"absorb={lines[0]}"
        writer.lines += lines
        return "absorb=absorb"

    def function(
        self,
        name: str,
        params: Sequence[str],
        unpack: Sequence[str],
        result: Callable[[_Writer], str],
    ) -> list[str]:
        """Return a lambda as one line, or the lines of a def where one line is not enough."""
        writer = _Writer(self)
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


class _Writer:
    """Writes expressions bottom-up; parts that are long or used twice get names in ``lines``."""

    def __init__(self, script: _Script) -> None:
        self.script = script
        self.lines: list[str] = []
        self.done: dict[Node, tuple[str, int]] = {}
        self.count = 0

    def values(self, exprs: Sequence[Expr]) -> str:
        """Return one expression, or a tuple of several."""
        uses: Counter[Node] = Counter()
        for root in exprs:
            uses[root] += 1
        for node in _distinct(exprs):
            uses.update(children(node))
        texts = [self.operand(e, uses) for e in exprs]
        return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"

    def operand(self, root: Expr, uses: Counter[Node] | None = None) -> str:
        """Return the text of an expression that stands alone."""
        if uses is None:
            uses = Counter(c for n in _distinct([root]) for c in children(n))
        for node in post_order(root):
            if node in self.done:
                continue
            text, rank = self.write(node)
            is_simple = isinstance(node, (Var, Const, TensorLoad))
            if not is_simple and (uses[node] > 1 or len(text) > LONGEST):
                text, rank = self.name(text), ATOM
            self.done[node] = text, rank
        return self.done[root][0]

    def name(self, text: str) -> str:
        while (name := f"v{self.count}") in self.script.used:
            self.count += 1
        self.count += 1
        self.lines.append(f"{name} = {text}")
        return name

    def within(self, node: Node, rank: int) -> str:
        text, own = self.done[node]
        return text if own >= rank else f"({text})"

    def pair(self, a: Expr, b: Expr, ranks: tuple[int, int], *, left_number: bool) -> list[str]:
        """Write two operands of one dtype; a constant beside an expression is a plain number."""
        texts = []
        for node, other, rank in ((a, b, ranks[0]), (b, a, ranks[1])):
            plain = isinstance(node, Const) and not isinstance(other, Const)
            if plain and not node.dtype.is_bool and (left_number or node is b):
                assert isinstance(node, Const)
                texts.append(_number(node.value, node.dtype))
            else:
                texts.append(self.within(node, rank))
        return texts

    def write(self, node: Node) -> tuple[str, int]:
        match node:
            case Var():
                return self.script.vars[node], ATOM
            case Const():
                return _const(node), ATOM
            case TensorLoad():
                inside = ", ".join(self.within(i, 0) for i in node.indices) or "()"
                return f"{self.script.tensor(node.tensor)}[{inside}]", ATOM
            case Cast():
                return f'te.cast("{node.dtype}", {self.within(node.value, 0)})', ATOM
            case Binary():
                return self.binary(node)
            case Compare(op, a, b) if op in _METHODS:
                left, right = self.pair(a, b, (ATOM, 0), left_number=False)
                return f"{left}.{_METHODS[op]}({right})", ATOM
            case Compare(op, a, b):
                sign, rank = _OPERATORS[op]
                left, right = self.pair(a, b, (rank + 1, rank + 1), left_number=False)
                return f"{left} {sign} {right}", rank
            case Not():
                return f"~{self.within(node.a, ATOM)}", 8
            case Select() | IfThenElse():
                function = "select" if isinstance(node, Select) else "if_then_else"
                pair = self.pair(node.true_value, node.false_value, (0, 0), left_number=True)
                return f"te.{function}({self.within(node.condition, 0)}, {', '.join(pair)})", ATOM
            case Call():
                inside = ", ".join(self.within(a, 0) for a in node.args)
                return f"te.{node.name}({inside})", ATOM
            case _:
                raise TypeError(f"te has no notation for {type(node).__name__}")

    def binary(self, node: Binary) -> tuple[str, int]:
        if node.op in _FUNCTIONS:
            if node.op in ("and", "or"):
                parts = [self.within(part, 0) for part in self.chain(node)]
            else:
                parts = self.pair(node.a, node.b, (0, 0), left_number=True)
            return f"te.{_FUNCTIONS[node.op]}({', '.join(parts)})", ATOM
        sign, rank = _OPERATORS[node.op]
        left, right = self.pair(node.a, node.b, (rank, rank + 1), left_number=True)
        return f"{left} {sign} {right}", rank

    def chain(self, node: Binary) -> list[Expr]:
        """Return the operands of ``a and b and …``, as far as no part of it has a name."""
        parts: list[Expr] = [node.b]
        left = node.a
        while isinstance(left, Binary) and left.op == node.op and self.done[left][0][:3] == "te.":
            parts.append(left.b)
            left = left.a
        return [left, *reversed(parts)]


def _distinct(roots: Iterable[Expr]) -> list[Node]:
    """Return the nodes below some roots, those of equal structure once."""
    return list(dict.fromkeys(node for root in roots for node in post_order(root)))


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


def _identifier(name: str) -> str:
    text = re.sub(r"\W", "_", name) or "_"
    return f"{text}_" if keyword.iskeyword(text) or text[0].isdigit() else text


def _number(value: Scalar, dtype: DType) -> str:
    if not dtype.is_float:
        return str(int(value))
    if math.isfinite(value):
        return repr(float(value))
    return "math.nan" if math.isnan(value) else "math.inf" if value > 0 else "-math.inf"


def _const(node: Const) -> str:
    value = str(bool(node.value)) if node.dtype.is_bool else _number(node.value, node.dtype)
    return f'te.const({value}, "{node.dtype}")'
