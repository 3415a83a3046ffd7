# SPDX-License-Identifier: Apache-2.0
"""Arithmetic: each operation of the IR as a CUDA expression that has its edge cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from axisfold.codegen.arithmetic import INFIX, binary, computed, maths, rounded
from axisfold.codegen.cuda.helpers import Helpers
from axisfold.codegen.cuda.spelling import constant, suffix, value_type
from axisfold.codegen.text import Binding, Code, call, cast, infix
from axisfold.dtypes import BOOL, INT32, INT64
from axisfold.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Node
from axisfold.ir.intrinsics import SHORT_LIFT
from axisfold.ir.walk import post_order

_LOG2_E: Final = float.fromhex("0x1.715476p+0")  # log2(e) as a float32

# Of truth values, without a branch.
_BOTH: Final = {"and": "&", "or": "|"}


def emit_binary(helpers: Helpers, node: Binary, a: Code, b: Code, *, is_plain: bool) -> Code:
    """Return ``a op b``; ``is_plain`` promises that signed integers do not overflow."""
    if node.dtype.is_bool and node.op in _BOTH and _is_of_registers(node):
        return infix(_BOTH[node.op], a, b)
    if node.op in ("shl", "shr"):
        dtype, count = node.dtype, node.b
        is_within = isinstance(count, Const) and 0 <= int(count.value) < dtype.bits >= 32
        # Shifting to the left, C++17 keeps the sign in mind.
        if is_within and (node.op == "shr" or dtype.kind == "uint"):
            return infix("<<" if node.op == "shl" else ">>", a, b)
    if not is_plain and (bits := _floored_bits(node)):
        if node.op == "floordiv":
            return infix(">>", a, Code(str(bits)))
        return infix("&", a, Code(str((1 << bits) - 1)))
    return binary(helpers, node, a, b, is_plain=is_plain, kind=value_type)


def _floored_bits(node: Binary) -> int:
    """Return how many bits of an integer a floor division by a power of two takes off; else 0."""
    if node.op not in ("floordiv", "floormod") or node.dtype.bits < 32:
        return 0
    divisor = int(node.b.value) if isinstance(node.b, Const) else 0
    return divisor.bit_length() - 1 if divisor > 1 and not divisor & (divisor - 1) else 0


def _is_of_registers(node: Binary) -> bool:
    """Return whether a truth value asks for elements, all of which are in registers.

    To compute both sides then costs less than the branch around one of them, where the threads of
    a warp part.
    """
    reads = [n for n in post_order(node) if isinstance(n, Load)]
    if any(read.buffer.scope != "local" or read.dtype.is_bool for read in reads):
        return False
    return bool(reads) or any(_is_of_floats(n) for n in post_order(node))


def _is_of_floats(node: Node) -> bool:
    match node:
        case Compare(a=a):
            return a.dtype.is_float
        case Call(args=args):
            return node.dtype.is_bool and args[0].dtype.is_float
        case _:
            return False


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
    if name in ("exp_nonpositive", "exp_rounded", "exp_short") and dtype.bits == 64:
        power = helpers.named("exp_nonpositive_f64", *args)
        return infix("*", power, constant(SHORT_LIFT, dtype)) if name == "exp_short" else power
    if name == "exp_short":  # in fewer steps than expf
        single = computed(dtype)
        lift = constant(math.log2(SHORT_LIFT), single)
        power = call("fmaf", args[0], constant(_LOG2_E, single), lift)
        return rounded(helpers, dtype, call("exp2f", power))
    if name == "exp_difference":
        return rounded(helpers, dtype, helpers.call(name, computed(dtype), *args))
    if name == "abs" and not dtype.is_float:
        return helpers.call("abs", dtype, args[0]) if dtype.kind == "int" else args[0]
    if node.dtype.element == BOOL:
        return infix("!=", call(name, *args), Code("0"))
    return rounded(helpers, dtype, call(maths(name, dtype), *args))
