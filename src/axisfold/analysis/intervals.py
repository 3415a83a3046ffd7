# SPDX-License-Identifier: Apache-2.0
"""Interval arithmetic: which integers an expression can be, as constants."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from axisfold.analysis.domains import NOTHING, Bounds, Interval, Measure
from axisfold.analysis.linear import Key, Linear, factors_of
from axisfold.dtypes import DType, highest, lowest
from axisfold.ir.expr import (
    Binary,
    Broadcast,
    Call,
    Cast,
    Const,
    Expr,
    IfThenElse,
    Node,
    Ramp,
    Select,
    Var,
)

Range = tuple[int | float, int | float]
_EVERYTHING: Final[Range] = (-math.inf, math.inf)
# Python's floats overflow near 2**1024; any bound this far out is as good as none.
_FAR: Final = 1 << 512


def constant_interval(expr: Expr, env: Bounds | None = None) -> Interval:
    """Return an interval that contains every value of an integer (or bool) expression.

    Parameters
    ----------
    expr
        The expression; each lane of a vector lies in the interval.
    env
        Domains of variables.  Others are unbounded, or >= 0 for a size.

    Notes
    -----
    Arithmetic of int32 and int64 variables is assumed not to overflow.  Arithmetic on loaded
    data, and on any narrower or unsigned type, wraps.
    """
    env = NOTHING if env is None else env
    env.forget()
    found = measure(expr, env)
    return Interval(found.low, found.high)


def measure(expr: Expr, env: Bounds) -> Measure:
    """Return the interval of ``expr`` and whether it holds data, remembered by ``env``."""
    memory = env.measures
    known = memory.get(id(expr))
    if known is not None:
        return known
    if (outer := env.ranging(expr)) is not env:
        known = memory[id(expr)] = measure(expr, outer)
        return known
    stack: list[Expr] = [expr]
    while stack:
        node = stack[-1]
        if id(node) in memory:
            stack.pop()
            continue
        parts: list[Measure] = []
        for operand in _operands(node):
            known = memory.get(id(operand))
            if known is not None:
                parts.append(known)
            elif operand.child_fields:
                if (outer := env.ranging(operand)) is env:
                    stack.append(operand)
                else:
                    known = memory[id(operand)] = measure(operand, outer)
                    parts.append(known)
            else:  # half of all nodes
                known = memory[id(operand)] = _measured(operand, [], env)
                parts.append(known)
        if stack[-1] is node:
            stack.pop()
            memory[id(node)] = _measured(node, parts, env)
    return memory[id(expr)]


def form_range(form: Linear, env: Bounds) -> Range:
    """Return the range of a normal form."""
    low: int | float = form.constant
    high: int | float = form.constant
    for key, coefficient in form.terms.items():
        below, above = key_range(key, env)
        if coefficient < 0:
            below, above = above, below
        low += _times(coefficient, below)
        high += _times(coefficient, above)
    return low, high


def key_range(key: Key, env: Bounds) -> Range:
    """Return the range of a product of atoms."""
    first, *others = factors_of(key)
    found = measure(first, env)
    result: Range = (found.low, found.high)
    for factor in others:
        found = measure(factor, env)
        result = _mul(result, (found.low, found.high))
    return result


def _operands(node: Expr) -> tuple[Expr, ...]:
    """Return the children whose ranges decide the range of ``node``."""
    if isinstance(node, Binary):
        return (node.a, node.b)
    if not node.child_fields:
        return ()
    if isinstance(node, (Select, IfThenElse)):
        return (node.true_value, node.false_value)
    found: tuple[Node, ...] = ()
    if isinstance(node, (Cast, Broadcast, Ramp)) or (isinstance(node, Call) and node.args):
        found = node.children()
    return tuple(child for child in found if isinstance(child, Expr))


def _measured(node: Expr, parts: list[Measure], env: Bounds) -> Measure:
    dtype = node.dtype
    if isinstance(node, Const):
        if dtype.is_float:
            return Measure(node, -math.inf, math.inf, True)
        return Measure(node, int(node.value), int(node.value), False)
    if dtype.is_bool:
        return Measure(node, 0, 1, any(part.is_data for part in parts))
    if not dtype.is_integer:
        return Measure(node, -math.inf, math.inf, True)
    if isinstance(node, Var):
        low, high = _variable(node, env)
        if not _wraps(dtype):
            return Measure(node, low, high, False)
        return Measure(node, max(low, lowest(dtype)), min(high, highest(dtype)), True)
    ranges: list[Range] = [(part.low, part.high) for part in parts]
    is_data = _wraps(dtype) or any(part.is_data for part in parts)
    if isinstance(node, Binary) and node.op in _RULES:
        result = _RULES[node.op](*ranges)
        if is_data and node.op not in ("min", "max"):
            result = _fitted(result, dtype)
    elif isinstance(node, (Select, IfThenElse)):
        result = _hull(*ranges)
    elif isinstance(node, Cast):
        result, is_data = _converted(node, ranges[0], is_data)
    elif isinstance(node, Broadcast):
        result = ranges[0]
    elif isinstance(node, Ramp):
        last = _add(ranges[0], _mul(ranges[1], (node.lanes - 1, node.lanes - 1)))
        result = _hull(ranges[0], last)
    elif isinstance(node, Call) and node.name == "abs":
        magnitude = max(abs(ranges[0][0]), abs(ranges[0][1]))
        result = _fitted((0, magnitude), dtype)
        is_data = True
    else:
        result, is_data = _fitted(_EVERYTHING, dtype), True
    return Measure(node, result[0], result[1], is_data)


def _variable(var: Var, env: Bounds) -> Range:
    low, high = env.floor(var), math.inf
    if var not in env:
        return low, high
    domain = env[var]
    if var in (domain.min, domain.extent):
        return low, high
    # A domain reads outer variables only, so that this recursion is as deep as the loop nest.
    start, extent = measure(domain.min, env), measure(domain.extent, env)
    return max(low, start.low), start.high + extent.high - 1


def _wraps(dtype: DType) -> bool:
    """Return whether arithmetic of ``dtype`` is never index arithmetic."""
    return dtype.kind != "int" or dtype.bits < 32


def _fitted(found: Range, dtype: DType) -> Range:
    """Return the range of a result that wraps: ``found`` where it fits, else what is possible."""
    low, high = int(lowest(dtype)), int(highest(dtype))
    if low <= found[0] and found[1] <= high:
        return found
    if _wraps(dtype):
        return low, high
    return _EVERYTHING


def _converted(node: Cast, source: Range, is_data: bool) -> tuple[Range, bool]:
    origin, dtype = node.value.dtype, node.dtype
    if not origin.is_integer and not origin.is_bool:
        return _fitted(_EVERYTHING, dtype), True
    if origin.kind == "int" and dtype.kind == "int" and dtype.bits >= max(origin.bits, 32):
        return source, is_data
    return _fitted(source, dtype), is_data


def _hull(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), max(a[1], b[1])


def _times(a: int | float, b: int | float) -> int | float:
    if a == 0 or b == 0:
        return 0
    if isinstance(a, float) or isinstance(b, float):
        return math.inf if (a > 0) == (b > 0) else -math.inf
    product = a * b
    if -_FAR < product < _FAR:
        return product
    return math.inf if product > 0 else -math.inf


def _add(a: Range, b: Range) -> Range:
    return a[0] + b[0], a[1] + b[1]


def _sub(a: Range, b: Range) -> Range:
    return a[0] - b[1], a[1] - b[0]


def _mul(a: Range, b: Range) -> Range:
    corners = [_times(x, y) for x in a for y in b]
    return min(corners), max(corners)


def _negated(a: Range) -> Range:
    return -a[1], -a[0]


def _by_divisor(rule: Callable[[Range, Range], Range], a: Range, b: Range, sign: int) -> Range:
    """Apply a rule for divisors >= 1 to each part of a divisor; a zero divisor gives 0.

    ``sign`` times the rule of the negated operands is the rule for negative divisors.
    """
    found: list[Range] = []
    if b[1] >= 1:
        found.append(rule(a, (max(b[0], 1), b[1])))
    if b[0] <= -1:
        part = rule(_negated(a), (max(-b[1], 1), -b[0]))
        found.append(part if sign > 0 else _negated(part))
    if b[0] <= 0 <= b[1]:
        found.append((0, 0))
    return min(low for low, _ in found), max(high for _, high in found)


def _quotient(x: int | float, y: int | float) -> int | float:
    """Floor quotient for ``y >= 1``; either may be infinite."""
    if isinstance(y, float):
        return 0 if x >= 0 else -1
    return x if isinstance(x, float) else x // y


def _positive_div(a: Range, b: Range) -> Range:
    corners = [_quotient(x, y) for x in a for y in b]
    if -math.inf in a:
        corners.append(-math.inf)
    if math.inf in a:
        corners.append(math.inf)
    return min(corners), max(corners)


def _positive_mod(a: Range, b: Range) -> Range:
    if a[0] >= 0 and a[1] < b[0]:
        return a
    if b[0] == b[1] and _quotient(a[0], b[0]) == _quotient(a[1], b[0]) and b[0] < math.inf:
        start = _times(_quotient(a[0], b[0]), b[0])
        return a[0] - start, a[1] - start
    return 0, min(b[1] - 1, a[1]) if a[0] >= 0 else b[1] - 1


def _positive_truncdiv(a: Range, b: Range) -> Range:
    if a[0] >= 0:
        return _positive_div(a, b)
    if a[1] <= 0:
        return _negated(_positive_div(_negated(a), b))
    return -_quotient(-a[0], b[0]), _quotient(a[1], b[0])


def _positive_truncmod(a: Range, b: Range) -> Range:
    if a[0] >= 0:
        return _positive_mod(a, b)
    if a[1] <= 0:
        return _negated(_positive_mod(_negated(a), b))
    return -min(-a[0], b[1] - 1), min(a[1], b[1] - 1)


def _bitand(a: Range, b: Range) -> Range:
    highs = [x[1] for x in (a, b) if x[0] >= 0]
    return (0, min(highs)) if highs else _EVERYTHING


def _bitor(a: Range, b: Range) -> Range:
    if a[0] < 0 or b[0] < 0:
        return _EVERYTHING
    top = max(a[1], b[1])
    return 0, math.inf if isinstance(top, float) else (1 << top.bit_length()) - 1


def _shl(a: Range, b: Range) -> Range:
    # Counts that may reach the width of an int32 give 0, whatever the product is.
    if b[0] < 0 or b[1] > 30:
        return _EVERYTHING
    return _mul(a, (1 << int(b[0]), 1 << int(b[1])))


def _shr(a: Range, b: Range) -> Range:
    least = 1 << int(b[0]) if 0 <= b[0] < 64 else 1
    most = 1 << int(b[1]) if b[0] >= 0 and b[1] < 64 else math.inf
    return _positive_div(a, (least, most))


_RULES: Final[dict[str, Callable[[Range, Range], Range]]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "floordiv": lambda a, b: _by_divisor(_positive_div, a, b, 1),
    "floormod": lambda a, b: _by_divisor(_positive_mod, a, b, -1),
    "truncdiv": lambda a, b: _by_divisor(_positive_truncdiv, a, b, 1),
    "truncmod": lambda a, b: _by_divisor(_positive_truncmod, a, b, -1),
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "bitand": _bitand,
    "bitor": _bitor,
    "bitxor": _bitor,
    "shl": _shl,
    "shr": _shr,
}
