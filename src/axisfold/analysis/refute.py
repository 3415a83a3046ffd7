# SPDX-License-Identifier: Apache-2.0
"""Counterexamples: values of the variables at which a form is negative.

Most questions about guards have the answer "not always", and one example says so much sooner than
a search for a proof that fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from axisfold.analysis.domains import Bounds
from axisfold.analysis.evaluate import evaluate
from axisfold.analysis.linear import Linear, factors_of
from axisfold.ir.expr import Binary, Cast, Const, Expr, Node, Var
from axisfold.ir.walk import post_order

# Sizes at which forms are tried, and whether loops stand at their last round.
_POINTS: Final = ((1, True), (1_000_003, True), (1_000_003, False))
# Shifts are left to proofs, since the numbers they make have no bound.
_OPERATIONS: Final = frozenset({"add", "sub", "mul", "min", "max", "floordiv", "floormod"})


class _Unknown(Exception):
    """An expression that is no arithmetic of indices."""


class _Point(dict[Var, int]):
    """Values of variables; sizes that have none of their own are all alike."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def __missing__(self, var: Var) -> int:
        if var.is_size:
            return self.size
        raise _Unknown


def is_refuted(form: Linear, env: Bounds) -> bool:
    """Return whether a form is negative for some values of the variables; False when unsure."""
    return any(_is_negative_at(form, env, size, is_last) for size, is_last in _POINTS)


def _is_negative_at(form: Linear, env: Bounds, size: int, is_last: bool) -> bool:
    try:
        point = _point(env, size, is_last)
        return point is not None and _total(form, point) < 0
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
    point = _Point(size)
    for var, domain in env.items():
        low = _value(domain.min, point)
        last = low + _value(domain.extent, point) - 1
        if last < low:
            return None
        if var.is_size:
            point[var] = min(max(size, low), last)
        else:
            point[var] = last if is_last else low
    return point


def _total(form: Linear, point: Mapping[Var, int]) -> int:
    total = form.constant
    for key, scale in form.terms.items():
        for factor in factors_of(key):
            scale *= _value(factor, point)
        total += scale
    return total


def _value(root: Expr, point: Mapping[Var, int]) -> int:
    if not all(map(_is_arithmetic, post_order(root))):
        raise _Unknown
    return evaluate(root, point)


def _is_arithmetic(node: Node) -> bool:
    if isinstance(node, Binary):
        return node.op in _OPERATIONS
    return isinstance(node, (Var, Const)) or (isinstance(node, Cast) and node.dtype.kind == "int")
