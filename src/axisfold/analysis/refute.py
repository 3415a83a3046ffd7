# SPDX-License-Identifier: Apache-2.0
"""Counterexamples: values of the variables at which a form is negative.

Most questions about guards have the answer "not always", and one example says so much sooner than
a search for a proof that fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from axisfold.analysis.domains import Bounds
from axisfold.analysis.linear import Linear, factors_of
from axisfold.ir.expr import Binary, Cast, Const, Expr, Var

# Sizes at which forms are tried, and whether loops stand at their last round.
_POINTS: Final = ((1, True), (1_000_003, True), (1_000_003, False))
# Expressions that are deeper than this are left to proofs.
_DEPTH: Final = 60


class _Unknown(Exception):
    """An expression that is no arithmetic of indices."""


def is_refuted(form: Linear, env: Bounds) -> bool:
    """Return whether a form is negative for some values of the variables; False when unsure."""
    return any(_is_negative_at(form, env, size, is_last) for size, is_last in _POINTS)


def _is_negative_at(form: Linear, env: Bounds, size: int, is_last: bool) -> bool:
    try:
        point = _point(env, size, is_last)
        return point is not None and _total(form, point, size) < 0
    except _Unknown:
        return False


def _point(env: Bounds, size: int, is_last: bool) -> Mapping[Var, int] | None:
    """Return values of an environment's variables, None where there are none to try."""
    if (size, is_last) not in env.points:
        try:
            env.points[size, is_last] = _found_point(env, size, is_last)
        except _Unknown:
            env.points[size, is_last] = None
    return env.points[size, is_last]


def _found_point(env: Bounds, size: int, is_last: bool) -> Mapping[Var, int] | None:
    point: dict[Var, int] = {}
    for var, domain in env.items():
        low = _value(domain.min, point, size, 0)
        last = low + _value(domain.extent, point, size, 0) - 1
        if last < low:
            return None
        if var.is_size:
            point[var] = min(max(size, low), last)
        else:
            point[var] = last if is_last else low
    return point


def _total(form: Linear, point: Mapping[Var, int], size: int) -> int:
    total = form.constant
    for key, scale in form.terms.items():
        for factor in factors_of(key):
            scale *= _value(factor, point, size, 0)
        total += scale
    return total


def _value(node: Expr, point: Mapping[Var, int], size: int, depth: int) -> int:
    if isinstance(node, Const):
        return int(node.value)
    if isinstance(node, Var):
        if node in point:
            return point[node]
        if node.is_size:
            return size
        raise _Unknown
    if isinstance(node, Cast) and node.dtype.kind == "int" and depth < _DEPTH:
        return _value(node.value, point, size, depth + 1)
    if not isinstance(node, Binary) or depth == _DEPTH:
        raise _Unknown
    a, b = _value(node.a, point, size, depth + 1), _value(node.b, point, size, depth + 1)
    match node.op:
        case "add":
            return a + b
        case "sub":
            return a - b
        case "mul":
            return a * b
        case "min":
            return min(a, b)
        case "max":
            return max(a, b)
        case "floordiv" if b:
            return a // b
        case "floormod" if b:
            return a % b
        case _:
            raise _Unknown
