# SPDX-License-Identifier: Apache-2.0
"""The expressions of loop IR: nodes and nothing else.

::

    Expr = Var | Const | Cast | Binary | Compare | Not | Select | IfThenElse | Call
         | Load | Ramp | Broadcast | Reciprocal

Nodes are immutable.  ``==`` is structural equality (constants by dtype and bits, variables by
identity); comparisons *of IR* are the operators ``< <= > >=`` and the methods ``equal`` and
``not_equal``.  Use :mod:`axisfold.ir.build` to make nodes: it checks and folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, NoReturn

import numpy as np

from axisfold.dtypes import BOOL, INT32, DType, Scalar
from axisfold.errors import ExpressionError
from axisfold.ir.operators import Operators

if TYPE_CHECKING:
    from axisfold.ir.buffer import Buffer

BinaryOp = Literal[
    "add", "sub", "mul", "div", "floordiv", "floormod", "truncdiv", "truncmod",
    "min", "max", "and", "or", "bitand", "bitor", "bitxor", "shl", "shr",
]  # fmt: skip
CompareOp = Literal["lt", "le", "gt", "ge", "eq", "ne"]
CacheHint = Literal["", "stream", "volatile"]


class Node:
    """Base of every IR node: children by declaration, and what has been found out about it.

    That is its structural hash, its variables, and that it is simple whatever these may be.
    """

    __slots__ = ("_hash", "_is_simple", "_variables")
    child_fields: ClassVar[tuple[str, ...]] = ()

    def pieces(self) -> list[str | Node]:
        """Return the text of a node that the printer does not know (te's own)."""
        raise NotImplementedError(type(self).__name__)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Node):
            return _refuse_comparison(self, other)
        if type(self) is not type(other):
            return False
        from axisfold.ir.equal import structural_equal

        return structural_equal(self, other)

    def __hash__(self) -> int:
        try:
            return self._hash  # type: ignore[attr-defined, no-any-return]
        except AttributeError:
            from axisfold.ir.equal import structural_hash

            return structural_hash(self)


def separated(nodes: Sequence[Node]) -> list[str | Node]:
    """Return nodes with commas between them."""
    found: list[str | Node] = []
    for node in nodes:
        found += [", ", node] if found else [node]
    return found


def _refuse_comparison(node: Node, other: object) -> bool:
    """Return False, or raise where ``expr == 3`` was meant to build a comparison."""
    if isinstance(node, Expr):
        refuse_number(other)
    return False


def refuse_number(other: object) -> None:
    """Raise where ``x == 3`` was meant to build a comparison.

    Raises
    ------
    ExpressionError
        ``E101``: ``other`` is a number.
    """
    if isinstance(other, (bool, int, float, np.generic)):
        raise ExpressionError(
            f"`==` compares the structure of expressions, and {other!r} is none.",
            code="E101",
            hint=f"Write expr.equal({other!r}) to build a comparison.",
        )


class Expr(Node, Operators):
    """A value: one element or a vector of ``dtype.lanes`` elements."""

    __slots__ = ()
    dtype: DType

    def __bool__(self) -> NoReturn:
        raise ExpressionError(
            "the truth of an expression is not known while a program is being built.",
            code="E102",
            hint="Use te.if_then_else, te.all or te.any in place of if, and, or.",
        )

    def __iter__(self) -> NoReturn:
        raise ExpressionError("an expression is one value, not a sequence.", code="E103")

    def __axisfold_expr__(self) -> Expr:
        return self

    def __str__(self) -> str:
        from axisfold.ir.printer import print_expr

        return print_expr(self)


@dataclass(frozen=True, slots=True, eq=False)
class Var(Expr):
    """A scalar variable, compared by identity.  ``is_size`` promises a value >= 0."""

    name: str
    dtype: DType = INT32
    is_size: bool = False

    def __eq__(self, other: object) -> bool:
        if self is other or isinstance(other, Node):
            return self is other
        return _refuse_comparison(self, other)

    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True, eq=False)
class Const(Expr):
    """A scalar constant, compared by dtype and bits."""

    value: Scalar
    dtype: DType

    def __int__(self) -> int:
        return int(self.value)


@dataclass(frozen=True, slots=True, eq=False)
class Cast(Expr):
    """Conversion; a float becomes an integer by truncation, saturated, NaN as 0."""

    child_fields: ClassVar[tuple[str, ...]] = ("value",)
    value: Expr
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Binary(Expr):
    """``a op b`` on equal dtypes.

    Integers wrap, and only they have bitand, bitor, bitxor, the shifts and the four divisions:
    floordiv and floormod round to −inf, truncdiv and truncmod to zero; a zero divisor gives 0 for
    all four.  shr of a signed integer repeats its sign; a count that is negative or not less than
    the width moves every bit out: 0, or −1 for shr of a negative integer.
    ``div`` is for floats.  min and max let a NaN through and order −0 < +0 (IEEE 754-2019 minimum
    and maximum).  ``and`` and ``or`` are for bool.
    """

    child_fields: ClassVar[tuple[str, ...]] = ("a", "b")
    op: BinaryOp
    a: Expr
    b: Expr
    dtype: DType = field(init=False)

    # Half of all nodes are these, and what a dataclass writes takes twice as long.
    def __init__(self, op: BinaryOp, a: Expr, b: Expr) -> None:
        _put_op(self, op)
        _put_a(self, a)
        _put_b(self, b)
        _put_dtype(self, a.dtype)


_put_op, _put_a, _put_b, _put_dtype = (
    vars(Binary)[name].__set__ for name in ("op", "a", "b", "dtype")
)


@dataclass(frozen=True, slots=True, eq=False)
class Compare(Expr):
    """``a op b`` as bool; false for a NaN, except ``ne``."""

    child_fields: ClassVar[tuple[str, ...]] = ("a", "b")
    op: CompareOp
    a: Expr
    b: Expr
    dtype: DType = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", BOOL.with_lanes(self.a.dtype.lanes))


@dataclass(frozen=True, slots=True, eq=False)
class Not(Expr):
    """Negation of a bool."""

    child_fields: ClassVar[tuple[str, ...]] = ("a",)
    a: Expr
    dtype: DType = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.a.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class Select(Expr):
    """``true_value if condition else false_value``; both are evaluated."""

    child_fields: ClassVar[tuple[str, ...]] = ("condition", "true_value", "false_value")
    condition: Expr
    true_value: Expr
    false_value: Expr
    dtype: DType = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.true_value.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class IfThenElse(Expr):
    """As Select, but only the chosen value is evaluated, so it may guard a load."""

    child_fields: ClassVar[tuple[str, ...]] = ("condition", "true_value", "false_value")
    condition: Expr
    true_value: Expr
    false_value: Expr
    dtype: DType = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.true_value.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class Call(Expr):
    """A pure function of :mod:`axisfold.ir.intrinsics`, or ``likely`` around a tail guard."""

    child_fields: ClassVar[tuple[str, ...]] = ("args",)
    name: str
    args: tuple[Expr, ...]
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False)
class Load(Expr):
    """Read ``buffer`` at a flat offset in the buffer's stride unit.

    ``mask``: lanes of a vector that are read (the others are 0).  ``align``: proven alignment of
    the address in bytes, 0 for that of one element.  ``cache``: how long the line should live;
    ``volatile`` memory is written by other threads meanwhile, and accessed each time.
    ``ahead``: how many bytes after the address memory is asked for what will be read soon, or 0.
    """

    child_fields: ClassVar[tuple[str, ...]] = ("index", "mask")
    buffer: Buffer
    index: Expr
    mask: Expr | None = None
    align: int = 0
    cache: CacheHint = ""
    ahead: int = 0
    dtype: DType = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.buffer.dtype.with_lanes(self.index.dtype.lanes))


@dataclass(frozen=True, slots=True, eq=False)
class Ramp(Expr):
    """The vector ``base, base + stride, …`` of ``lanes`` elements."""

    child_fields: ClassVar[tuple[str, ...]] = ("base", "stride")
    base: Expr
    stride: Expr
    lanes: int
    dtype: DType = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.base.dtype.with_lanes(self.lanes))


@dataclass(frozen=True, slots=True, eq=False)
class Broadcast(Expr):
    """The vector of ``lanes`` copies of a scalar."""

    child_fields: ClassVar[tuple[str, ...]] = ("value",)
    value: Expr
    lanes: int
    dtype: DType = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.value.dtype.with_lanes(self.lanes))


@dataclass(frozen=True, slots=True, eq=False)
class Reciprocal(Expr):
    """One of two numbers that turn division by ``divisor`` >= 1 into a product.

    With l = ceil(log2(divisor)) and b the bits of the unsigned ``dtype``, ``shift`` is l and
    ``multiplier`` is floor(2**b * (2**l - divisor) / divisor) + 1; then for 0 <= n < 2**(b - 1)
    ``n // divisor == (mulhi(n, multiplier) + n) >> shift`` (Granlund and Montgomery, 1994, figure
    4.1).  Only the host evaluates it, before a launch; for a divisor below 1 both are 0.
    """

    child_fields: ClassVar[tuple[str, ...]] = ("divisor",)
    part: Literal["multiplier", "shift"]
    divisor: Expr
    dtype: DType

    def pieces(self) -> list[str | Node]:
        """Return the text."""
        return [f"reciprocal_{self.part}(", self.divisor, f", dtype={self.dtype})"]
