# SPDX-License-Identifier: Apache-2.0
"""Rules for comparisons, truth values, minima, maxima and choices."""

from __future__ import annotations

from typing import Final

from axisfold.analysis.domains import Bounds
from axisfold.analysis.intervals import measure
from axisfold.analysis.linear import Linear, is_index, linear, to_expr
from axisfold.analysis.prove import never_negative
from axisfold.analysis.refute import is_false_somewhere, outcomes
from axisfold.ir.build import FALSE, TRUE, binary, compare
from axisfold.ir.expr import (
    Binary,
    Call,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    IfThenElse,
    Not,
    Select,
)

_NEGATED: Final[dict[CompareOp, CompareOp]] = {
    "lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq",
}  # fmt: skip


def simplify_compare(node: Compare, env: Bounds) -> Expr:
    """Decide a comparison of integers, or drop what both sides share."""
    if isinstance(node.a, Const) and isinstance(node.b, Const):
        return compare(node.op, node.a, node.b)
    if not node.a.dtype.is_integer or node.a.dtype.lanes > 1:
        return node
    verdict = decide(node, env)
    if verdict is not None:
        return TRUE if verdict else FALSE
    if not is_index(node.a.dtype) or not _is_exact(node.a, env) or not _is_exact(node.b, env):
        return node
    return _without_common_terms(node)


def decide(node: Compare, env: Bounds) -> bool | None:
    """Return the truth of an integer comparison where it is always the same, else None."""
    a, b = node.a, node.b
    if a is b or a == b:
        return node.op in ("le", "ge", "eq")
    x, y = measure(a, env), measure(b, env)
    known = _by_ranges(node.op, x.low - y.high, x.high - y.low)
    if known is not None or not (_is_exact(a, env) and _is_exact(b, env)):
        return known
    if not is_index(a.dtype):
        return None
    seen: set[bool] = set()
    for outcome in outcomes(node.op, a, b, env):
        seen.add(outcome)
        if len(seen) == 2:
            return None
    difference = linear(a).plus(linear(b), -1)
    return _by_proof(node.op, difference, env, seen)


def simplify_extremum(node: Binary, env: Bounds) -> Expr:
    """Simplify a minimum or maximum of index arithmetic."""
    a, b = node.a, node.b
    if a is b or a == b:
        return a
    if isinstance(a, Const) and isinstance(b, Const):
        return binary(node.op, a, b)
    op: CompareOp = "le" if node.op == "min" else "ge"
    for x, y in ((a, b), (b, a)):
        if decide_order(op, x, y, env):
            return x
    if isinstance(a, Binary) and a.op == node.op:
        if isinstance(a.b, Const) and isinstance(b, Const):
            return Binary(node.op, a.a, binary(node.op, a.b, b))
        for inner, other in ((a.a, a.b), (a.b, a.a)):
            one = simplify_extremum(Binary(node.op, inner, b), env)
            if one is inner or one is b:
                return binary(node.op, other, one) if one is b else a
    return node


def decide_order(op: CompareOp, a: Expr, b: Expr, env: Bounds) -> bool:
    """Return whether ``a op b`` is proved, for ``le`` or ``ge``."""
    x, y = measure(a, env), measure(b, env)
    known = _by_ranges(op, x.low - y.high, x.high - y.low)
    if known is not None or not (_is_exact(a, env) and _is_exact(b, env)):
        return bool(known)
    if is_false_somewhere(op, a, b, env):
        return False
    difference = linear(b).plus(linear(a), -1)
    form = difference if op == "le" else difference.scaled(-1)
    return never_negative(form, env, is_tried=True)


def simplify_logic(node: Expr, env: Bounds) -> Expr:
    """Simplify and, or, not, likely, choices and conversions whose operands are simple."""
    if isinstance(node, Binary):
        if node.a is node.b or node.a == node.b:
            return node.a
        return binary(node.op, node.a, node.b) if _has_const(node) else node
    if isinstance(node, Not):
        return _negation(node)
    if isinstance(node, (Select, IfThenElse)):
        if isinstance(node.condition, Const):
            return node.true_value if node.condition.value else node.false_value
        return node.true_value if node.true_value == node.false_value else node
    if isinstance(node, Call) and node.name == "likely":
        return node.args[0] if isinstance(node.args[0], Const) else node
    return node


def _has_const(node: Binary) -> bool:
    return isinstance(node.a, Const) or isinstance(node.b, Const)


def _negation(node: Not) -> Expr:
    inner = node.a
    if isinstance(inner, Const):
        return FALSE if inner.value else TRUE
    if isinstance(inner, Not):
        return inner.a
    # Not so for floats: a NaN makes both `<` and `>=` false.
    if isinstance(inner, Compare) and inner.a.dtype.is_integer:
        return Compare(_NEGATED[inner.op], inner.a, inner.b)
    return node


def _by_ranges(op: CompareOp, low: int | float, high: int | float) -> bool | None:
    """Decide ``difference op 0`` for a difference in [low, high]; NaN ends decide nothing."""
    if op in ("eq", "ne"):
        if low > 0 or high < 0:
            return op == "ne"
        return op == "eq" if low == high == 0 else None
    if op in ("gt", "ge"):
        low, high = -high, -low
    if op in ("lt", "gt"):
        return True if high < 0 else False if low >= 0 else None
    return True if high <= 0 else False if low > 0 else None


def _by_proof(op: CompareOp, difference: Linear, env: Bounds, seen: set[bool]) -> bool | None:
    """Decide ``difference op 0`` by proof, of what has been seen at most."""
    if not difference.terms:
        return _by_ranges(op, difference.constant, difference.constant)
    opposite = difference.scaled(-1)
    if op in ("eq", "ne"):
        if (op == "eq") in seen:
            return None
        apart = (difference.shifted(-1), opposite.shifted(-1))
        return op == "ne" if any(never_negative(form, env) for form in apart) else None
    if op in ("gt", "ge"):
        difference, opposite = opposite, difference
    offset = -1 if op in ("lt", "gt") else 0
    if False not in seen and never_negative(opposite.shifted(offset), env, is_tried=True):
        return True
    is_false = True not in seen and never_negative(
        difference.shifted(-1 - offset), env, is_tried=True
    )
    return False if is_false else None


def _is_exact(expr: Expr, env: Bounds) -> bool:
    """Return whether no arithmetic in ``expr`` can wrap: a bare load is exact, its double not."""
    return not isinstance(expr, (Binary, Cast)) or not measure(expr, env).is_data


def _without_common_terms(node: Compare) -> Expr:
    """Cancel terms that occur on both sides: ``i + 1 < i + n`` is ``1 < n``."""
    left, right = linear(node.a), linear(node.b)
    shared = [key for key in left.terms if key in right.terms]
    both_shift = bool(left.constant and right.constant and left.terms and right.terms)
    if not shared and not both_shift:
        return node
    left, right = left.shifted(0), right.shifted(0)  # of our own
    for key in shared:
        total = left.terms[key] - right.terms[key]
        left.terms.pop(key), right.terms.pop(key)
        (left if total > 0 else right).add(key, abs(total))
    if both_shift or (shared and left.constant and right.constant):
        total = left.constant - right.constant
        left.constant, right.constant = max(total, 0), max(-total, 0)
    dtype = node.a.dtype
    a, b = to_expr(left, dtype), to_expr(right, dtype)
    return node if a is None or b is None else Compare(node.op, a, b)
