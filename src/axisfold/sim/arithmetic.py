# SPDX-License-Identifier: Apache-2.0
"""What each operation of an expression computes, on NumPy arrays of any shape.

``docs/semantics.md`` says the same in words.  An array holds values of one dtype as
:attr:`axisfold.dtypes.DType.stored` names it; operands broadcast against each other.  A bfloat16
is computed in float32 and rounded, which is as good as rounding the exact result: float32 has more
than twice its digits, and the same exponents.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from axisfold.bfloat16 import bits_of, value_of
from axisfold.dtypes import FLOAT32, DType, Scalar, highest, lowest
from axisfold.ir.expr import BinaryOp, CompareOp
from axisfold.ir.intrinsics import SHORT_LIFT

Array = NDArray[Any]

_quiet = np.errstate(all="ignore")


@_quiet
def binary(op: BinaryOp, a: Array, b: Array, dtype: DType) -> Array:
    """Return ``a op b`` of operands of one dtype.

    Parameters
    ----------
    op
        Operation, legal for ``dtype`` by :mod:`axisfold.ir.verify`.
    a, b
        Operands, of any broadcastable shapes.
    dtype
        Dtype of the operands and of the result.

    Returns
    -------
    array
        Of the broadcast shape and of ``dtype``.
    """
    if dtype.is_bool:
        return _LOGIC[op](a, b)
    if dtype.kind == "bfloat":
        return bits_of(binary(op, value_of(a), value_of(b), FLOAT32))
    result: Array = (_FLOATS if dtype.is_float else _INTEGERS)[op](a, b)
    return result


@_quiet
def compare(op: CompareOp, a: Array, b: Array, dtype: DType) -> Array:
    """Return ``a op b`` of operands of a dtype: false beside a NaN, except for ``ne``."""
    if dtype.kind == "bfloat":
        a, b = value_of(a), value_of(b)
    result: Array = _COMPARISONS[op](a, b)
    return result


def logical_not(a: Array) -> Array:
    """Return the negation of truth values."""
    result: Array = np.logical_not(a)
    return result


def select(c: Array, a: Array, b: Array) -> Array:
    """Return ``a`` where the truth value ``c`` holds and ``b`` elsewhere."""
    return np.where(c, a, b)


@_quiet
def cast(values: Array, source: DType, target: DType) -> Array:
    """Return values of dtype ``source`` as values of dtype ``target``.

    To bool: whether it differs from 0 (a NaN does).  To a float: rounded once, to nearest, ties
    to even.  Between integers: wrapped.  A float to an integer: without its fraction, saturated
    at the ends of the range, 0 for a NaN.
    """
    if source.kind == "bfloat":
        values, source = value_of(values), FLOAT32
    if target.kind == "bfloat":
        return bits_of(values)
    if target.is_bool:
        differs: Array = values != 0
        return differs
    if source.is_float and target.is_integer:
        return _saturated(values, target)
    return values.astype(target.stored)


def constant(value: Scalar, dtype: DType) -> Array:
    """Return an array of one element."""
    if dtype.kind == "bfloat":
        return bits_of(np.array([value], np.float32))
    return np.array([value], dtype.stored)


@_quiet
def call(name: str, args: Sequence[Array], dtype: DType) -> Array:
    """Return a function of :mod:`axisfold.ir.intrinsics`.

    Parameters
    ----------
    name
        Name of the function.
    args
        Arguments of one dtype.
    dtype
        Dtype of the arguments.

    Returns
    -------
    array
        Of the function's dtype.  Functions that IEEE 754 does not define exactly are computed in
        float64 and rounded, far within the bounds that ``docs/semantics.md`` states.
    """
    if dtype.kind == "bfloat":
        result = call(name, [value_of(a) for a in args], FLOAT32)
        return result if result.dtype == np.bool_ else bits_of(result)
    if name in _EXACT:
        return np.asarray(_EXACT[name](*args))
    wide = [a.astype(np.float64) for a in args]
    return np.asarray(_ROUNDED[name](*wide)).astype(dtype.stored)


def _saturated(values: Array, target: DType) -> Array:
    least, most = int(lowest(target)), int(highest(target))
    wide = values.astype(np.float64)  # exact
    is_low, is_high = wide <= least, wide >= most + 1
    inside = ~(is_low | is_high | np.isnan(wide))
    widest = np.uint64 if target.kind == "uint" else np.int64
    kept = np.where(inside, wide, 0.0).astype(widest).astype(target.stored)
    ends = np.where(is_high, most, least).astype(target.stored)
    return np.where(is_low | is_high, ends, kept)


def _minimum(a: Array, b: Array) -> Array:
    least = np.where(np.signbit(a), a, b)  # of two equal numbers: only zeros differ
    return np.where(a == b, least, np.minimum(a, b))


def _maximum(a: Array, b: Array) -> Array:
    most = np.where(np.signbit(a), b, a)
    return np.where(a == b, most, np.maximum(a, b))


def _by_divisor(divide: Callable[[Array, Array], Array], a: Array, b: Array) -> Array:
    """Divide where the divisor is neither 0 nor −1: NumPy warns of them, and 0 by 1 is 0."""
    return divide(a, np.where(_is_special(b), b.dtype.type(1), b))


def _is_special(b: Array) -> Array:
    is_zero: Array = b == 0
    return is_zero | (b == -1) if b.dtype.kind == "i" else is_zero


def _quotient(divide: Callable[[Array, Array], Array], a: Array, b: Array) -> Array:
    zero = b.dtype.type(0)
    special = np.where(b == 0, zero, zero - a)  # −1: wraps for the least integer
    return np.where(_is_special(b), special, _by_divisor(divide, a, b))


def _floordiv(a: Array, b: Array) -> Array:
    return _quotient(np.floor_divide, a, b)


def _floormod(a: Array, b: Array) -> Array:
    return np.where(_is_special(b), b.dtype.type(0), _by_divisor(np.remainder, a, b))


def _truncdiv(a: Array, b: Array) -> Array:
    # Without the remainder the division is exact, so that it does not matter where it rounds to.
    return _quotient(lambda x, y: np.floor_divide(x - np.fmod(x, y), y), a, b)


def _truncmod(a: Array, b: Array) -> Array:
    return np.where(_is_special(b), b.dtype.type(0), _by_divisor(np.fmod, a, b))


def _shl(a: Array, b: Array) -> Array:
    inside, count = _shift_count(b)
    return np.where(inside, np.left_shift(a, count), a.dtype.type(0))


def _shr(a: Array, b: Array) -> Array:
    inside, count = _shift_count(b)
    zero = a.dtype.type(0)
    beyond = np.where(a < 0, ~zero, zero)
    return np.where(inside, np.right_shift(a, count), beyond)


def _shift_count(b: Array) -> tuple[Array, Array]:
    """Return whether a count is less than the width, and the count or 0."""
    inside: Array = (b >= 0) & (b < b.dtype.itemsize * 8)
    return inside, np.where(inside, b, b.dtype.type(0))


def _exp_difference(x: Array, a: Array) -> Array:
    """``e**(x - a)``, with what the difference was rounded by."""
    difference = x - a
    part = difference - x
    rest = (x - (difference - part)) - (a + part)
    power = np.exp(difference)
    return np.asarray(power + power * np.where(np.isnan(rest), 0, rest))


def _mulhi(a: Array, b: Array) -> Array:
    if a.dtype.itemsize == 4:
        wide = np.int64 if a.dtype.kind == "i" else np.uint64
        product: Array = a.astype(wide) * b.astype(wide)
        return (product >> 32).astype(a.dtype)
    high = _unsigned_mulhi(a.astype(np.uint64), b.astype(np.uint64)).astype(a.dtype)
    if a.dtype.kind == "u":
        return high
    # A negative factor was read as 2**64 more than it is.
    zero = a.dtype.type(0)
    signed: Array = high - np.where(a < 0, b, zero) - np.where(b < 0, a, zero)
    return signed


def _unsigned_mulhi(a: Array, b: Array) -> Array:
    """Return the upper 64 bits from the four products of halves."""
    half, mask = np.uint64(32), np.uint64((1 << 32) - 1)
    a_high, a_low, b_high, b_low = a >> half, a & mask, b >> half, b & mask
    middle = a_high * b_low + (a_low * b_low >> half)
    carried = a_low * b_high + (middle & mask)
    result: Array = a_high * b_high + (middle >> half) + (carried >> half)
    return result


def _erf(x: Array) -> Array:
    return np.asarray(np.vectorize(math.erf, otypes=[np.float64])(x))


_LOGIC: Final[dict[BinaryOp, Callable[[Array, Array], Array]]] = {
    "and": np.logical_and, "min": np.logical_and, "or": np.logical_or, "max": np.logical_or,
}  # fmt: skip
_FLOATS: Final[dict[BinaryOp, Callable[[Array, Array], Array]]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "min": _minimum, "max": _maximum,
}  # fmt: skip
_INTEGERS: Final[dict[BinaryOp, Callable[[Array, Array], Array]]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply,
    "floordiv": _floordiv, "floormod": _floormod, "truncdiv": _truncdiv, "truncmod": _truncmod,
    "min": np.minimum, "max": np.maximum,
    "bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor,
    "shl": _shl, "shr": _shr,
}  # fmt: skip
_COMPARISONS: Final[dict[CompareOp, Callable[[Array, Array], Array]]] = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip
_EXACT: Final[dict[str, Callable[..., Array]]] = {
    "abs": np.abs, "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "round": np.rint, "fmod": np.fmod, "copysign": np.copysign, "mulhi": _mulhi,
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "likely": np.asarray,
}  # fmt: skip
_ROUNDED: Final[dict[str, Callable[..., Array]]] = {
    "exp": np.exp, "exp_nonpositive": np.exp, "exp_rounded": np.exp,
    "exp_short": lambda x: np.exp(x) * SHORT_LIFT,
    "exp2": np.exp2, "expm1": np.expm1,
    "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "tanh": np.tanh, "erf": _erf, "power": np.power,
    "exp_difference": _exp_difference,
}  # fmt: skip
