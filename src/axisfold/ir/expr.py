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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NoReturn, Self, TypeVar

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

    That is its structural hash, its variables, that it is simple whatever these may be, and its
    normal forms.
    """

    __slots__ = ("_expanded", "_hash", "_is_simple", "_linear", "_variables")
    child_fields: ClassVar[tuple[str, ...]] = ()

    def pieces(self) -> list[str | Node]:
        """Return the text of a node that the printer does not know (te's own)."""
        raise NotImplementedError(type(self).__name__)

    def __getnewargs__(self) -> tuple[object, ...]:
        """Return what copies and pickles of a node are made of."""
        return tuple(getattr(self, f.name) for f in fields(self) if f.init)  # type: ignore[arg-type]

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


T = TypeVar("T", bound="Expr")
_new: Final = object.__new__
# Shared nodes by what they are made of; operands by their identities, since nodes keep them alive.
_shared: Final[dict[tuple[object, ...], Any]] = {}
# Those of a plan are forgotten once it is made, and others when there are so many.
_MOST_SHARED: Final = 1 << 15


def _share(key: tuple[object, ...], node: Expr) -> None:
    if len(_shared) >= _MOST_SHARED:
        _shared.clear()
    _shared[key] = node


def _made(cls: type[T], key: tuple[object, ...], values: tuple[object, ...]) -> T:
    """Return a new node with the values of its fields, to be shared."""
    node = _new(cls)
    for put, value in zip(_setters[cls], values, strict=True):
        put(node, value)
    _share(key, node)
    return node


def forget_shared() -> None:
    """Let go of all shared nodes; what is made from now on are other objects, equal to them."""
    _shared.clear()


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
    def __new__(cls, op: BinaryOp, a: Expr, b: Expr) -> Self:
        """Return the node, one object for all that are made of the same."""
        key = (op, id(a), id(b))
        if (known := _shared.get(key)) is not None:
            return known  # type: ignore[no-any-return]
        node = _new(cls)
        _put_op(node, op)
        _put_a(node, a)
        _put_b(node, b)
        _put_dtype(node, a.dtype)
        _share(key, node)
        return node


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
        """Return the node, one object for all that are made of the same."""
        key = (op, id(a), id(b))
        if (known := _shared.get(key)) is not None:
            return known  # type: ignore[no-any-return]
        return _made(cls, key, (op, a, b, BOOL.with_lanes(a.dtype.lanes)))


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
        """Return the node, one object for all that are made of the same."""
        key = (id(buffer), id(index), id(mask), align, cache, ahead)
        if (known := _shared.get(key)) is not None:
            return known  # type: ignore[no-any-return]
        dtype = buffer.dtype.with_lanes(index.dtype.lanes)
        return _made(cls, key, (buffer, index, mask, align, cache, ahead, dtype))


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Ramp(Expr):
    """The vector ``base, base + stride, …`` of ``lanes`` elements."""

    child_fields: ClassVar[tuple[str, ...]] = ("base", "stride")
    base: Expr
    stride: Expr
    lanes: int
    dtype: DType = field(init=False)

    def __new__(cls, base: Expr, stride: Expr, lanes: int) -> Self:
        """Return the node, one object for all that are made of the same."""
        key = ("ramp", id(base), id(stride), lanes)
        if (known := _shared.get(key)) is not None:
            return known  # type: ignore[no-any-return]
        return _made(cls, key, (base, stride, lanes, base.dtype.with_lanes(lanes)))


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Broadcast(Expr):
    """The vector of ``lanes`` copies of a scalar."""

    child_fields: ClassVar[tuple[str, ...]] = ("value",)
    value: Expr
    lanes: int
    dtype: DType = field(init=False)

    def __new__(cls, value: Expr, lanes: int) -> Self:
        """Return the node, one object for all that are made of the same."""
        key = ("broadcast", id(value), lanes)
        if (known := _shared.get(key)) is not None:
            return known  # type: ignore[no-any-return]
        return _made(cls, key, (value, lanes, value.dtype.with_lanes(lanes)))


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


_setters: Final[dict[type[Expr], list[Callable[[Expr, object], None]]]] = {
    cls: [vars(cls)[f.name].__set__ for f in fields(cls)]
    for cls in (Compare, Load, Ramp, Broadcast)
}
