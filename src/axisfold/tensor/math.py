# SPDX-License-Identifier: Apache-2.0
"""The scalar maths that reducers and computations use; takes composite values too."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from axisfold.dtypes import finite_range, parse
from axisfold.errors import ExpressionError
from axisfold.ir import build
from axisfold.ir.expr import Expr
from axisfold.ir.walk import post_order
from axisfold.tensor.tensor import TensorLoad
from axisfold.tensor.values import Complex, Form, Pair, as_complex, as_pair

if_then_else = build.if_then_else


def const(value: Any, dtype: Any = None) -> Expr:
    """Return a constant; without a dtype a float is a float32, and everything else an int32."""
    if not isinstance(value, (int, float, complex, np.generic)):
        raise ExpressionError(f"const: {type(value).__name__} {value!r} is no number.", code="E104")
    if dtype is None:
        dtype = "float32" if isinstance(value, (float, np.floating)) else "int32"
    number: Any = value
    return build.const(number, dtype)


def _real(value: Any) -> Any:
    return value.rounded() if isinstance(value, Pair) else value


def _unary(name: str, meaning: str) -> Any:
    def function(x: Any) -> Expr:
        return build.call(name, _real(x))

    function.__name__ = name
    function.__doc__ = f"{meaning}; integers are converted to float64."
    return function


exp = _unary("exp", "e**x")
exp_nonpositive = _unary("exp_nonpositive", "e**x of x <= 0, in fewer steps; else any number")
exp_rounded = _unary(
    "exp_rounded", "e**x of x <= 0 that was rounded before: off by |x| units more, in fewer steps"
)
exp_short = _unary(
    "exp_short",
    "2**64 e**x of x <= 0 of 16-bit elements: off by 32 + |x| units, in the fewest steps",
)
exp2 = _unary("exp2", "2**x")
expm1 = _unary("expm1", "e**x - 1 without cancellation")
log = _unary("log", "Natural logarithm")
log2 = _unary("log2", "Base-2 logarithm")
log10 = _unary("log10", "Base-10 logarithm")
log1p = _unary("log1p", "log(1 + x) without cancellation")
sqrt = _unary("sqrt", "Square root, a NaN below zero")
sin = _unary("sin", "Sine")
cos = _unary("cos", "Cosine")
tan = _unary("tan", "Tangent")
tanh = _unary("tanh", "Hyperbolic tangent")
erf = _unary("erf", "Error function")
floor = _unary("floor", "Largest integer <= x, as a float")
ceil = _unary("ceil", "Smallest integer >= x, as a float")
trunc = _unary("trunc", "x without its fraction")
round = _unary("round", "Nearest integer, ties to even")
isinf = _unary("isinf", "Whether x is infinite")
isfinite = _unary("isfinite", "Whether x is neither infinite nor a NaN")


def rsqrt(x: Any) -> Any:
    """``1 / sqrt(x)``."""
    root = sqrt(x)
    return build.const(1.0, root.dtype.element) / root


def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))``."""
    one = build.const(1.0, exp(x).dtype.element)
    return one / (one + exp(build.as_expr(_real(x)) * -1))


def abs(x: Any) -> Any:
    """Magnitude; of a complex value without overflow or underflow."""
    if not isinstance(x, Complex):
        return build.call("abs", _real(x))
    re, im = abs(x.re), abs(x.im)
    large, small = build.maximum(re, im), build.minimum(re, im)
    ratio = small / large
    scaled = large * sqrt(ratio * ratio + 1.0)
    plain = build.any_of([large.equal(0.0), isinf(large), isnan(large)])
    infinite = build.any_of([isinf(re), isinf(im)])
    return build.select(
        infinite, build.const(float("inf"), re.dtype), build.select(plain, large, scaled)
    )


def real(x: Any) -> Any:
    """Real part."""
    return x.re if isinstance(x, Complex) else x


def imag(x: Any) -> Any:
    """Imaginary part; 0 of a real value."""
    return x.im if isinstance(x, Complex) else build.as_expr(x) * 0


def square_abs(x: Any) -> Any:
    """``|x|**2``, real also for a complex value."""
    return x.re * x.re + x.im * x.im if isinstance(x, Complex) else x * x


def isnan(x: Any) -> Any:
    """Whether x is a NaN (for a complex value: either part)."""
    if isinstance(x, Complex):
        return build.any_of([isnan(x.re), isnan(x.im)])
    expr = build.as_expr(_real(x))
    return build.call("isnan", expr) if expr.dtype.is_float else build.FALSE


def not_zero(x: Any) -> Any:
    """Whether x differs from zero; a NaN does."""
    if isinstance(x, Complex):
        return build.any_of([not_zero(x.re), not_zero(x.im)])
    return build.truth(_real(x))


def power(a: Any, b: Any) -> Expr:
    """``a**b``."""
    return build.call("power", _real(a), _real(b))


def exp_difference(x: Any, a: Any) -> Expr:
    """``e**(x - a)``, whose difference is not rounded: a is whole, |a| <= 256, and x <= a + 1."""
    return build.call("exp_difference", _real(x), _real(a))


def fmod(a: Any, b: Any) -> Expr:
    """Remainder with the sign of ``a``."""
    return build.call("fmod", _real(a), _real(b))


def copysign(a: Any, b: Any) -> Expr:
    """Magnitude of ``a`` with the sign of ``b``."""
    return build.call("copysign", _real(a), _real(b))


def mulhi(a: Any, b: Any) -> Expr:
    """Upper half of the exact product of two integers of 32 or 64 bits."""
    return build.call("mulhi", _real(a), _real(b))


def truncdiv(a: Any, b: Any) -> Any:
    """Integer quotient rounded to zero."""
    return build.operator("truncdiv", a, b)


def truncmod(a: Any, b: Any) -> Any:
    """Integer remainder with the sign of ``a``."""
    return build.operator("truncmod", a, b)


def floordiv(a: Any, b: Any) -> Any:
    """Integer quotient rounded to minus infinity."""
    return build.operator("floordiv", a, b)


def floormod(a: Any, b: Any) -> Any:
    """Integer remainder with the sign of ``b``."""
    return build.operator("floormod", a, b)


def all(*conditions: Any) -> Expr:
    """Conjunction of truth values."""
    return build.all_of(conditions)


def any(*conditions: Any) -> Expr:
    """Disjunction of truth values."""
    return build.any_of(conditions)


def select(condition: Any, a: Any, b: Any) -> Any:
    """``a`` where the condition holds, else ``b``; both are evaluated."""
    if isinstance(a, Complex) or isinstance(b, Complex):
        x, y = as_complex(a), as_complex(b)
        return Complex(select(condition, x.re, y.re), select(condition, x.im, y.im))
    if isinstance(a, Pair) or isinstance(b, Pair):
        p, q = as_pair(a), as_pair(b)
        return Pair(build.select(condition, p.hi, q.hi), build.select(condition, p.lo, q.lo))
    return build.select(condition, _real(a), _real(b))


def less(a: Any, b: Any) -> Any:
    """``a < b``, false with a NaN; complex values compare by real, then by imaginary part."""
    if not isinstance(a, Complex):
        return _real(a) < b
    ahead = build.any_of([a.re < b.re, build.all_of([a.re.equal(b.re), a.im < b.im])])
    return build.all_of([ahead, build.logical_not(build.any_of([isnan(a), isnan(b)]))])


def same(a: Any, b: Any) -> Any:
    """``a == b``."""
    if not isinstance(a, Complex):
        return build.as_expr(_real(a)).equal(b)
    return build.all_of([a.re.equal(b.re), a.im.equal(b.im)])


def maximum(a: Any, b: Any) -> Any:
    """The larger value; a NaN wins, −0 < +0; complex values lexicographically."""
    if not isinstance(a, Complex):
        return build.maximum(_real(a), _real(b))
    take_b = build.all_of([build.logical_not(isnan(a)), build.any_of([isnan(b), less(a, b)])])
    return select(take_b, b, a)


def minimum(a: Any, b: Any) -> Any:
    """The smaller value; a NaN wins, −0 < +0; complex values lexicographically."""
    if not isinstance(a, Complex):
        return build.minimum(_real(a), _real(b))
    take_b = build.all_of([build.logical_not(isnan(a)), build.any_of([isnan(b), less(b, a)])])
    return select(take_b, b, a)


def cast(dtype: Any, x: Any) -> Any:
    """Convert to ``dtype``; a complex value becomes real only if asked through te.real."""
    target = parse(dtype)
    if isinstance(x, Complex) and not target.is_complex:
        raise ExpressionError(
            f"a complex value has no form of dtype {target}.",
            code="E232",
            hint="Use a complex dtype, or real parts: x.real of an array, te.real of a value.",
        )
    if target.is_complex:
        return Form(target).coerce(x)
    return build.cast(target, _real(x))


def min_value(dtype: Any) -> Expr:
    """Least finite value of a dtype (te's name; the identity of max is −inf)."""
    return build.const(finite_range(parse(dtype))[0], dtype)


def max_value(dtype: Any) -> Expr:
    """Largest finite value of a dtype (te's name; the identity of min is +inf)."""
    return build.const(finite_range(parse(dtype))[1], dtype)


def Select(condition: Any, true_value: Any, false_value: Any) -> Any:
    """Te's choice: ``true_value`` where the condition holds, else ``false_value``.

    Scripts guard reads with it, so a side that reads a tensor is evaluated only if it is chosen.
    """
    sides = [e for e in (true_value, false_value) if isinstance(e, Expr)]
    if builtins.any(isinstance(n, TensorLoad) for side in sides for n in post_order(side)):
        return build.if_then_else(condition, true_value, false_value)
    return select(condition, true_value, false_value)
