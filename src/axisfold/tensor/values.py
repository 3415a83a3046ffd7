# SPDX-License-Identifier: Apache-2.0
"""Composite values: complex numbers and compensated sums, written as real expressions.

A reducer's author writes ``a.s + b.s``.  With these classes in the place of ``a.s`` the same
line becomes a complex addition or an error-free one, so that loop IR needs neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from axisfold.dtypes import FLOAT64, DType
from axisfold.errors import ExpressionError
from axisfold.ir import build
from axisfold.ir.expr import Cast, Const, Expr
from axisfold.ir.operators import Operators

# From so many bits on vectors of elements are chosen from as they are.
_CHOSEN_BITS: Final = 32


def masked(mask: Expr, value: Expr, otherwise: Expr) -> Expr:
    """Return a value for elements that a mask lets pass, else a constant.

    The choice comes before a conversion to a wider dtype, as a vector then holds more of them; the
    mask as a number is one already.
    """
    if isinstance(value, Cast) and isinstance(otherwise, Const) and otherwise.value in (0, 1):
        inner = value.value
        if inner == mask and otherwise.value == 0:
            return value
        if _CHOSEN_BITS <= inner.dtype.bits < value.dtype.bits:
            short = build.const(otherwise.value, inner.dtype)
            if build.cast(value.dtype, short) == otherwise:
                return build.cast(value.dtype, build.select(mask, inner, short))
    return build.select(mask, value, otherwise)


class Composite(Operators):
    """Base of values of several components; operators dispatch to ``_apply``."""

    __slots__ = ()
    __axisfold_composite__ = True

    def __add__(self, other: Any) -> Any:
        return self._apply("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._apply("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return self._apply("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._apply("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._apply("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._apply("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._apply("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._apply("div", other, self)

    def __neg__(self) -> Any:
        return self._apply("mul", self, -1)

    def _apply(self, op: str, a: Any, b: Any) -> Any:
        raise NotImplementedError


def two_sum(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Return ``a + b`` and its rounding error, exactly (Knuth, TAOCP 2, 4.2.2 theorem B)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@dataclass(frozen=True, slots=True)
class Pair(Composite):
    """A float64 sum with the running total of its rounding errors.

    Sums of pairs and floats stay pairs, and so does a pair times a float, whose parts are both
    scaled; any other operation first rounds a pair to a float64.
    """

    hi: Expr
    lo: Expr

    def rounded(self) -> Expr:
        """Return the value as one float64.

        After an overflow the error is a NaN and the total is already what IEEE says, so the
        total alone counts.
        """
        return build.select(self.lo.equal(self.lo), self.hi + self.lo, self.hi)

    def __axisfold_expr__(self) -> Expr:
        return self.rounded()

    def __neg__(self) -> Any:
        return _negated(self)

    def __floordiv__(self, other: Any) -> Any:
        return self._apply("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._apply("floordiv", other, self)

    def __mod__(self, other: Any) -> Any:
        return self._apply("floormod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return self._apply("floormod", other, self)

    def equal(self, other: Any) -> Any:
        """Build ``self == other``."""
        return self.rounded().equal(_plain(other))

    def not_equal(self, other: Any) -> Any:
        """Build ``self != other``."""
        return self.rounded().not_equal(_plain(other))

    def __lt__(self, other: Any) -> Any:
        return self.rounded() < other

    def __le__(self, other: Any) -> Any:
        return self.rounded() <= other

    def __gt__(self, other: Any) -> Any:
        return self.rounded() > other

    def __ge__(self, other: Any) -> Any:
        return self.rounded() >= other

    def _apply(self, op: str, a: Any, b: Any) -> Any:
        if isinstance(a, Complex) or isinstance(b, Complex):
            return (a if isinstance(a, Complex) else b)._apply(op, a, b)
        if op == "add":
            (hi, lo), (more_hi, more_lo) = _parts(a), _parts(b)
            total, error = two_sum(hi, more_hi)
            rest = [e for e in (lo, more_lo) if e is not None]
            return Pair(total, (rest[0] if len(rest) == 1 else rest[0] + rest[1]) + error)
        if op == "sub":
            return self._apply("add", a, _negated(b))
        if op == "mul" and isinstance(a, Pair) != isinstance(b, Pair):
            pair, factor = (a, b) if isinstance(a, Pair) else (b, a)
            scale = build.cast(FLOAT64, factor)
            return Pair(pair.hi * scale, pair.lo * scale)
        return build.operator(op, _plain(a), _plain(b))  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    return value.rounded() if isinstance(value, Pair) else value


def as_pair(value: Any) -> Pair:
    """Return ``value`` as a compensated sum."""
    if isinstance(value, Pair):
        return value
    return Pair(build.cast(FLOAT64, value), build.const(0.0, FLOAT64))


def _parts(value: Any) -> tuple[Expr, Expr | None]:
    if isinstance(value, Pair):
        return value.hi, value.lo
    return build.cast(FLOAT64, value), None


def _negated(value: Any) -> Any:
    if isinstance(value, Pair):
        return Pair(value.hi * -1.0, value.lo * -1.0)
    return build.cast(FLOAT64, value) * -1.0


@dataclass(frozen=True, slots=True)
class Complex(Composite):
    """A complex value; ``re`` and ``im`` are expressions or pairs."""

    re: Any
    im: Any

    def __axisfold_expr__(self) -> Expr:
        raise ExpressionError(
            "a complex value stands where a real one is needed.",
            code="E231",
            hint="Use te.real, te.imag or te.abs.",
        )

    def equal(self, other: Any) -> Any:
        """Build ``self == other``."""
        y = as_complex(other)
        return build.all_of(
            [build.as_expr(self.re).equal(y.re), build.as_expr(self.im).equal(y.im)]
        )

    def not_equal(self, other: Any) -> Any:
        """Build ``self != other``; true with a NaN."""
        return build.logical_not(self.equal(other))

    def conjugate(self) -> Complex:
        """Return the value with its imaginary part negated."""
        return Complex(self.re, self.im * -1.0)

    def _apply(self, op: str, a: Any, b: Any) -> Any:
        a = as_complex(a) if isinstance(a, complex) else a
        b = as_complex(b) if isinstance(b, complex) else b
        x, y = as_complex(a), as_complex(b)
        if op == "add":
            return Complex(x.re + y.re, x.im + y.im)
        if op == "sub":
            return Complex(x.re - y.re, x.im - y.im)
        if op == "mul":
            if not isinstance(b, Complex):
                return Complex(x.re * b, x.im * b)
            if not isinstance(a, Complex):
                return Complex(y.re * a, y.im * a)
            return Complex(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re)
        if not isinstance(b, Complex):
            return Complex(x.re / b, x.im / b)
        norm = y.re * y.re + y.im * y.im
        product = x * y.conjugate()
        return Complex(product.re / norm, product.im / norm)


def as_complex(value: Any) -> Complex:
    """Return ``value`` as a complex value."""
    if isinstance(value, Complex):
        return value
    if isinstance(value, complex):
        return Complex(build.const(value.real, FLOAT64), build.const(value.imag, FLOAT64))
    part = value if isinstance(value, Pair) else build.as_expr(value)
    return Complex(part, build.const(0.0, FLOAT64))


Value: TypeAlias = Expr | Pair | Complex


def components(value: Value) -> list[Expr]:
    """Return the real expressions that make up a value, in a fixed order."""
    if isinstance(value, Complex):
        return [*components(value.re), *components(value.im)]
    if isinstance(value, Pair):
        return [value.hi, value.lo]
    return [value]


@dataclass(frozen=True, slots=True)
class Form:
    """How a value of an element type is held: its dtype and whether as compensated pairs."""

    dtype: DType
    is_pair: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Suffixes of the component names."""
        real = ("", "_low") if self.is_pair else ("",)
        if not self.dtype.is_complex:
            return real
        return tuple(f"_re{s}" for s in real) + tuple(f"_im{s}" for s in real)

    @property
    def real(self) -> DType:
        """Dtype of each component."""
        return DType("float", self.dtype.bits // 2) if self.dtype.is_complex else self.dtype

    def assemble(self, parts: Sequence[Expr]) -> Value:
        """Return the value that the components make up."""
        if self.dtype.is_complex:
            half = len(parts) // 2
            inner = Form(self.real, self.is_pair)
            return Complex(inner.assemble(parts[:half]), inner.assemble(parts[half:]))
        return Pair(parts[0], parts[1]) if self.is_pair else parts[0]

    def coerce(self, value: Any) -> Value:
        """Convert anything that a user's function returned to this form."""
        if self.dtype.is_complex:
            whole, inner = as_complex(value), Form(self.real, self.is_pair)
            return Complex(inner.coerce(whole.re), inner.coerce(whole.im))
        if not self.is_pair:
            return build.cast(self.dtype, value)
        if isinstance(value, Pair):
            return value
        return Pair(build.cast(self.dtype, value), build.const(0.0, self.dtype))

    def plain(self, value: Any) -> Value:
        """Convert to this dtype, but leave a plain value plain: adding it is then cheaper."""
        if self.dtype.is_complex:
            whole, inner = as_complex(value), Form(self.real, self.is_pair)
            return Complex(inner.plain(whole.re), inner.plain(whole.im))
        return value if isinstance(value, Pair) else build.cast(self.dtype, value)
