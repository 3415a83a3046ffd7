# SPDX-License-Identifier: Apache-2.0
"""Arithmetic: each operation of the IR as LLVM instructions, with the IR's edge cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from axisfold.analysis.linear import split_constant
from axisfold.codegen.llvm.types import computed, suffix, value_type
from axisfold.codegen.llvm.writer import Writer
from axisfold.dtypes import FLOAT32, FLOAT64, DType
from axisfold.ir import build
from axisfold.ir.expr import Binary, Broadcast, Call, Cast, Compare, Const, Expr, Not, Ramp

_FLOAT_OPS: Final = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_INTEGER_OPS: Final = {
    "add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or",
    "bitand": "and", "bitor": "or", "bitxor": "xor",
}  # fmt: skip
_ORDERED: Final = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}
_NEGATED: Final = {"lt": "uge", "le": "ugt", "gt": "ule", "ge": "ult", "eq": "une", "ne": "oeq"}


def emit_binary(w: Writer, node: Binary, a: str, b: str) -> str:
    """Append ``a op b``."""
    dtype, op = node.dtype, node.op
    if op in ("min", "max"):
        return _extreme(w, op, dtype, a, b)
    if dtype.is_float:
        result = w.binary(_FLOAT_OPS[op], dtype, a, b)
        return to_bfloat(w, result, dtype) if dtype.kind == "bfloat" else result
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


def denied(node: Not) -> Expr:
    """Return what a negation is one instruction with: a test of floats, or itself."""
    match node.a:
        case Compare() as inner if inner.a.dtype.is_float:
            return inner
        case Call(name="isnan") as inner if not inner.args[0].dtype.is_half:
            return inner
        case _:
            return node


def emit_not(w: Writer, node: Not, args: Sequence[str]) -> str:
    """Append a negation, of the operands of what is :func:`denied`."""
    inner = denied(node)
    if isinstance(inner, Compare):
        return w.compare(_NEGATED[inner.op], inner.a.dtype, *args)
    if isinstance(inner, Call):
        return w.compare("ord", inner.args[0].dtype, args[0], args[0])
    return w.binary("xor", node.dtype, args[0], w.const(True, node.dtype))


def emit_cast(w: Writer, node: Cast, value: str) -> str:
    """Append a conversion; ``value`` is the base of a count."""
    count, dtype = counted(node), node.dtype
    if count is None:
        return convert(w, value, node.value.dtype, dtype)
    first = convert(w, value, node.value.dtype.element, dtype.element)
    kind, half = value_type(dtype.element), 1 << (dtype.bits - 1)
    wrapped = [(count[1] + lane + half) % (2 * half) - half for lane in range(dtype.lanes)]
    steps = ", ".join(f"{kind} {step}" for step in wrapped)
    return w.binary("add", dtype, w.broadcast(first, dtype), f"<{steps}>")


def counted(node: Cast) -> tuple[Expr, int] | None:
    """Return base and constant of lanes that count on from their sum, in fewer bits: None if not.

    Its last bits are known by those of the base, which neighbouring vectors share.
    """
    lanes, dtype = node.value, node.dtype
    if not isinstance(lanes, Ramp) or not build.is_const(lanes.stride, 1):
        return None
    if not dtype.is_integer or dtype.bits >= lanes.dtype.bits:
        return None
    return split_constant(lanes.base)


def emit_steps(w: Writer, dtype: DType, stride: str) -> str:
    """Append the distances of lanes from the first one."""
    lanes = ", ".join(f"{value_type(dtype.element)} {i}" for i in range(dtype.lanes))
    if stride == "1":
        return f"<{lanes}>"
    return w.binary("mul", dtype, w.broadcast(stride, dtype), f"<{lanes}>")


def convert(w: Writer, value: str, source: DType, target: DType) -> str:
    """Append a conversion between element types of the same number of lanes."""
    if source == target:
        return value
    source = computed(source)
    if target.kind == "bfloat":
        return to_bfloat(w, _odd_float(w, value, source), target)
    if source == target:
        return value
    if target.is_bool:
        predicate = "une" if source.is_float else "ne"
        return w.compare(predicate, source, value, w.const(0, source))
    if target.is_half and not (source.is_float and source.bits == 32):
        wide, middle = FLOAT64.with_lanes(source.lanes), FLOAT32.with_lanes(source.lanes)
        single = _narrow_to_odd(w, convert(w, value, source, wide), wide)
        return _resize(w, "fptrunc", single, middle, target)
    if source.is_float and target.is_float:
        return _resize(
            w, "fpext" if target.bits > source.bits else "fptrunc", value, source, target
        )
    if source.is_half:
        # As float32: LLVM 22 makes a NaN INT16_MIN where the processor converts halves itself.
        middle = FLOAT32.with_lanes(source.lanes)
        return convert(w, _resize(w, "fpext", value, source, middle), middle, target)
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


def _narrow_to_odd(w: Writer, value: str, wide: DType) -> str:
    """Convert float64 to float32 such that rounding that again is rounding once.

    Inexact results get an odd last bit: Boldo and Melquiond, "Emulation of FMA and correctly
    rounded sums: proved algorithms using rounding to odd", 2008, theorem 3.
    """
    middle, bits = FLOAT32.with_lanes(wide.lanes), DType("int", 32, wide.lanes)
    near = _resize(w, "fptrunc", value, wide, middle)
    back = _resize(w, "fpext", near, middle, wide)
    raw = _bitcast(w, near, middle, bits)
    inexact = w.compare("one", wide, back, value)
    away = w.compare(
        "ogt", wide, intrinsic(w, "fabs", wide, back), intrinsic(w, "fabs", wide, value)
    )
    toward = w.select(away, bits, w.binary("sub", bits, raw, w.const(1, bits)), raw)
    odd = w.binary("or", bits, toward, w.const(1, bits))
    return _bitcast(w, w.select(inexact, bits, odd, raw), bits, middle)


def _odd_float(w: Writer, value: str, source: DType) -> str:
    """Convert any number to float32 such that rounding that to bfloat16 is rounding once."""
    single, wide = FLOAT32.with_lanes(source.lanes), FLOAT64.with_lanes(source.lanes)
    if source.bits <= 16 or source == single:
        return convert(w, value, source, single)  # exact
    if source.is_integer and source.bits == 64:
        value = _odd_integer(w, value, source)
    return _narrow_to_odd(w, convert(w, value, source, wide), wide)


def _odd_integer(w: Writer, value: str, dtype: DType) -> str:
    """Make large integers of 64 bits exact in float64, on the same side of all shorter floats."""
    limit = 1 << 53
    low = w.const(limit if dtype.kind == "int" else 0, dtype)
    reach = w.const(2 * limit if dtype.kind == "int" else limit, dtype)
    is_exact = w.compare("ult", dtype, w.binary("add", dtype, value, low), reach)
    rest = w.binary("and", dtype, value, w.const(0x7FF, dtype))
    is_short = w.compare("eq", dtype, rest, w.const(0, dtype))
    rounded = w.binary("sub", dtype, value, rest)
    odd = w.binary("or", dtype, rounded, w.const(0x800, dtype))
    keeps = w.binary("or", DType("bool", 8, dtype.lanes), is_exact, is_short)
    return w.select(keeps, dtype, value, odd)


def to_bfloat(w: Writer, value: str, target: DType) -> str:
    """Round a float32 to the digits of a bfloat16, to nearest, ties to even; NaNs stay."""
    single, bits = FLOAT32.with_lanes(target.lanes), DType("uint", 32, target.lanes)
    raw = _bitcast(w, value, single, bits)
    last = w.binary("and", bits, w.binary("lshr", bits, raw, w.const(16, bits)), w.const(1, bits))
    bias = w.binary("add", bits, last, w.const(0x7FFF, bits))
    nearest = w.binary("add", bits, raw, bias)
    quiet = w.binary("or", bits, raw, w.const(0x400000, bits))
    is_nan = w.compare("uno", single, value, value)
    kept = w.binary("and", bits, w.select(is_nan, bits, quiet, nearest), w.const(0xFFFF0000, bits))
    return _bitcast(w, kept, bits, single)


def widen_bits(w: Writer, bits: str, dtype: DType) -> str:
    """Return the value of a bfloat16 from its bits in memory."""
    short, long = DType("uint", 16, dtype.lanes), DType("uint", 32, dtype.lanes)
    raw = w.binary("shl", long, _resize(w, "zext", bits, short, long), w.const(16, long))
    return _bitcast(w, raw, long, computed(dtype))


def narrow_bits(w: Writer, value: str, dtype: DType) -> str:
    """Return the bits in memory of a bfloat16."""
    short, long = DType("uint", 16, dtype.lanes), DType("uint", 32, dtype.lanes)
    raw = _bitcast(w, value, computed(dtype), long)
    return _resize(w, "trunc", w.binary("lshr", long, raw, w.const(16, long)), long, short)


def _bitcast(w: Writer, value: str, source: DType, target: DType) -> str:
    return w.let(f"bitcast {value_type(source)} {value} to {value_type(target)}")
