# SPDX-License-Identifier: Apache-2.0
"""Operations on Python's numbers: how constants are folded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from axisfold.ir.expr import BinaryOp, CompareOp


def _floordiv(a: int, b: int) -> int:
    return a // b if b else 0


def _floormod(a: int, b: int) -> int:
    return a % b if b else 0


def _truncdiv(a: int, b: int) -> int:
    if not b:
        return 0
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _truncmod(a: int, b: int) -> int:
    return a - _truncdiv(a, b) * b if b else 0


# A count from the width to 63 needs no rule of its own: wrapping leaves no bit, or the sign.
def _shl(a: int, b: int) -> int:
    return a << b if 0 <= b < 64 else 0


def _shr(a: int, b: int) -> int:
    return a >> (b if 0 <= b < 64 else 64)


_INTEGER_FOLD: Final[dict[str, Callable[[int, int], int]]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": _floordiv,
    "floormod": _floormod,
    "truncdiv": _truncdiv,
    "truncmod": _truncmod,
    "min": min,
    "max": max,
    "bitand": lambda a, b: a & b,
    "bitor": lambda a, b: a | b,
    "bitxor": lambda a, b: a ^ b,
    "shl": _shl,
    "shr": _shr,
}
_COMPARE_FOLD: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}


def fold_integers(op: BinaryOp, a: int, b: int) -> int:
    """Return ``a op b`` of unbounded integers."""
    return _INTEGER_FOLD[op](a, b)


def fold_comparison(op: CompareOp, a: Any, b: Any) -> bool:
    """Return ``a op b`` of numbers."""
    return _COMPARE_FOLD[op](a, b)
