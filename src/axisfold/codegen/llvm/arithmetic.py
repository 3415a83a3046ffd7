# SPDX-License-Identifier: Apache-2.0
"""Arithmetic: each operation of the IR as LLVM instructions, with the IR's edge cases."""

from __future__ import annotations

from typing import Final

from axisfold.codegen.llvm.types import suffix, value_type
from axisfold.codegen.llvm.writer import Writer
from axisfold.dtypes import FLOAT32, FLOAT64, DType
from axisfold.ir.expr import Binary, Broadcast, Cast, Compare, Const, Expr

_FLOAT_OPS: Final = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_INTEGER_OPS: Final = {
    "add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or",
    "bitand": "and", "bitor": "or", "bitxor": "xor",
}  # fmt: skip
_ORDERED: Final = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}


def emit_binary(w: Writer, node: Binary, a: str, b: str) -> str:
    """Append ``a op b``."""
    dtype, op = node.dtype, node.op
    if op in ("min", "max"):
        return _extreme(w, op, dtype, a, b)
    if dtype.is_float:
        return w.binary(_FLOAT_OPS[op], dtype, a, b)
    if op in _INTEGER_OPS:
        return w.binary(_INTEGER_OPS[op], dtype, a, b)
    if op in ("shl", "shr"):
        return _shift(w, op, dtype, a, b)
    return _Division(w, dtype, a, b, node.b).emit(op)


def _extreme(w: Writer, op: str, dtype: DType, a: str, b: str) -> str:
    if dtype.is_bool:
        return w.binary("or" if op == "max" else "and", dtype, a, b)
    if dtype.is_float:
        name = "maximum" if op == "max" else "minimum"
    else:
        name = ("u" if dtype.kind == "uint" else "s") + op
    return intrinsic(w, name, dtype, a, b)


def intrinsic(w: Writer, name: str, dtype: DType, *args: str) -> str:
    """Append a call of an LLVM intrinsic whose arguments and result have one type."""
    operands = [w.typed(a, dtype) for a in args]
    return w.call(f"llvm.{name}.{suffix(dtype)}", value_type(dtype), *operands)


def _shift(w: Writer, op: str, dtype: DType, a: str, b: str) -> str:
    """Append a shift: LLVM leaves open what a count does that is not less than the width."""
    width = w.const(dtype.bits, dtype)
    if op == "shr" and dtype.kind == "int":
        last = w.const(dtype.bits - 1, dtype)
        return w.binary("ashr", dtype, a, intrinsic(w, "umin", dtype, b, last))
    zero = w.const(0, dtype)
    is_inside = w.compare("ult", dtype, b, width)
    count = w.select(is_inside, dtype, b, zero)
    shifted = w.binary("shl" if op == "shl" else "lshr", dtype, a, count)
    return w.select(is_inside, dtype, shifted, zero)


def multiply_high(w: Writer, dtype: DType, a: str, b: str) -> str:
    """Append the upper half of a product of integers."""
    wide = DType(dtype.kind, 2 * dtype.bits, dtype.lanes)
    extend = "sext" if dtype.kind == "int" else "zext"
    x, y = (_resize(w, extend, v, dtype, wide) for v in (a, b))
    upper = w.binary("lshr", wide, w.binary("mul", wide, x, y), w.const(dtype.bits, wide))
    return _resize(w, "trunc", upper, wide, dtype)


class _Division:
    """Integer division: no divisor traps, not 0 (gives 0) and not −1."""

    def __init__(self, w: Writer, dtype: DType, a: str, b: str, divisor: Expr) -> None:
        self.w, self.dtype, self.a, self.b = w, dtype, a, b
        known = divisor.value if isinstance(divisor, Broadcast) else divisor
        self.is_positive = isinstance(known, Const) and int(known.value) > 0
        self.is_signed = dtype.kind == "int"
        self.power = _log2(int(known.value)) if isinstance(known, Const) else None

    def emit(self, op: str) -> str:
        w, dtype = self.w, self.dtype
        floors = op in ("floordiv", "floormod") or not self.is_signed
        if self.power is not None and floors:
            if op in ("floordiv", "truncdiv"):
                shift = "ashr" if self.is_signed else "lshr"
                return w.binary(shift, dtype, self.a, w.const(self.power, dtype))
            return w.binary("and", dtype, self.a, w.const((1 << self.power) - 1, dtype))
        quotient, rest = self._truncated()
        if not self.is_signed or op in ("truncdiv", "truncmod"):
            return quotient if op.endswith("div") else rest
        return self._floored(op, quotient, rest)

    def _truncated(self) -> tuple[str, str]:
        """Return quotient and remainder towards zero; 0 and 0 for a zero divisor."""
        w, dtype = self.w, self.dtype
        div, rem = ("sdiv", "srem") if self.is_signed else ("udiv", "urem")
        if self.is_positive:
            return w.binary(div, dtype, self.a, self.b), w.binary(rem, dtype, self.a, self.b)
        zero, one = w.const(0, dtype), w.const(1, dtype)
        is_zero = w.compare("eq", dtype, self.b, zero)
        unsafe = is_zero
        if self.is_signed:
            is_minus = w.compare("eq", dtype, self.b, w.const(-1, dtype))
            flags = DType("bool", 8, dtype.lanes)
            unsafe = w.binary("or", flags, is_zero, is_minus)
        divisor = w.select(unsafe, dtype, one, self.b)
        quotient = w.binary(div, dtype, self.a, divisor)
        rest = w.binary(rem, dtype, self.a, divisor)
        if self.is_signed:
            quotient = w.select(unsafe, dtype, w.binary("sub", dtype, zero, self.a), quotient)
        return w.select(is_zero, dtype, zero, quotient), rest

    def _floored(self, op: str, quotient: str, rest: str) -> str:
        """Move a truncated result to minus infinity where remainder and divisor differ in sign."""
        w, dtype = self.w, self.dtype
        zero = w.const(0, dtype)
        if self.is_positive:
            below = w.compare("slt", dtype, rest, zero)
        else:
            flags = DType("bool", 8, dtype.lanes)
            signs = w.compare("slt", dtype, w.binary("xor", dtype, rest, self.b), zero)
            below = w.binary("and", flags, w.compare("ne", dtype, rest, zero), signs)
        if op == "floordiv":
            return w.select(
                below, dtype, w.binary("sub", dtype, quotient, w.const(1, dtype)), quotient
            )
        return w.select(below, dtype, w.binary("add", dtype, rest, self.b), rest)


def _log2(value: int) -> int | None:
    return value.bit_length() - 1 if value > 0 and value & (value - 1) == 0 else None


def emit_compare(w: Writer, node: Compare, a: str, b: str) -> str:
    """Append a comparison; every one with a NaN is false, except ``ne``."""
    dtype = node.a.dtype
    if dtype.is_float:
        return w.compare(_ORDERED[node.op], dtype, a, b)
    signed = "s" if dtype.kind == "int" else "u"
    predicate = node.op if node.op in ("eq", "ne") else signed + node.op
    return w.compare(predicate, dtype, a, b)


def emit_cast(w: Writer, node: Cast, value: str) -> str:
    """Append a conversion."""
    return convert(w, value, node.value.dtype, node.dtype)


def convert(w: Writer, value: str, source: DType, target: DType) -> str:
    """Append a conversion between element types of the same number of lanes."""
    if source == target:
        return value
    if target.is_bool:
        predicate = "une" if source.is_float else "ne"
        return w.compare(predicate, source, value, w.const(0, source))
    if target.is_float and target.bits == 16 and not (source.is_float and source.bits == 32):
        return _to_half(w, convert(w, value, source, FLOAT64.with_lanes(source.lanes)), target)
    if source.is_float and target.is_float:
        return _resize(
            w, "fpext" if target.bits > source.bits else "fptrunc", value, source, target
        )
    if source.is_float:
        name = f"fpto{'s' if target.kind == 'int' else 'u'}i.sat"
        function = f"llvm.{name}.{suffix(target)}.{suffix(source)}"
        return w.call(function, value_type(target), w.typed(value, source))
    unsigned = source.kind in ("uint", "bool")
    if target.is_float:
        return _resize(w, "uitofp" if unsigned else "sitofp", value, source, target)
    if source.is_bool or target.bits > source.bits:
        return _resize(w, "zext" if unsigned else "sext", value, source, target)
    return value if target.bits == source.bits else _resize(w, "trunc", value, source, target)


def _resize(w: Writer, instruction: str, value: str, source: DType, target: DType) -> str:
    return w.let(f"{instruction} {value_type(source)} {value} to {value_type(target)}")


def _to_half(w: Writer, value: str, target: DType) -> str:
    """Convert float64 to float16 with one rounding, without a library call.

    The step to float32 rounds to odd (inexact results get an odd last bit), after which rounding
    to float16 gives what one rounding would: Boldo and Melquiond, "Emulation of FMA and
    correctly rounded sums: proved algorithms using rounding to odd", 2008, theorem 3.
    """
    wide, middle = FLOAT64.with_lanes(target.lanes), FLOAT32.with_lanes(target.lanes)
    bits = DType("int", 32, target.lanes)
    near = _resize(w, "fptrunc", value, wide, middle)
    back = _resize(w, "fpext", near, middle, wide)
    raw = w.let(f"bitcast {value_type(middle)} {near} to {value_type(bits)}")
    inexact = w.compare("one", wide, back, value)
    away = w.compare(
        "ogt", wide, intrinsic(w, "fabs", wide, back), intrinsic(w, "fabs", wide, value)
    )
    toward = w.select(away, bits, w.binary("sub", bits, raw, w.const(1, bits)), raw)
    odd = w.binary("or", bits, toward, w.const(1, bits))
    chosen = w.select(inexact, bits, odd, raw)
    single = w.let(f"bitcast {value_type(bits)} {chosen} to {value_type(middle)}")
    return _resize(w, "fptrunc", single, middle, target)
