# SPDX-License-Identifier: Apache-2.0
"""Constants: how Python and NumPy numbers become expressions, and back."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Final, cast

import numpy as np

from axisfold.bfloat16 import bits_of, value_of
from axisfold.dtypes import (
    BOOL,
    FLOAT32,
    INT32,
    INT64,
    SUPPORTED,
    UINT64,
    DType,
    Scalar,
    fits,
    parse,
    wrap,
)
from axisfold.errors import ExpressionError
from axisfold.ir.expr import Broadcast, Const, Expr

TRUE: Final = Const(True, BOOL)
FALSE: Final = Const(False, BOOL)


def const(value: Scalar, dtype: object = INT32) -> Const:
    """Return a constant; integers wrap to the dtype and floats round to it, as at run time.

    Raises
    ------
    ExpressionError
        ``E107``: a fraction, an infinity or a NaN for an integer dtype; ``E108``: complex.
    """
    target = parse(dtype).element
    if type(value) is int and target.is_integer:
        return _integer(value, target.name)
    if target.is_bool:
        return Const(bool(value), target)
    if target.is_complex or isinstance(value, complex):
        raise ExpressionError(
            f"{value!r} of dtype {target} is complex, and loop IR knows real numbers only.",
            code="E108",
            hint="Make two constants, of the real and the imaginary part.",
        )
    if not target.is_integer:
        return Const(_rounded(value, target), target)
    if isinstance(value, float) and not value.is_integer():
        raise ExpressionError(
            f"{value!r} is not an integer, so it is no constant of dtype {target}.",
            code="E107",
            hint="Name a float dtype.",
        )
    return _integer(int(value), target.name)


@lru_cache(maxsize=1 << 12)
def _integer(value: int, name: str) -> Const:
    dtype = SUPPORTED[name]  # a name is hashed sooner
    return Const(wrap(value, dtype), dtype)


def _rounded(value: Scalar, dtype: DType) -> float:
    """Round to a float dtype once: an int must not pass through float64 on its way to float32."""
    for integer in (INT64, UINT64):
        if isinstance(value, int) and fits(value, integer):
            exact: np.generic = integer.stored.type(value)
            break
    else:
        try:
            exact = np.float64(value)
        except OverflowError:
            exact = np.float64(math.inf if value > 0 else -math.inf)
    if dtype.kind == "bfloat":
        return float(value_of(bits_of(np.asarray(exact))))
    with np.errstate(over="ignore"):
        return float(exact.astype(dtype.stored))


def as_expr(value: Any, like: DType | None = None) -> Expr:
    """Return an expression for a Python or NumPy scalar or anything that stands for one.

    A Python scalar takes the dtype ``like`` where that can hold it: an int any that reaches so
    far, a float a float.  A NumPy scalar keeps its own dtype.

    Raises
    ------
    ExpressionError
        ``E104``: the value cannot stand in an expression.
    """
    if isinstance(value, Expr):
        return value
    if type(value) is int and like is not None and like.is_integer and fits(value, like):
        return const(value, like)
    convert = getattr(value, "__axisfold_expr__", None)
    if convert is not None:
        return cast("Expr", convert())
    if isinstance(value, np.generic) and (
        value.dtype.kind in "biuf" or value.dtype.name == "bfloat16"
    ):
        return const(value.item(), parse(value.dtype))
    if isinstance(value, bool):
        return const(value, BOOL)
    if isinstance(value, int):
        wanted = () if like is None or like.is_bool or like.is_complex else (like.element,)
        for dtype in (*wanted, INT32, INT64, UINT64):
            if fits(value, dtype):
                return const(value, dtype)
    if isinstance(value, float):
        return const(value, like.element if like is not None and like.is_float else FLOAT32)
    raise ExpressionError(
        f"{type(value).__name__} {value!r} cannot stand in an expression.",
        code="E104",
        hint="Use an expression, an axis, a number of at most 64 bits or a truth value.",
    )


def is_const(expr: object, value: Scalar | None = None) -> bool:
    """Return whether ``expr`` is a (broadcast) constant, of the given value if one is given."""
    if isinstance(expr, Broadcast):
        expr = expr.value
    if not isinstance(expr, Const):
        return False
    return value is None or (expr.value == value and not _is_negative_zero(expr.value))


def _is_negative_zero(value: Scalar) -> bool:
    return isinstance(value, float) and value == 0 and math.copysign(1.0, value) < 0


def as_int(expr: Expr) -> int | None:
    """Return the value of an integer constant, else None."""
    return int(expr.value) if isinstance(expr, Const) and expr.dtype.is_integer else None
