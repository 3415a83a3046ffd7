# SPDX-License-Identifier: Apache-2.0
"""Expressions in te's Python notation, and names that do not collide."""

from __future__ import annotations

import json
import keyword
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from axisfold.dtypes import INT32, DType, Scalar
from axisfold.errors import InternalError
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
from axisfold.ir.walk import post_order
from axisfold.tensor.tensor import Operation, Tensor, TensorLoad

LONGEST: Final = 72  # characters of an expression before parts of it get names
RESERVED: Final = frozenset({"a", "absorb", "args", "axes", "b", "math", "s", "t", "te"})
_OPERATORS: Final[dict[str, tuple[str, int]]] = {
    "add": ("+", 6), "sub": ("-", 6), "mul": ("*", 7), "div": ("/", 7),
    "floordiv": ("//", 7), "floormod": ("%", 7), "shl": ("<<", 5), "shr": (">>", 5),
    "bitand": ("&", 4), "bitxor": ("^", 3), "bitor": ("|", 2),
    "lt": ("<", 1), "le": ("<=", 1), "gt": (">", 1), "ge": (">=", 1),
}  # fmt: skip
_METHODS: Final = {"eq": "equal", "ne": "not_equal"}
_FUNCTIONS: Final = {
    "min": "minimum", "max": "maximum", "and": "all", "or": "any",
    "truncdiv": "truncdiv", "truncmod": "truncmod",
}  # fmt: skip
ATOM: Final = 9


class Names:
    """Python names for the variables, tensors and reducers of a program."""

    def __init__(self) -> None:
        self.used = set(RESERVED)
        self.vars: dict[Var, str] = {}
        self.ops: dict[Operation, str] = {}

    def fresh(self, name: str) -> str:
        """Return an identifier that is not yet used."""
        base = candidate = identifier(name)
        count = 0
        while candidate in self.used:
            count += 1
            candidate = f"{base}_{count}"
        self.used.add(candidate)
        return candidate

    def tensor(self, tensor: Tensor) -> str:
        """Return how a tensor is written: one output of several is an item of a tuple."""
        name = self.ops[tensor.op]
        return f"{name}[{tensor.value_index}]" if tensor.op.num_outputs > 1 else name


class ExprWriter:
    """Writes expressions bottom-up; parts that are long or used twice get names in ``lines``.

    With ``is_inline`` no part gets a name: for bounds, which stand where no line can go before.
    """

    def __init__(self, names: Names, *, is_inline: bool = False) -> None:
        self.names, self.is_inline = names, is_inline
        self.lines: list[str] = []
        self.done: dict[Node, tuple[str, int]] = {}
        self.count = 0

    def values(self, exprs: Sequence[Expr]) -> str:
        """Return one expression, or a tuple of several."""
        uses: Counter[Node] = Counter()
        for root in exprs:
            uses[root] += 1
        for node in _distinct(exprs):
            uses.update(node.children())
        texts = [self.operand(e, uses) for e in exprs]
        return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"

    def operand(self, root: Expr, uses: Counter[Node] | None = None) -> str:
        """Return the text of an expression that stands alone."""
        if uses is None:
            uses = Counter(c for n in _distinct([root]) for c in n.children())
        for node in post_order(root):
            if node in self.done:
                continue
            text, rank = self.write(node)
            is_simple = isinstance(node, (Var, Const, TensorLoad))
            is_long = len(text) > LONGEST and node is not root
            if not is_simple and not self.is_inline and (uses[node] > 1 or is_long):
                text, rank = self.name(text), ATOM
            self.done[node] = text, rank
        return self.done[root][0]

    def name(self, text: str) -> str:
        """Give a part a name of its own."""
        while (name := f"v{self.count}") in self.names.used:
            self.count += 1
        self.count += 1
        self.lines.append(f"{name} = {text}")
        return name

    def within(self, node: Node, rank: int) -> str:
        """Return a part's text, in brackets where an operator around it binds more."""
        text, own = self.done[node]
        return text if own >= rank else f"({text})"

    def pair(self, a: Expr, b: Expr, ranks: tuple[int, int], *, left_number: bool) -> list[str]:
        """Write two operands of one dtype; a constant beside an expression is a plain number."""
        texts = []
        for node, other, rank in ((a, b, ranks[0]), (b, a, ranks[1])):
            text = self.within(node, rank)
            may_be_plain = (left_number or node is b) and not isinstance(other, Const)
            if may_be_plain and isinstance(node, Const) and not node.dtype.is_bool:
                text = _number(node.value, node.dtype)
            texts.append(text)
        return texts

    def index(self, node: Expr) -> str:
        """Write an index or a bound: an int32 is what a plain number there becomes."""
        if isinstance(node, Const) and node.dtype == INT32:
            return str(node.value)
        return self.within(node, 0)

    def bound(self, root: Expr) -> str:
        """Return the text of an extent or of the end of a range."""
        self.operand(root)
        return self.index(root)

    def write(self, node: Node) -> tuple[str, int]:
        """Return a node's text and how strongly it binds; its children are written."""
        match node:
            case Var():
                return self.names.vars[node], ATOM
            case Const():
                return constant(node), ATOM
            case TensorLoad():
                inside = ", ".join(self.index(i) for i in node.indices) or "()"
                return f"{self.names.tensor(node.tensor)}[{inside}]", ATOM
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
                raise InternalError(f"te has no notation for {type(node).__name__}.", code="I104")

    def binary(self, node: Binary) -> tuple[str, int]:
        """Return an operator or the function that stands for it."""
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


def quoted(text: str) -> str:
    """Return a string as a Python literal in double quotes."""
    return json.dumps(text, ensure_ascii=False)


def identifier(name: str) -> str:
    """Return a name with what Python does not allow in one replaced."""
    text = re.sub(r"\W", "_", name) or "_"
    return f"{text}_" if keyword.iskeyword(text) or text[0].isdigit() else text


def _number(value: Scalar, dtype: DType) -> str:
    if not dtype.is_float:
        return str(int(value))
    if math.isfinite(value):
        return repr(float(value))
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    return f"{sign}math.nan" if math.isnan(value) else f"{sign}math.inf"


def constant(node: Const) -> str:
    """Return a constant with its dtype."""
    value = str(bool(node.value)) if node.dtype.is_bool else _number(node.value, node.dtype)
    return f'te.const({value}, "{node.dtype}")'
