# SPDX-License-Identifier: Apache-2.0
"""Counterexamples: values of the variables at which a form is negative.

Most questions about guards have the answer "not always", and one example says so much sooner than
a search for a proof that fails.
"""

from __future__ import annotations

from typing import Final, Literal

from axisfold.analysis.domains import Bounds, NoValue, Point
from axisfold.analysis.linear import Linear, factors_of
from axisfold.ir import build
from axisfold.ir.expr import Binary, Cast, Const, Expr, Var

# Sizes at which forms are tried, and which loops stand at their last round, not the first: all,
# none, or those of a variable number of rounds, where the rests of arrays are.
_Last = Literal["all", "none", "variable"]
_POINTS: Final[tuple[tuple[int, _Last], ...]] = (
    (1, "all"), (1_000_003, "none"), (1_000_003, "all"), (1_000_003, "variable"),
)  # fmt: skip
# Shifts are left to proofs, since the numbers they make have no bound.
_OPERATIONS: Final = frozenset({"add", "sub", "mul", "min", "max", "floordiv", "floormod"})


def is_refuted(form: Linear, env: Bounds) -> bool:
    """Return whether a form is negative for some values of the variables; False when unsure."""
    return any(_is_negative_at(form, env, size, last) for size, last in _POINTS)


def _is_negative_at(form: Linear, env: Bounds, size: int, last: _Last) -> bool:
    try:
        point = _point(env, size, last)
        return point is not None and _total(form, point) < 0
    except NoValue:
        return False


def _point(env: Bounds, size: int, last: _Last) -> Point | None:
    """Return values of an environment's variables, None where there are none to try."""
    if (size, last) not in env.points:
        try:
            env.points[size, last] = _found_point(env, size, last)
        except NoValue:
            env.points[size, last] = None
    return env.points[size, last]


def _found_point(env: Bounds, size: int, last: _Last) -> Point | None:
    point, inside = Point(size), dict(env)
    if env.outer is not None:
        around = _point(env.outer, size, last)
        if around is None:
            return None
        point.update(around)
        var, domain = inside.popitem()
        inside = {var: domain}
    for var, domain in inside.items():
        low = _value(domain.min, point)
        high = low + _value(domain.extent, point) - 1
        if high < low:
            return None
        if var.is_size:
            point[var] = min(max(size, low), high)
        else:
            is_last = last == "all" or (last == "variable" and not isinstance(domain.extent, Const))
            point[var] = high if is_last else low
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
