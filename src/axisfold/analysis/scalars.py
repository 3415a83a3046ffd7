# SPDX-License-Identifier: Apache-2.0
"""Integers of the host: extents, strides and sizes of a launch, computed from the arguments'."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from axisfold.dtypes import wrap
from axisfold.errors import InternalError
from axisfold.ir.build import fold_comparison, fold_integers
from axisfold.ir.expr import (
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    IfThenElse,
    Not,
    Reciprocal,
    Select,
    Var,
)
from axisfold.ir.walk import post_order


def scalar_value(root: Expr, values: Mapping[Var, int]) -> int:
    """Return the value of an integer or bool expression of variables whose values are known.

    Raises
    ------
    InternalError
        The expression reads memory, or a variable without a value.
    """
    done: dict[int, int] = {}
    for node in post_order(root):
        parts = [done[id(part)] for part in node.children()]
        done[id(node)] = _value(node, parts, values)
    return done[id(root)]


def _value(node: Any, parts: list[int], values: Mapping[Var, int]) -> int:
    match node:
        case Const():
            return int(node.value)
        case Var() if node in values:
            return values[node]
        case Call(name="likely"):
            return parts[0]
        case Cast():
            return wrap(parts[0], node.dtype) if node.dtype.is_integer else parts[0]
        case Reciprocal():
            return _reciprocal(node, parts[0])
        case Binary(op="and"):
            return int(bool(parts[0]) and bool(parts[1]))
        case Binary(op="or"):
            return int(bool(parts[0]) or bool(parts[1]))
        case Binary():
            return fold_integers(node.op, parts[0], parts[1])
        case Compare():
            return int(fold_comparison(node.op, parts[0], parts[1]))
        case Not():
            return int(not parts[0])
        case Select() | IfThenElse():
            return parts[1] if parts[0] else parts[2]
        case _:
            raise InternalError(f"{node} is no value that the host knows before a launch")


def _reciprocal(node: Reciprocal, divisor: int) -> int:
    if divisor < 1:
        return 0
    shift = (divisor - 1).bit_length()
    if node.part == "shift":
        return shift
    return ((1 << node.dtype.bits) * ((1 << shift) - divisor)) // divisor + 1
