# SPDX-License-Identifier: Apache-2.0
"""The expressions of loop IR: nodes and nothing else.

::

    Expr = Var | Const | Cast | Binary | Compare | Not | Select | IfThenElse | Call
         | Load | Ramp | Broadcast | Reciprocal

Nodes are immutable.  ``==`` is structural equality (constants by dtype and bits, variables by
identity); comparisons *of IR* are the operators ``< <= > >=`` and the methods ``equal`` and
``not_equal``.  Use :mod:`axisfold.ir.build` to make nodes: it checks and folds.

Half of what passes make is there already, so that frequent nodes are shared: the same operation on
the same operand objects is the same object, and what has been found out about it is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, NoReturn, Self

import numpy as np

from axisfold.dtypes import BOOL, INT32, DType, Scalar, bit_pattern
from axisfold.errors import ExpressionError
from axisfold.ir.node import Node as Node
from axisfold.ir.node import made, share, shared
from axisfold.ir.operators import Operators

if TYPE_CHECKING:
    from axisfold.ir.buffer import Buffer

BinaryOp = Literal[
    "add", "sub", "mul", "div", "floordiv", "floormod", "truncdiv", "truncmod",
    "min", "max", "and", "or", "bitand", "bitor", "bitxor", "shl", "shr",
]  # fmt: skip
CompareOp = Literal["lt", "le", "gt", "ge", "eq", "ne"]
CacheHint = Literal["", "stream", "volatile"]


def separated(nodes: Sequence[Node]) -> list[str | Node]:
    """Return nodes with commas between them."""
    found: list[str | Node] = []
    for node in nodes:
        found += [", ", node] if found else [node]
    return found


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

    def refuse(self, other: object) -> None:
        """Raise where ``expr == 3`` was meant to build a comparison."""
        refuse_number(other)

    def __str__(self) -> str:
        from axisfold.ir.printer import print_expr

        return print_expr(self)


@dataclass(frozen=True, slots=True, eq=False)
class Var(Expr):
    """A scalar variable, compared by identity.  ``is_size`` promises a value >= ``least``."""

    name: str
    dtype: DType = INT32
    is_size: bool = False
    least: int = 0

    def children(self) -> tuple[Expr, ...]:
        return ()

    def own(self) -> object:
        return self

    def __eq__(self, other: object) -> bool:
        if self is other or isinstance(other, Node):
            return self is other
        self.refuse(other)
        return False

    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True, eq=False)
class Const(Expr):
    """A scalar constant, compared by dtype and bits."""

    value: Scalar
    dtype: DType

    def children(self) -> tuple[Expr, ...]:
        return ()

    def own(self) -> object:
        return self.dtype, bit_pattern(self.value, self.dtype)

    def __int__(self) -> int:
        return int(self.value)


@dataclass(frozen=True, slots=True, eq=False)
class Cast(Expr):
    """Conversion; a float becomes an integer by truncation, saturated, NaN as 0."""

    child_fields: ClassVar[tuple[str, ...]] = ("value",)
    value: Expr
    dtype: DType

    def children(self) -> tuple[Expr, ...]:
        return (self.value,)

    def with_children(self, new: Sequence[Expr]) -> Self:
        return type(self)(new[0], self.dtype)


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
    def __new__(cls, op: BinaryOp, a: Expr, b: Expr) -> Self:
        key = (op, id(a), id(b))
        if (known := shared.get(key)) is not None:
            return known  # type: ignore[no-any-return]
        node = object.__new__(cls)
        _put_op(node, op)
        _put_a(node, a)
        _put_b(node, b)
        _put_dtype(node, a.dtype)
        return share(key, node)

    def children(self) -> tuple[Expr, ...]:
        return self.a, self.b

    def with_children(self, new: Sequence[Expr]) -> Self:
        return type(self)(self.op, new[0], new[1])


_put_op, _put_a, _put_b, _put_dtype = (
    vars(Binary)[name].__set__ for name in ("op", "a", "b", "dtype")
)


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Compare(Expr):
    """``a op b`` as bool; false for a NaN, except ``ne``."""

    child_fields: ClassVar[tuple[str, ...]] = ("a", "b")
    op: CompareOp
    a: Expr
    b: Expr
    dtype: DType = field(init=False)

    def __new__(cls, op: CompareOp, a: Expr, b: Expr) -> Self:
        key = (op, id(a), id(b))
        if (known := shared.get(key)) is not None:
            return known  # type: ignore[no-any-return]
        return made(cls, key, (op, a, b, BOOL.with_lanes(a.dtype.lanes)))

    def children(self) -> tuple[Expr, ...]:
        return self.a, self.b

    def with_children(self, new: Sequence[Expr]) -> Self:
        return type(self)(self.op, new[0], new[1])


@dataclass(frozen=True, slots=True, eq=False)
class Not(Expr):
    """Negation of a bool."""

    child_fields: ClassVar[tuple[str, ...]] = ("a",)
    a: Expr
    dtype: DType = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.a.dtype)

    def children(self) -> tuple[Expr, ...]:
        return (self.a,)

    def with_children(self, new: Sequence[Expr]) -> Self:
        return type(self)(new[0])


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

    def children(self) -> tuple[Expr, ...]:
        return self.condition, self.true_value, self.false_value

    def with_children(self, new: Sequence[Expr]) -> Self:
        return type(self)(*new)


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

    def children(self) -> tuple[Expr, ...]:
        return self.condition, self.true_value, self.false_value

    def with_children(self, new: Sequence[Expr]) -> Self:
        return type(self)(*new)


@dataclass(frozen=True, slots=True, eq=False)
class Call(Expr):
    """A pure function of :mod:`axisfold.ir.intrinsics`, or ``likely`` around a tail guard."""

    child_fields: ClassVar[tuple[str, ...]] = ("args",)
    name: str
    args: tuple[Expr, ...]
    dtype: DType

    def children(self) -> tuple[Expr, ...]:
        return self.args

    def with_children(self, new: Sequence[Expr]) -> Self:
        return type(self)(self.name, tuple(new), self.dtype)


@dataclass(frozen=True, slots=True, eq=False, init=False)
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

    def __new__(
        cls,
        buffer: Buffer,
        index: Expr,
        mask: Expr | None = None,
        align: int = 0,
        cache: CacheHint = "",
        ahead: int = 0,
    ) -> Self:
        key = (id(buffer), id(index), id(mask), align, cache, ahead)
        if (known := shared.get(key)) is not None:
            return known  # type: ignore[no-any-return]
        dtype = buffer.dtype.with_lanes(index.dtype.lanes)
        return made(cls, key, (buffer, index, mask, align, cache, ahead, dtype))

    def children(self) -> tuple[Expr, ...]:
        return (self.index,) if self.mask is None else (self.index, self.mask)

    def with_children(self, new: Sequence[Expr]) -> Self:
        mask = None if self.mask is None else new[1]
        return type(self)(self.buffer, new[0], mask, self.align, self.cache, self.ahead)


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Ramp(Expr):
    """The vector ``base, base + stride, …`` of ``lanes`` elements."""

    child_fields: ClassVar[tuple[str, ...]] = ("base", "stride")
    base: Expr
    stride: Expr
    lanes: int
    dtype: DType = field(init=False)

    def __new__(cls, base: Expr, stride: Expr, lanes: int) -> Self:
        key = ("ramp", id(base), id(stride), lanes)
        if (known := shared.get(key)) is not None:
            return known  # type: ignore[no-any-return]
        return made(cls, key, (base, stride, lanes, base.dtype.with_lanes(lanes)))

    def children(self) -> tuple[Expr, ...]:
        return self.base, self.stride

    def with_children(self, new: Sequence[Expr]) -> Self:
        return type(self)(new[0], new[1], self.lanes)


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Broadcast(Expr):
    """The vector of ``lanes`` copies of a scalar."""

    child_fields: ClassVar[tuple[str, ...]] = ("value",)
    value: Expr
    lanes: int
    dtype: DType = field(init=False)

    def __new__(cls, value: Expr, lanes: int) -> Self:
        key = ("broadcast", id(value), lanes)
        if (known := shared.get(key)) is not None:
            return known  # type: ignore[no-any-return]
        return made(cls, key, (value, lanes, value.dtype.with_lanes(lanes)))

    def children(self) -> tuple[Expr, ...]:
        return (self.value,)

    def with_children(self, new: Sequence[Expr]) -> Self:
        return type(self)(new[0], self.lanes)


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
