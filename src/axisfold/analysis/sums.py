# SPDX-License-Identifier: Apache-2.0
"""Rules for sums and products: merge equal terms, keep the written shape otherwise."""

from __future__ import annotations

from axisfold.analysis.division import divide
from axisfold.analysis.domains import Bounds
from axisfold.analysis.intervals import measure
from axisfold.analysis.linear import (
    Linear,
    Product,
    factors_of,
    has_product_of_sum,
    key_of,
    leaves,
    linear,
    monomial,
    rendered,
    spread,
    to_expr,
    without,
)
from axisfold.ir.build import as_int
from axisfold.ir.expr import Binary, Const, Expr


def simplify_sum(node: Binary, env: Bounds) -> Expr:
    """Simplify an addition or a subtraction whose operands are simple already."""
    form, is_tidy = _gathered(node)
    result: Expr = node
    if not is_tidy:
        result = rendered(form, node)
        if result == node:
            result = node
    folded = _recombined(form, env)
    if folded is not None:
        return rendered(folded, result)
    if len(form.terms) < 2 or not has_product_of_sum(form):
        return result
    wide = spread(form)
    folded = _recombined(wide, env)
    if folded is not None:
        return rendered(folded, result)
    if len(wide.terms) <= len(form.terms):
        smaller = to_expr(wide, node.dtype)
        if smaller is not None and node_count(smaller) < node_count(result):
            return smaller
    return result


def simplify_product(node: Binary, env: Bounds) -> Expr:
    """Simplify a multiplication whose operands are simple already."""
    a, b = node.a, node.b
    if isinstance(a, Const):
        a, b = b, a
    factor = as_int(b)
    if factor is None:
        return node
    if factor == 0:
        return b
    if factor == 1:
        return a
    if isinstance(a, Binary) and a.op == "mul" and isinstance(a.b, Const):
        return rendered(linear(node), node)
    if isinstance(a, Const):
        return rendered(linear(node), node)
    return node if b is node.b else Binary("mul", a, b)


def node_count(root: Expr) -> int:
    """Return the number of nodes of an expression, written out as a tree."""
    total, stack = 0, [root]
    while stack:
        node = stack.pop()
        total += 1
        if isinstance(node, Binary):
            stack.append(node.a)
            stack.append(node.b)
        else:
            stack.extend(child for child in node.children() if isinstance(child, Expr))
    return total


def _gathered(node: Binary) -> tuple[Linear, bool]:
    """Return the normal form, and whether the written form is as good."""
    form = Linear()
    count = constants = 0
    is_tidy = True
    for leaf, sign in leaves(node):
        coefficient, factors = monomial(leaf)
        if factors:
            count += 1
            form.add(key_of(factors), sign * coefficient)
            is_tidy = is_tidy and coefficient > 0
        else:
            constants += 1
            form.constant += sign * coefficient
    if constants:
        last = as_int(node.b)
        is_tidy = is_tidy and constants == 1 and last is not None and last > 0
    object.__setattr__(node, "_linear", form)
    return form, is_tidy and len(form.terms) == count


def _recombined(form: Linear, env: Bounds) -> Linear | None:
    """Use ``f % C == f - C * (f // C)`` where that makes the sum shorter."""
    remainders = []
    has_quotient = False
    for key in form.terms:
        for factor in factors_of(key):
            if isinstance(factor, Binary):
                if factor.op == "floormod":
                    remainders.append((key, factor))
                elif factor.op == "floordiv":
                    has_quotient = True
    if not has_quotient:
        return None
    for key, atom in remainders:
        for dividend in _congruent(atom, form):
            trial = _with_remainder(form, key, atom, dividend, env)
            if trial is not None:
                return trial
    return _as_remainder(form, env)


def _congruent(atom: Binary, form: Linear) -> list[Expr]:
    """Return dividends that leave the same remainder as ``atom``: its own, and ``f % (C * k)``."""
    found = [atom.a]
    modulus = as_int(atom.b)
    if not modulus:
        return found
    for key in form.terms:
        for factor in factors_of(key):
            if isinstance(factor, Binary) and factor.op == "floordiv" and factor.b == atom.b:
                inner = factor.a
                if isinstance(inner, Binary) and inner.op == "floormod":
                    outer = as_int(inner.b)
                    if outer and outer % modulus == 0 and _same_residue(inner.a, atom.a):
                        found.append(inner)
    return found


def _same_residue(a: Expr, b: Expr) -> bool:
    return a is b or a == b


def _with_remainder(
    form: Linear, key: Expr | Product, atom: Binary, dividend: Expr, env: Bounds
) -> Linear | None:
    """Write ``dividend - C * (dividend // C)`` for a remainder; None where that is no shorter."""
    divisor = as_int(atom.b)
    if divisor == 0 or (divisor is None and not is_nonzero(atom.b, env)):
        return None
    found = measure(dividend, env)
    if found.is_data:
        return None
    rest = without(factors_of(key), (atom,)) or ()
    scale = form.terms[key]
    outer = Linear({key_of(rest): scale}) if rest else Linear(None, scale)
    quotient = divide(dividend, atom.b, env)
    value = linear(dividend).plus(linear(atom.b).times(quotient), -1)
    trial = form.plus(Linear({key: -scale})).plus(outer.times(value))
    shorter = len(trial.terms) < len(form.terms) or (
        len(trial.terms) == len(form.terms) and _divisions(trial) < _divisions(form)
    )
    return trial if shorter else None


def _as_remainder(form: Linear, env: Bounds) -> Linear | None:
    """Write ``f % C`` for ``f - C * (f // C)``."""
    for key, scale in form.terms.items():
        for atom in factors_of(key):
            if not isinstance(atom, Binary) or atom.op != "floordiv":
                continue
            divisor = as_int(atom.b)
            if divisor is None:
                rest = without(factors_of(key), (atom, atom.b))
                outer = -scale
                if rest is None or not is_nonzero(atom.b, env):
                    continue
            else:
                rest = without(factors_of(key), (atom,)) or ()
                if divisor == 0 or scale % divisor:
                    continue
                outer = -(scale // divisor)
            if measure(atom, env).is_data:
                continue
            factor = Linear({key_of(rest): outer}) if rest else Linear(None, outer)
            remainder = Linear({Binary("floormod", atom.a, atom.b): 1})
            trial = form.plus(Linear({key: -scale})).plus(factor.times(linear(atom.a)), -1)
            if len(trial.terms) < len(form.terms) - 1 and abs(trial.constant) <= abs(form.constant):
                return trial.plus(factor.times(remainder))
    return None


def _divisions(form: Linear) -> int:
    return sum(
        isinstance(f, Binary) and f.op in ("floordiv", "floormod")
        for key in form.terms
        for f in factors_of(key)
    )


def is_nonzero(expr: Expr, env: Bounds) -> bool:
    """Return whether an expression is provably not 0."""
    found = measure(expr, env)
    return found.low > 0 or found.high < 0
