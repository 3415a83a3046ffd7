# SPDX-License-Identifier: Apache-2.0
"""Arithmetic: each operation of the IR as a C expression that has its edge cases."""

from __future__ import annotations

from typing import Final

from axisfold.codegen.c.helpers import Helpers
from axisfold.codegen.c.spelling import constant, is_limit, suffix, value_type
from axisfold.codegen.text import Binding, Code, cast, infix, total
from axisfold.dtypes import BOOL, FLOAT32, DType
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
# Functions of <math.h> that are not called as in the IR.
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
        return helpers.call(op, dtype, a, b)
    return _division(helpers, node, a, b, is_plain=is_plain)


def _wide(left: Expr, right: Expr, a: Code) -> Code:
    """Keep an operation on two literals from being one of int."""
    if isinstance(left, Const) and isinstance(right, Const):
        return cast(value_type(left.dtype), a)
    return a


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
        return helpers.call(f"{op}imum", _computed(dtype), a, b)
    return helpers.call(op, dtype, a, b)


def _computed(dtype: DType) -> DType:
    """Return the dtype in which values of a dtype are computed."""
    return FLOAT32 if dtype.is_half else dtype


def rounded(helpers: Helpers, dtype: DType, value: Code) -> Code:
    """Return a result of float arithmetic in its dtype."""
    return helpers.half("round", dtype, value) if dtype.is_half else value


def emit_compare(helpers: Helpers, node: Compare, a: Code, b: Code) -> Code:
    """Return a comparison, as a function where compilers would call it always true or false."""
    operands = (node.a, node.b)
    is_known = any(isinstance(e, Const) and is_limit(e.value, e.dtype) for e in operands)
    if is_known or a.text == b.text:
        return helpers.call(node.op, _computed(node.a.dtype), a, b)
    return infix(_INFIX[node.op], a, b)


def emit_cast(helpers: Helpers, node: Cast, value: Code) -> Code:
    """Return a conversion."""
    source, target = node.value.dtype, node.dtype
    if source == target:
        return value
    if target.is_bool:
        return infix("!=", value, constant(0, source))
    if target.is_half:
        if source.is_float and source.bits <= 32:
            return helpers.half("round", target, value)
        if target.kind == "bfloat" and source.is_integer and source.bits == 64:
            value = helpers.named(f"odd_{suffix(source)}", value)
        return helpers.half(
            "round_wide", target, value if source.is_float else cast("double", value)
        )
    if source.is_float and target.is_integer:
        return helpers.to_integer(source, target, value)
    if value_type(source) == value_type(target) and not source.is_bool:
        return value  # floats of 16 bits are floats already
    return cast(value_type(target), value)


def emit_call(helpers: Helpers, node: Call, args: list[Code]) -> Code:
    """Return a call; floats of 16 bits are computed in float32."""
    name, dtype = node.name, node.args[0].dtype
    if name == "likely":
        return args[0]
    if name == "mulhi":
        return helpers.call(name, dtype, *args)
    if name == "abs" and not dtype.is_float:
        return helpers.call("abs", dtype, args[0]) if dtype.kind == "int" else args[0]
    if node.dtype.element == BOOL:
        # The macros of <math.h> return any number but 0 for true.
        return infix("!=", helpers.math(name, *args), Code("0", Binding.ATOM))
    end = "" if dtype.bits == 64 else "f"
    return rounded(helpers, dtype, helpers.math(f"{_MATHS.get(name, name)}{end}", *args))
