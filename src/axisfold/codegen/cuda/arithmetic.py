# SPDX-License-Identifier: Apache-2.0
"""Arithmetic: each operation of the IR as a CUDA expression that has its edge cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from axisfold.codegen.cuda.helpers import Helpers
from axisfold.codegen.cuda.spelling import constant, is_half, suffix, value_type
from axisfold.codegen.text import Binding, Code, call, cast, infix, total
from axisfold.dtypes import BOOL, FLOAT32, INT32, INT64, DType
from axisfold.ir.expr import Binary, Call, Cast, Compare, Const, Expr

_INFIX: Final = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&&", "or": "||",
    "bitand": "&", "bitor": "|", "bitxor": "^",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}  # fmt: skip
_UNSIGNED_DIVISION: Final = {
    "floordiv": "quotient", "truncdiv": "quotient",
    "floormod": "remainder", "truncmod": "remainder",
}  # fmt: skip
# Functions of the device library that are not called as in the IR.
_MATHS: Final = {"abs": "fabs", "round": "rint", "power": "pow"}


def emit_binary(helpers: Helpers, node: Binary, a: Code, b: Code, *, is_plain: bool) -> Code:
    """Return ``a op b``; ``is_plain`` promises that signed integers do not overflow."""
    dtype, op = node.dtype, node.op
    if op in ("min", "max"):
        return _extreme(helpers, op, dtype, a, b)
    if dtype.is_float:
        return rounded(helpers, dtype, infix(_INFIX[op], a, b))
    if op in ("add", "sub", "mul"):
        wraps_in_c = dtype.kind == "uint" and dtype.bits >= 32
        if is_plain or wraps_in_c:
            a = _wide(node.a, node.b, a)
            return total(a, b) if op == "add" else infix(_INFIX[op], a, b)
        return helpers.call(op, dtype, a, b)
    if op in _INFIX:
        return infix(_INFIX[op], a, b)
    if op in ("shl", "shr"):
        return _shift(helpers, node, a, b)
    return _division(helpers, node, a, b, is_plain=is_plain)


def _wide(left: Expr, right: Expr, a: Code) -> Code:
    """Keep an operation on two literals from being one of int."""
    if isinstance(left, Const) and isinstance(right, Const):
        return cast(value_type(left.dtype), a)
    return a


def _shift(helpers: Helpers, node: Binary, a: Code, b: Code) -> Code:
    dtype, count = node.dtype, node.b
    is_within = isinstance(count, Const) and 0 <= int(count.value) < dtype.bits >= 32
    # Shifting to the left, C++17 keeps the sign in mind.
    if is_within and (node.op == "shr" or dtype.kind == "uint"):
        return infix("<<" if node.op == "shl" else ">>", a, b)
    return helpers.call(node.op, dtype, a, b)


def _division(helpers: Helpers, node: Binary, a: Code, b: Code, *, is_plain: bool) -> Code:
    op, is_signed = node.op, node.dtype.kind == "int"
    truncates = is_plain or not is_signed or op.startswith("trunc")
    if truncates and isinstance(node.b, Const) and int(node.b.value) > 0:
        return infix("/" if op.endswith("div") else "%", a, b)
    return helpers.call(op if is_signed else _UNSIGNED_DIVISION[op], node.dtype, a, b)


def _extreme(helpers: Helpers, op: str, dtype: DType, a: Code, b: Code) -> Code:
    if dtype.is_bool:
        return infix("||" if op == "max" else "&&", a, b)
    if dtype.is_float:
        return helpers.extreme(f"{op}imum", FLOAT32 if is_half(dtype) else dtype, a, b)
    return helpers.call(op, dtype, a, b)


def rounded(helpers: Helpers, dtype: DType, value: Code) -> Code:
    """Return a result of float arithmetic in its dtype."""
    return helpers.half("round", dtype, value) if is_half(dtype) else value


def without_casts(node: Binary | Compare, args: Sequence[Code]) -> tuple[Code, Code]:
    """Return the operands without conversions that C++ does by itself beside an int64."""
    is_widened = [_is_widened(e) for e in (node.a, node.b)]
    is_wide = [e.dtype == INT64 and not isinstance(e, Const) for e in (node.a, node.b)]
    a, b = args
    if is_widened[0] and is_wide[1] and not is_widened[1]:
        a = _bare(a)
    if is_widened[1] and is_wide[0] and not is_widened[0]:
        b = _bare(b)
    return a, b


def _is_widened(expr: Expr) -> bool:
    return isinstance(expr, Cast) and expr.dtype == INT64 and expr.value.dtype == INT32


def _bare(code: Code) -> Code:
    return Code(code.text.removeprefix("(i64)")) if code.binding == Binding.PREFIX else code


def emit_compare(node: Compare, a: Code, b: Code) -> Code:
    """Return a comparison."""
    return infix(_INFIX[node.op], a, b)


def emit_cast(helpers: Helpers, node: Cast, value: Code) -> Code:
    """Return a conversion."""
    source, target = node.value.dtype, node.dtype
    if source == target:
        return value
    if target.is_bool:
        return infix("!=", value, constant(0, source))
    if is_half(target):
        if source.is_float and source.bits <= 32:
            return helpers.half("round", target, value)
        if source.is_integer and source.bits == 64:
            value = helpers.named(f"odd_{suffix(source)}", value)
        wide = value if source.is_float else cast("double", value)
        return helpers.half("round_wide", target, wide)
    if source.is_float and target.is_integer:
        return helpers.to_integer(source, target, value)
    if value_type(source) == value_type(target):
        return value  # 16-bit floats are floats already
    return cast(value_type(target), value)


def emit_call(helpers: Helpers, node: Call, args: list[Code]) -> Code:
    """Return a call; 16-bit floats are computed in float32."""
    name, dtype = node.name, node.args[0].dtype
    if name == "likely":
        return args[0]
    if name == "mulhi":
        sign = "" if dtype.kind == "int" else "u"
        return call(f"__{sign}mul{'64' if dtype.bits == 64 else ''}hi", *args)
    if name == "abs" and not dtype.is_float:
        return helpers.call("abs", dtype, args[0]) if dtype.kind == "int" else args[0]
    if node.dtype.element == BOOL:
        return infix("!=", call(name, *args), Code("0"))
    end = "" if dtype.bits == 64 else "f"
    return rounded(helpers, dtype, call(f"{_MATHS.get(name, name)}{end}", *args))
