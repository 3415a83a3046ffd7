# SPDX-License-Identifier: Apache-2.0
"""Counterexamples: values of the variables at which a form is negative, or a comparison not so.

Most questions about guards have the answer "not always", and one example says so much sooner than
a search for a proof that fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from axisfold.analysis.domains import Bounds, NoValue, Point
from axisfold.analysis.linear import Linear, factors_of
from axisfold.ir import build
from axisfold.ir.expr import Binary, Cast, CompareOp, Const, Expr, Var

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


def is_false_somewhere(op: CompareOp, a: Expr, b: Expr, env: Bounds) -> bool:
    """Return whether a comparison of indices does not always hold; False when unsure."""
    return any(not outcome for outcome in outcomes(op, a, b, env))


def outcomes(op: CompareOp, a: Expr, b: Expr, env: Bounds) -> Iterator[bool]:
    """Yield the truth of a comparison of indices for some values of the variables."""
    for size, last in _POINTS:
        point = _point(env, size, last)
        if point is None:
            continue
        try:
            x, y = _value(a, point), _value(b, point)
        except NoValue:
            continue
        yield build.fold_comparison(op, x, y)


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
    point, added = Point(size), tuple(env)
    if env.outer is not None:
        around = _point(env.outer, size, last)
        if around is None:
            return None
        point.update(around)
        added = added[-1:]
    for var in added:
        domain = env[var]
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
    value = _known(root, point)
    if value is not None:
        return value
    known, stack = point.known, [root]
    while stack:
        node = stack[-1]
        if isinstance(node, Binary) and node.op in _OPERATIONS:
            a, b = _known(node.a, point), _known(node.b, point)
            if a is None or b is None:
                stack += [part for part, of in ((node.b, b), (node.a, a)) if of is None]
                continue
            value = build.fold_integers(node.op, a, b)
        elif isinstance(node, Cast) and node.dtype.kind == "int":
            value = _known(node.value, point)
            if value is None:
                stack.append(node.value)
                continue
        else:
            raise NoValue
        stack.pop()
        known[id(node)] = (node, value)
    return known[id(root)][1]


def _known(node: Expr, point: Point) -> int | None:
    """Return the value of a variable, of a constant, or of what has been evaluated."""
    if not node.child_fields:
        return point[node] if isinstance(node, Var) else int(node.value)  # type: ignore[attr-defined]
    found = point.known.get(id(node))
    return None if found is None else found[1]
