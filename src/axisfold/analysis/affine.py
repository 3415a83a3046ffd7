# SPDX-License-Identifier: Apache-2.0
"""Affine index expressions: the stride with which a variable moves a flat index."""

from __future__ import annotations

from collections.abc import Collection

from axisfold.analysis.domains import NOTHING, Bounds
from axisfold.analysis.intervals import measure
from axisfold.analysis.linear import (
    Linear,
    expanded,
    factors_of,
    is_index,
    key_of,
    to_expr,
)
from axisfold.analysis.prove import is_widening
from axisfold.analysis.simplify import simplify
from axisfold.dtypes import DType
from axisfold.ir.build import cast
from axisfold.ir.expr import Cast, Expr, Var
from axisfold.ir.walk import uses


def linear_form(
    expr: Expr, variables: Collection[Var], env: Bounds | None = None
) -> tuple[dict[Var, Expr], Expr] | None:
    """Write ``expr`` as ``sum(coefficient * var) + rest``.

    The expression is simplified first, so that split and fused indices are put together again:
    ``(f // C) * C + f % C`` moves by 1 with ``f``.

    Parameters
    ----------
    expr
        A scalar int32 or int64 expression.
    variables
        The variables to take out.
    env
        Domains of variables, outermost first.

    Returns
    -------
    tuple of dict and Expr, or None
        The coefficient of each variable (0 where it does not occur) and the rest, all of the
        expression's type and free of ``variables``; None where the expression is not affine.
    """
    if not is_index(expr.dtype):
        return None
    chosen = frozenset(variables)
    parts: dict[Var, Linear] = {var: Linear() for var in variables}
    simple = simplify(expr, env)
    if measure(simple, NOTHING if env is None else env).is_data:
        # Conversions of data wrap first: they are not opened.
        form = expanded(simple)
    else:
        form = _through_casts(simple, expr.dtype, chosen)
    rest = Linear(None, form.constant)
    for key, scale in form.terms.items():
        factors = factors_of(key)
        moving = [factor for factor in factors if uses(factor, chosen)]
        if not moving:
            rest.add(key, scale)
            continue
        var = moving[0]
        if len(moving) > 1 or not isinstance(var, Var):
            return None
        others = tuple(factor for factor in factors if factor is not var)
        if others:
            parts[var].add(key_of(others), scale)
        else:
            parts[var].constant += scale
    found = {var: _written(part, expr.dtype, env) for var, part in parts.items()}
    remainder = _written(rest, expr.dtype, env)
    coefficients = {var: part for var, part in found.items() if part is not None}
    if remainder is None or len(coefficients) < len(found):
        return None
    return coefficients, remainder


def coefficient(expr: Expr, var: Var, env: Bounds | None = None) -> Expr | None:
    """Return by how much ``expr`` grows when ``var`` grows by 1; None where that varies."""
    form = linear_form(expr, (var,), env)
    return None if form is None else form[0][var]


def _written(form: Linear, dtype: DType, env: Bounds | None) -> Expr | None:
    expr = to_expr(form, dtype)
    return None if expr is None else simplify(expr, env)


def _through_casts(expr: Expr, dtype: DType, variables: frozenset[Var]) -> Linear:
    """Expand ``expr``; a conversion of an affine index is the affine index of conversions."""
    form = expanded(expr)
    result = Linear(None, form.constant)
    for key, scale in form.terms.items():
        product = Linear(None, scale)
        for factor in factors_of(key):
            is_opened = isinstance(factor, Cast) and is_widening(factor) and uses(factor, variables)
            if is_opened and isinstance(factor, Cast):
                inner = _through_casts(factor.value, factor.value.dtype, variables)
                product = product.times(_converted(inner, dtype, variables))
            else:
                product = product.times(Linear({factor: 1}))
        result = result.plus(product)
    return result


def _converted(form: Linear, dtype: DType, variables: frozenset[Var]) -> Linear:
    """Convert the atoms that stay in coefficients; the variables are counted, not written."""
    result = Linear(None, form.constant)
    for key, scale in form.terms.items():
        product = Linear(None, scale)
        for factor in factors_of(key):
            atom = factor if factor in variables else cast(dtype, factor)
            product = product.times(Linear({atom: 1}))
        result = result.plus(product)
    return result
