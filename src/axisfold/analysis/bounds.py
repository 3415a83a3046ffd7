# SPDX-License-Identifier: Apache-2.0
"""Bounds of index expressions: constant intervals, and symbolic ends over moving variables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from axisfold.analysis.domains import NOTHING, Bounds, Domain, Interval, environment
from axisfold.analysis.intervals import constant_interval, form_range, measure
from axisfold.analysis.linear import (
    Linear,
    factors_of,
    is_index,
    is_sum,
    key_of,
    linear,
    to_expr,
    without,
)
from axisfold.analysis.prove import never_negative
from axisfold.analysis.simplify import can_prove, simplify
from axisfold.errors import UnsupportedError
from axisfold.ir.build import as_int, cast, const, maximum, minimum
from axisfold.ir.expr import Binary, Cast, Expr, IfThenElse, Select, Var
from axisfold.ir.walk import uses

__all__ = [
    "Bounds", "Domain", "Interval", "constant_interval", "environment", "is_within",
    "symbolic_bounds",
]  # fmt: skip

Ends = tuple[Expr, Expr]


def symbolic_bounds(expr: Expr, env: Bounds | None, over: AbstractSet[Var]) -> tuple[Expr, Expr]:
    """Return the least and the largest value of ``expr`` while some variables move.

    Parameters
    ----------
    expr
        A scalar int32 or int64 expression.
    env
        Domains of variables, outermost first; every variable in ``over`` has one.
    over
        The variables that take all values of their domains.  All others are points.

    Returns
    -------
    tuple of Expr
        Inclusive ends, free of ``over``: exact for affine expressions whose domains do not depend
        on each other, safe for all others.

    Raises
    ------
    UnsupportedError
        ``E201``: it cannot be bounded, because a variable in ``over`` decides which data are read
        as an index.  ``E202``: a variable in ``over`` has no domain.
    """
    env = NOTHING if env is None else env
    missing = [var.name for var in over if var not in env]
    if missing:
        raise UnsupportedError(
            f"no domain is known for {', '.join(sorted(missing))}, over which bounds are asked.",
            code="E202",
        )
    low, high = _Ends(env, frozenset(over)).ends(simplify(expr, env))
    return simplify(low, env), simplify(high, env)


def is_within(index: Expr, extents: Sequence[Expr], env: Bounds) -> bool:
    """Return whether each lane of an index is a place of constant memory, by its range alone."""
    size = math.prod(as_int(extent) or 0 for extent in extents)
    found = constant_interval(index, env)
    return found.low >= 0 and found.high < size


class _Ends:
    """The walk of one question; recursion is as deep as index expressions nest, sums aside."""

    def __init__(self, env: Bounds, over: frozenset[Var]) -> None:
        self.env = env
        self.over = over
        self.inside_out = [var for var in reversed(list(env)) if var in over]

    def ends(self, expr: Expr) -> Ends:
        if not uses(expr, self.over):
            return expr, expr
        if is_index(expr.dtype):
            if isinstance(expr, Var) or is_sum(expr):
                return self._of_sum(expr)
            if isinstance(expr, Binary):
                found = self._of_binary(expr)
                if found is not None:
                    return found
            if isinstance(expr, Cast) and is_index(expr.value.dtype):
                low, high = self.ends(expr.value)
                return cast(expr.dtype, low), cast(expr.dtype, high)
            if isinstance(expr, (Select, IfThenElse)):
                return _hull(self.ends(expr.true_value), self.ends(expr.false_value))
        return self._constant(expr)

    def _of_sum(self, expr: Expr) -> Ends:
        low, high = self._end(linear(expr), 0, expr), self._end(linear(expr), 1, expr)
        return _expr(low, expr), _expr(high, expr)

    def _end(self, form: Linear, side: int, expr: Expr) -> Linear:
        """Eliminate the variables from the innermost outwards; bound other operands apart."""
        while True:
            form = self._bounded_apart(form, side, expr)
            found = {f for key in form.terms for f in factors_of(key)}
            var = next((var for var in self.inside_out if var in found), None)
            if var is None:
                return form
            form = self._at_end(form, var, side, expr)

    def _bounded_apart(self, form: Linear, side: int, expr: Expr) -> Linear:
        """Put an end in place of each term that is not a variable times a factor of known sign."""
        result = Linear(None, form.constant)
        for key, scale in form.terms.items():
            factors = factors_of(key)
            moving = [factor for factor in factors if uses(factor, self.over)]
            is_simple = not moving
            if len(moving) == 1 and isinstance(moving[0], Var):
                rest = without(factors, (moving[0],))
                is_simple = not rest or self._sign(Linear({key_of(rest): 1})) != 0
            if is_simple:
                result.add(key, scale)
                continue
            ends: Ends = self.ends(factors[0])
            for factor in factors[1:]:
                ends = self._product(ends, self.ends(factor))
            number = const(scale, expr.dtype)
            end = self._product(ends, (number, number))[side]
            result = result.plus(linear(end))
        return result

    def _at_end(self, form: Linear, var: Var, side: int, expr: Expr) -> Linear:
        coefficient, rest = Linear(), Linear(None, form.constant)
        for key, scale in form.terms.items():
            others = without(factors_of(key), (var,))
            if others is None:
                rest.add(key, scale)
            elif others:
                coefficient.add(key_of(others), scale)
            else:
                coefficient.constant += scale
        if not coefficient.terms and not coefficient.constant:
            return form
        domain = self.env[var]
        first = linear(simplify(domain.min, self.env))
        last = linear(simplify(domain.min + domain.extent - 1, self.env))
        sign = self._sign(coefficient)
        if sign:
            return rest.plus(coefficient.times(last if (sign > 0) == (side == 1) else first))
        factor = _expr(coefficient, expr)
        bounds = self._product((_expr(first, expr), _expr(last, expr)), (factor, factor))
        return rest.plus(linear(bounds[side]))

    def _sign(self, form: Linear) -> int:
        """Return 1 for a form >= 0, -1 for one <= 0, and 0 where the sign is not known."""
        low, high = form_range(form, self.env)
        if low >= 0 or never_negative(form, self.env):
            return 1
        return -1 if high <= 0 or never_negative(form.scaled(-1), self.env) else 0

    def _of_binary(self, expr: Binary) -> Ends | None:
        if expr.op in ("floordiv", "floormod"):
            return self._of_division(expr)
        if expr.op in ("mul", "min", "max"):
            (a, b), (c, d) = self.ends(expr.a), self.ends(expr.b)
            if expr.op == "mul":
                return self._product((a, b), (c, d))
            return Binary(expr.op, a, c), Binary(expr.op, b, d)
        return None

    def _of_division(self, expr: Binary) -> Ends | None:
        divisor = expr.b
        if uses(divisor, self.over) or measure(divisor, self.env).low < 0:
            return None
        low, high = self.ends(expr.a)
        # A zero divisor gives 0 for every dividend: the rules below hold for it too.
        quotients = simplify(low // divisor, self.env), simplify(high // divisor, self.env)
        if expr.op == "floordiv":
            return quotients
        zero = const(0, expr.dtype)
        is_inside = can_prove(low >= 0, self.env) and can_prove(high < divisor, self.env)
        if is_inside:
            return low, high
        if measure(divisor, self.env).low >= 1:
            if quotients[0] == quotients[1]:
                return low % divisor, high % divisor
            return zero, divisor - 1
        return zero, maximum(divisor - 1, 0)

    def _product(self, a: Ends, b: Ends) -> Ends:
        for x, y in ((a, b), (b, a)):
            if x[0] is x[1]:
                sign = self._sign(linear(simplify(x[0], self.env)))
                if sign:
                    ends = (y[0] * x[0], y[1] * x[0])
                    return ends if sign > 0 else (ends[1], ends[0])
        if self._sign(linear(simplify(a[0], self.env))) > 0 and (
            self._sign(linear(simplify(b[0], self.env))) > 0
        ):
            return a[0] * b[0], a[1] * b[1]
        corners = [x * y for x in dict.fromkeys(a) for y in dict.fromkeys(b)]
        low = high = corners[0]
        for corner in corners[1:]:
            low, high = minimum(low, corner), maximum(high, corner)
        return low, high

    def _constant(self, expr: Expr) -> Ends:
        found = measure(expr, self.env)
        if isinstance(found.low, int) and isinstance(found.high, int):
            return const(found.low, expr.dtype), const(found.high, expr.dtype)
        names = ", ".join(var.name for var in self.inside_out if uses(expr, {var}))
        raise UnsupportedError(
            f"an index depends on {names} in a way that has no known bounds "
            f"({_kind(expr)}), so the region it touches is not known.",
            code="E201",
            hint="Clamp it with te.max(0, te.min(index, extent - 1)), or compute what it reads "
            "in full.",
        )


def _expr(form: Linear, like: Expr) -> Expr:
    found = to_expr(form, like.dtype)
    if found is None:
        raise UnsupportedError(
            f"a bound does not fit {like.dtype}.", code="E203", hint="Use int64 indices."
        )
    return found


def _hull(a: Ends, b: Ends) -> Ends:
    return minimum(a[0], b[0]), maximum(a[1], b[1])


def _kind(expr: Expr) -> str:
    """Name what stands in the way."""
    if isinstance(expr, Binary):
        return f"through `{expr.op}`"
    return f"through a {type(expr).__name__.lower()}"
