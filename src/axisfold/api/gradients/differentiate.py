# SPDX-License-Identifier: Apache-2.0
"""Symbolic derivatives of scalar expressions, and expressions evaluated on whole arrays."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from axisfold.dtypes import DType
from axisfold.ir import build
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


class Library(Protocol):
    """What the array libraries spell differently."""

    @property
    def xp(self) -> Any:
        """``torch`` or ``jax.numpy``."""

    def cast(self, values: Any, dtype: DType) -> Any:
        """Convert an array."""

    def number(self, value: Any, dtype: DType, like: Any) -> Any:
        """Return an array of no axes, where another array is."""

    def arange(self, extent: Any, like: Any) -> Any:
        """Return the integers from 0, where another array is."""

    def transposed(
        self, function: Callable[..., Sequence[Any]], like: Sequence[Any], values: Sequence[Any]
    ) -> Sequence[Any]:
        """Apply the transpose of a linear function.

        Parameters
        ----------
        function
            From arrays to arrays.
        like
            Arrays of the shapes and dtypes that the function takes, and that are returned.
        values
            Arrays such as the function returns.
        """


class NotDerivable(Exception):
    """An expression has no derivative that is known here; the text says which part."""


def derivative(expr: Expr, variable: Var) -> Expr | None:
    """Return d expr / d variable, None if it is 0 everywhere.

    Where a derivative does not exist: half of either side where min or max tie, 0 for abs at 0,
    and 0 for what moves in steps (floor, conversions to integers, comparisons).

    Raises
    ------
    NotDerivable
        An operation without a known derivative depends on the variable.
    """
    slopes: dict[int, Expr | None] = {}
    for node in post_order(expr):
        slopes[id(node)] = _slope(node, slopes, variable)
    return slopes[id(expr)]


def _slope(node: Node, slopes: Mapping[int, Expr | None], variable: Var) -> Expr | None:
    match node:
        case Var():
            return build.const(1, node.dtype) if node is variable else None
        case Const() | Compare() | Not():
            return None
        case Cast(value, dtype):
            inner = slopes[id(value)]
            return None if inner is None or not dtype.is_float else build.cast(dtype, inner)
        case Select(condition, a, b) | IfThenElse(condition, a, b):
            da, db = slopes[id(a)], slopes[id(b)]
            if da is None and db is None:
                return None
            return build.select(condition, _or_zero(da, a), _or_zero(db, b))
        case Binary(op, a, b):
            return _slope_of_binary(op, (a, b), (slopes[id(a)], slopes[id(b)]))
        case Call(name, args):
            return _slope_of_call(node, name, args, [slopes[id(a)] for a in args])
        case _:
            raise NotDerivable(f"a {type(node).__name__}")


def _or_zero(slope: Expr | None, like: Expr) -> Expr:
    return build.const(0, like.dtype) if slope is None else slope


def _slope_of_binary(
    op: str, values: tuple[Expr, Expr], slopes: tuple[Expr | None, Expr | None]
) -> Expr | None:
    (a, b), (by_a, by_b) = values, slopes
    if (by_a is None and by_b is None) or not a.dtype.is_float:
        return None
    da, db = _or_zero(by_a, a), _or_zero(by_b, b)
    slope: Expr
    match op:
        case "add":
            slope = da + db
        case "sub":
            slope = da - db
        case "mul":
            slope = da * b + a * db
        case "div":
            slope = (da - (a / b) * db) / b
        case "min" | "max":
            ahead = a < b if op == "min" else a > b
            half = build.const(0.5, a.dtype)
            slope = build.select(a.equal(b), (da + db) * half, build.select(ahead, da, db))
        case _:
            raise NotDerivable(f"the operation {op!r}")
    return slope


def _sign(x: Expr) -> Expr:
    zero = build.const(0, x.dtype)
    one = build.const(1, x.dtype)
    return build.select(x > zero, one, build.select(x < zero, build.negate(one), zero))


# From x and f(x) to f'(x).
_DERIVATIVES: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "abs": lambda x, y: _sign(x),
    "sqrt": lambda x, y: 0.5 / y,
    "exp": lambda x, y: y,
    "exp_nonpositive": lambda x, y: y,
    "exp_rounded": lambda x, y: y,
    "exp_short": lambda x, y: y,
    "exp2": lambda x, y: y * math.log(2),
    "expm1": lambda x, y: y + 1.0,
    "log": lambda x, y: 1.0 / x,
    "log2": lambda x, y: 1.0 / (x * math.log(2)),
    "log10": lambda x, y: 1.0 / (x * math.log(10)),
    "log1p": lambda x, y: 1.0 / (x + 1.0),
    "sin": lambda x, y: build.call("cos", x),
    "cos": lambda x, y: build.negate(build.call("sin", x)),
    "tan": lambda x, y: y * y + 1.0,
    "tanh": lambda x, y: 1.0 - y * y,
    "erf": lambda x, y: build.call("exp", build.negate(x * x)) * (2 / math.sqrt(math.pi)),
    "likely": lambda x, y: build.const(1, x.dtype),
}
_STEPS: Final = frozenset({"floor", "ceil", "trunc", "round", "isnan", "isinf", "isfinite"})


def _slope_of_call(
    node: Call, name: str, args: Sequence[Expr], slopes: Sequence[Expr | None]
) -> Expr | None:
    if all(s is None for s in slopes) or name in _STEPS or not args[0].dtype.is_float:
        return None
    inner = _or_zero(slopes[0], args[0])
    slope: Expr
    if name in _DERIVATIVES:
        slope = _DERIVATIVES[name](args[0], node) * inner
    elif name == "exp_difference":
        slope = node * (inner - _or_zero(slopes[1], args[1]))
    elif name == "power":
        slope = _slope_of_power(node, args, slopes)
    elif name == "copysign":
        one = build.const(1, node.dtype)
        slope = _sign(args[0]) * build.call("copysign", one, args[1]) * inner
    elif name == "fmod":
        slope = inner - build.call("trunc", args[0] / args[1]) * _or_zero(slopes[1], args[1])
    else:
        raise NotDerivable(f"the function {name!r}")
    return slope


def _slope_of_power(node: Call, args: Sequence[Expr], slopes: Sequence[Expr | None]) -> Expr:
    (base, exponent), (by_base, by_exponent) = args, slopes
    total = build.const(0, node.dtype)
    if by_base is not None:
        one = build.const(1, exponent.dtype)
        total = total + exponent * build.call("power", base, exponent - one) * by_base
    if by_exponent is not None:
        total = total + node * build.call("log", base) * by_exponent
    return total


_OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "and": operator.and_,
    "or": operator.or_,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
    "power": operator.pow,
}
_NAMES: Final = {"min": "minimum", "max": "maximum"}
_SAME_NAME: Final = frozenset(
    {"exp", "exp_nonpositive", "exp_rounded", "exp_short", "exp2", "expm1", "log", "log2",
     "log10", "log1p", "sqrt", "sin", "cos", "tan", "tanh", "abs", "floor", "ceil", "trunc",
     "round", "isnan", "isinf", "isfinite", "copysign", "fmod"}
)  # fmt: skip


def evaluate(
    exprs: Sequence[Expr], values: Mapping[Var, Any], library: Library, like: Any
) -> list[Any]:
    """Return expressions over arrays.

    Parameters
    ----------
    exprs
        What to compute.
    values
        Arrays for the variables.
    library
        The arrays' library.
    like
        An array that is where the results shall be.

    Raises
    ------
    NotDerivable
        An operation that arrays do not have.
    """
    done: dict[int, Any] = {}
    for expr in exprs:
        for node in post_order(expr):
            if id(node) not in done:
                done[id(node)] = _value(node, done, values, library, like)
    return [done[id(e)] for e in exprs]


def _value(
    node: Node, done: Mapping[int, Any], values: Mapping[Var, Any], library: Library, like: Any
) -> Any:
    xp = library.xp
    match node:
        case Var():
            return values[node]
        case Const(value, dtype):
            return library.number(value, dtype, like)
        case Cast(value, dtype):
            return library.cast(done[id(value)], dtype)
        case Not(a):
            return ~done[id(a)]
        case Select(c, a, b) | IfThenElse(c, a, b):
            return xp.where(done[id(c)], done[id(a)], done[id(b)])
        case Binary(op, a, b) | Compare(op, a, b):
            return _function(op, xp)(done[id(a)], done[id(b)])
        case Call("likely", args):
            return done[id(args[0])]
        case Call(name, args):
            return _function(name, xp)(*(done[id(a)] for a in args))
        case _:
            raise NotDerivable(f"a {type(node).__name__}")


def _function(name: str, xp: Any) -> Callable[..., Any]:
    if name in _OPERATORS:
        return _OPERATORS[name]
    if name in _NAMES or name in _SAME_NAME:
        found: Callable[..., Any] = getattr(xp, _NAMES.get(name, name))
        return found
    if name == "erf":
        home = xp if hasattr(xp, "erf") else sys.modules["jax"].lax
        erf: Callable[..., Any] = home.erf
        return erf
    raise NotDerivable(f"the operation {name!r}")
