# SPDX-License-Identifier: Apache-2.0
"""Arithmetic: each operation of the IR as a C expression that has its edge cases."""

from __future__ import annotations

from axisfold.codegen.arithmetic import INFIX, computed, maths, rounded
from axisfold.codegen.c.helpers import Helpers
from axisfold.codegen.c.spelling import constant, is_limit, suffix, value_type
from axisfold.codegen.text import Binding, Code, cast, infix
from axisfold.dtypes import BOOL
from axisfold.ir.expr import Call, Cast, Compare, Const
from axisfold.ir.intrinsics import SHORT_LIFT


def emit_compare(helpers: Helpers, node: Compare, a: Code, b: Code) -> Code:
    """Return a comparison, as a function where compilers would call it always true or false."""
    operands = (node.a, node.b)
    is_known = any(isinstance(e, Const) and is_limit(e.value, e.dtype) for e in operands)
    if is_known or a.text == b.text:
        return helpers.call(node.op, computed(node.a.dtype), a, b)
    return infix(INFIX[node.op], a, b)


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
    if name == "exp_difference":
        return rounded(helpers, dtype, helpers.call(name, computed(dtype), *args))
    if name == "exp_short":
        lift = helpers.constant(SHORT_LIFT, computed(dtype))
        return rounded(helpers, dtype, infix("*", helpers.math(maths(name, dtype), *args), lift))
    if name == "abs" and not dtype.is_float:
        return helpers.call("abs", dtype, args[0]) if dtype.kind == "int" else args[0]
    if node.dtype.element == BOOL:
        # The macros of <math.h> return any number but 0 for true.
        return infix("!=", helpers.math(name, *args), Code("0", Binding.ATOM))
    return rounded(helpers, dtype, helpers.math(maths(name, dtype), *args))
