# SPDX-License-Identifier: Apache-2.0
"""Rules for floor division and remainder."""

from __future__ import annotations

import math

from axisfold.analysis.domains import Bounds
from axisfold.analysis.intervals import form_range, measure
from axisfold.analysis.linear import (
    Linear,
    factors_of,
    key_of,
    linear,
    monomial,
    rendered,
    to_expr,
    without,
)
from axisfold.analysis.prove import never_negative
from axisfold.dtypes import fits
from axisfold.ir.build import as_int, const
from axisfold.ir.expr import Binary, Expr


def simplify_floordiv(node: Binary, env: Bounds) -> Expr:
    """Simplify ``a // b`` whose operands are simple already."""
    found = measure(node, env)
    if found.low == found.high and isinstance(found.low, int):
        return const(found.low, node.dtype)
    if found.is_data:
        return node
    form = divide(node.a, node.b, env, node)
    if len(form.terms) == 1 and not form.constant:
        ((key, scale),) = form.terms.items()
        if scale == 1 and (key is node or (isinstance(key, Binary) and key == node)):
            return node
    return rendered(form, node)


def simplify_floormod(node: Binary, env: Bounds) -> Expr:
    """Simplify ``a % b`` whose operands are simple already."""
    found = measure(node, env)
    if found.low == found.high and isinstance(found.low, int):
        return const(found.low, node.dtype)
    if found.is_data:
        return node
    divisor = as_int(node.b)
    if divisor is None:
        return _symbolic_floormod(node, env)
    return _constant_floormod(node, divisor, env) if divisor > 0 else node


def simplify_trunc(node: Binary, env: Bounds) -> Expr:
    """Floor where both operands are never negative: there the two roundings agree."""
    found = measure(node, env)
    if found.low == found.high and isinstance(found.low, int):
        return const(found.low, node.dtype)
    if found.is_data or measure(node.a, env).low < 0 or measure(node.b, env).low < 0:
        return node
    return Binary("floordiv" if node.op == "truncdiv" else "floormod", node.a, node.b)


def simplify_shift(node: Binary, env: Bounds) -> Expr:
    """Multiply or divide by a power of two, which other rules understand."""
    count = as_int(node.b)
    is_power = count is not None and 0 <= count < node.dtype.bits - 1
    if not is_power or measure(node, env).is_data:
        return node
    power = const(1 << int(count or 0), node.dtype)
    return Binary("mul" if node.op == "shl" else "floordiv", node.a, power)


def divide(a: Expr, b: Expr, env: Bounds, node: Binary | None = None) -> Linear:
    """Return the normal form of ``a // b``, for which there is a ``node`` already if one is given.

    The operands are index arithmetic.
    """
    divisor = as_int(b)
    if divisor is None:
        return _symbolic_divide(a, b, env)
    written = Binary("floordiv", a, b) if node is None else node
    if divisor > 0:
        return _constant_divide(written, divisor, env)
    return Linear(None, 0) if divisor == 0 else Linear({written: 1})


def _constant_divide(node: Binary, divisor: int, env: Bounds) -> Linear:
    a, b = node.a, node.b
    if divisor == 1:
        return linear(a)
    form = linear(a)
    whole, rest = _split(form, divisor, ())
    low, high = form_range(rest, env)
    if low // divisor == high // divisor and -math.inf < low and high < math.inf:
        return whole.shifted(int(low // divisor))
    offset, constant = divmod(rest.constant, divisor)
    if constant == 0 and offset:
        whole, rest = whole.shifted(offset), rest.shifted(-offset * divisor)
    common = math.gcd(divisor, *rest.terms.values())
    if common > 1:
        # A common factor g: floor((g t + c) / (g d)) is floor((t + floor(c / g)) / d).
        terms = {key: scale // common for key, scale in rest.terms.items()}
        rest, divisor = Linear(terms, rest.constant // common), divisor // common
        b = const(divisor, b.dtype)
    dividend = a if common == 1 and _is_same(rest, form) else to_expr(rest, a.dtype)
    if dividend is None:
        return Linear({node: 1})
    if isinstance(dividend, Binary) and dividend.op == "floordiv":
        inner = as_int(dividend.b)
        if inner is not None and inner > 0 and fits(inner * divisor, b.dtype):
            dividend, b = dividend.a, const(inner * divisor, b.dtype)
    is_same = dividend is node.a and b is node.b
    return whole.plus(Linear({node if is_same else Binary("floordiv", dividend, b): 1}))


def _symbolic_divide(a: Expr, b: Expr, env: Bounds) -> Linear:
    if measure(b, env).low < 1:
        return Linear({Binary("floordiv", a, b): 1})
    form = linear(a)
    if a == b:
        return Linear(None, 1)
    scale, factors = monomial(b)
    whole, rest = _split(form, scale, factors)
    if is_within(rest, b, env):
        return whole
    dividend = _written(rest, a, form)
    if dividend is None or not (whole.terms or whole.constant):
        return Linear({Binary("floordiv", a, b): 1})
    return whole.plus(Linear({Binary("floordiv", dividend, b): 1}))


def _constant_floormod(node: Binary, divisor: int, env: Bounds) -> Expr:
    form = linear(node.a)
    rest = Linear(None, form.constant)
    for key, scale in form.terms.items():
        if scale % divisor == 0:
            continue
        # x % (C * k) and x leave the same remainder by C.
        inner = as_int(key.b) if isinstance(key, Binary) and key.op == "floormod" else None
        if inner and isinstance(key, Binary) and scale * inner % divisor == 0:
            rest = rest.plus(linear(key.a), scale)
        else:
            rest.add(key, scale)
    low, high = form_range(rest, env)
    if -math.inf < low and high < math.inf and low // divisor == high // divisor:
        whole = int(low // divisor) * divisor
        return _kept(rest.shifted(-whole), node, form)
    if not -divisor < rest.constant < divisor:
        rest = Linear(rest.terms, rest.constant % divisor)
    common = math.gcd(divisor, *rest.terms.values())
    dividend = _written(rest, node.a, form)
    if dividend is None:
        return node
    if common > 1:
        # A common factor g: (g t + c) mod g d is g ((t + floor(c / g)) mod d) + c mod g.
        terms = {key: scale // common for key, scale in rest.terms.items()}
        inner_sum = to_expr(Linear(terms, rest.constant // common), node.dtype)
        if inner_sum is None:
            return node
        part = Binary("floormod", inner_sum, const(divisor // common, node.dtype))
        return rendered(Linear({part: common}, rest.constant % common), node)
    found = _without_small_part(rest, divisor, node, env)
    if found is not None:
        return found
    return node if dividend is node.a else Binary("floormod", dividend, node.b)


def _without_small_part(rest: Linear, divisor: int, node: Binary, env: Bounds) -> Expr | None:
    """Take out what is less than a factor g of all else: (g t + r) mod g d is g (t mod d) + r."""
    large = {key: scale for key, scale in rest.terms.items() if math.gcd(scale, divisor) > 1}
    factor = math.gcd(divisor, *large.values())
    small = rest.plus(Linear(large), -1)
    if not large or factor == 1 or not is_within(small, const(factor, node.dtype), env):
        return None
    terms = to_expr(Linear({key: scale // factor for key, scale in large.items()}), node.dtype)
    if terms is None:
        return None
    part = Binary("floormod", terms, const(divisor // factor, node.dtype))
    return rendered(small.plus(Linear({part: factor})), node)


def _symbolic_floormod(node: Binary, env: Bounds) -> Expr:
    form = linear(node.a)
    scale, factors = monomial(node.b)
    if scale == 0:
        return node
    # For b == 0 both sides are 0: no proof is needed to drop multiples of b.
    _, rest = _split(form, scale, factors)
    if is_within(rest, node.b, env):
        return _kept(rest, node, form)
    for key, coefficient in rest.terms.items():
        if isinstance(key, Binary) and key.op == "floormod" and measure(key.b, env).low > 0:
            multiple, left = _split(linear(key.b), scale, factors)
            has_multiple = bool(multiple.terms or multiple.constant)
            if has_multiple and not left.terms and not left.constant:
                rest = rest.plus(Linear({key: -coefficient})).plus(linear(key.a), coefficient)
                break
    dividend = _written(rest, node.a, form)
    if dividend is None or dividend is node.a:
        return node
    return Binary("floormod", dividend, node.b)


def is_within(form: Linear, bound: Expr, env: Bounds) -> bool:
    """Return whether ``0 <= form < bound`` is proved."""
    if form_range(form, env)[0] < 0 and not never_negative(form, env):
        return False
    return never_negative(linear(bound).plus(form, -1).shifted(-1), env)


def _split(form: Linear, scale: int, factors: tuple[Expr, ...]) -> tuple[Linear, Linear]:
    """Split ``form == divisor * whole + rest`` for ``divisor == scale * factors``, ``scale != 0``.

    The constant goes to ``rest`` unless nothing else does.
    """
    whole, rest = Linear(), Linear(None, form.constant)
    for key, coefficient in form.terms.items():
        others = without(factors_of(key), factors) if coefficient % scale == 0 else None
        if others is None:
            rest.add(key, coefficient)
        elif others:
            whole.add(key_of(others), coefficient // scale)
        else:
            whole.constant += coefficient // scale
    return whole, rest


def _is_same(a: Linear, b: Linear) -> bool:
    return a.constant == b.constant and a.terms == b.terms


def _written(rest: Linear, written: Expr, form: Linear) -> Expr | None:
    """Return the expression of ``rest``: as ``written`` where that has the same form."""
    return written if _is_same(rest, form) else to_expr(rest, written.dtype)


def _kept(rest: Linear, node: Binary, form: Linear) -> Expr:
    """Return the expression of ``rest`` for the remainder ``node``, or ``node``."""
    found = _written(rest, node.a, form)
    return node if found is None else found
