# SPDX-License-Identifier: Apache-2.0
"""Counterexamples: values of the variables at which a form is negative.

Most questions about guards have the answer "not always", and one example says so much sooner than
a search for a proof that fails.
"""

from __future__ import annotations

from typing import Final

from axisfold.analysis.domains import Bounds, NoValue, Point
from axisfold.analysis.linear import Linear, factors_of
from axisfold.ir import build
from axisfold.ir.expr import Binary, Cast, Const, Expr, Var

# Sizes at which forms are tried, and whether loops stand at their last round.
_POINTS: Final = ((1, True), (1_000_003, True), (1_000_003, False))
# Shifts are left to proofs, since the numbers they make have no bound.
_OPERATIONS: Final = frozenset({"add", "sub", "mul", "min", "max", "floordiv", "floormod"})


def is_refuted(form: Linear, env: Bounds) -> bool:
    """Return whether a form is negative for some values of the variables; False when unsure."""
    return any(_is_negative_at(form, env, size, is_last) for size, is_last in _POINTS)


def _is_negative_at(form: Linear, env: Bounds, size: int, is_last: bool) -> bool:
    try:
        point = _point(env, size, is_last)
        return point is not None and _total(form, point) < 0
    except NoValue:
        return False


def _point(env: Bounds, size: int, is_last: bool) -> Point | None:
    """Return values of an environment's variables, None where there are none to try."""
    if (size, is_last) not in env.points:
        try:
            env.points[size, is_last] = _found_point(env, size, is_last)
        except NoValue:
            env.points[size, is_last] = None
    return env.points[size, is_last]


def _found_point(env: Bounds, size: int, is_last: bool) -> Point | None:
    point, inside = Point(size), dict(env)
    if env.outer is not None:
        around = _point(env.outer, size, is_last)
        if around is None:
            return None
        point.update(around)
        var, domain = inside.popitem()
        inside = {var: domain}
    for var, domain in inside.items():
        low = _value(domain.min, point)
        last = low + _value(domain.extent, point) - 1
        if last < low:
            return None
        if var.is_size:
            point[var] = min(max(size, low), last)
        else:
            point[var] = last if is_last else low
    return point


def _total(form: Linear, point: Point) -> int:
    total = form.constant
    for key, scale in form.terms.items():
        for factor in factors_of(key):
            scale *= _value(factor, point)
        total += scale
    return total


def _value(root: Expr, point: Point) -> int:
    if isinstance(root, Var):
        return point[root]
    known, stack = point.known, [root]
    while stack:
        node = stack[-1]
        if id(node) in known:
            stack.pop()
            continue
        parts = _operands(node)
        missing = [part for part in parts if id(part) not in known]
        if missing:
            stack += missing
            continue
        stack.pop()
        values = [known[id(part)][1] for part in parts]
        known[id(node)] = (node, _applied(node, values, point))
    return known[id(root)][1]


def _operands(node: Expr) -> tuple[Expr, ...]:
    if isinstance(node, Binary):
        return (node.a, node.b)
    return (node.value,) if isinstance(node, Cast) else ()


def _applied(node: Expr, values: list[int], point: Point) -> int:
    match node:
        case Binary() if node.op in _OPERATIONS:
            return build.fold_integers(node.op, values[0], values[1])
        case Var():
            return point[node]
        case Const():
            return int(node.value)
        case Cast() if node.dtype.kind == "int":
            return values[0]
        case _:
            raise NoValue
