# SPDX-License-Identifier: Apache-2.0
"""Calls: the intrinsics of the IR as LLVM intrinsics, own functions or those of the C library."""

from __future__ import annotations

from typing import Final

from axisfold.codegen.llvm.arithmetic import convert, intrinsic, multiply_high
from axisfold.codegen.llvm.elementary import ELEMENTARY, emit_elementary
from axisfold.codegen.llvm.types import value_type
from axisfold.codegen.llvm.writer import Writer
from axisfold.dtypes import FLOAT32, DType
from axisfold.ir.expr import Call

_LLVM: Final = {
    "sqrt": "sqrt", "sin": "sin", "cos": "cos", "floor": "floor", "ceil": "ceil",
    "trunc": "trunc", "round": "rint", "power": "pow", "copysign": "copysign",
}  # fmt: skip
_LIBRARY: Final = {"tan", "erf", "fmod"}


def emit_call(w: Writer, node: Call, args: list[str]) -> str:
    """Append a call; floats of 16 bits are computed in float32."""
    if node.name == "likely":
        return args[0]
    dtype = node.args[0].dtype
    if dtype.is_half:
        wide = FLOAT32.with_lanes(dtype.lanes)
        result = _call(w, node.name, wide, [convert(w, a, dtype, wide) for a in args])
        return result if node.dtype.is_bool else convert(w, result, wide, node.dtype)
    return _call(w, node.name, dtype, args)


def _call(w: Writer, name: str, dtype: DType, args: list[str]) -> str:
    if name in _LLVM:
        return intrinsic(w, _LLVM[name], dtype, *args)
    if name in ELEMENTARY:
        return emit_elementary(w, name, dtype, *args)
    if name in _LIBRARY:
        return _library(w, name, dtype, args)
    if name == "mulhi":
        return multiply_high(w, dtype, *args)
    if name == "abs":
        return _magnitude(w, dtype, args[0])
    if name == "isnan":
        return w.compare("uno", dtype, args[0], args[0])
    infinity = w.const(float("inf"), dtype)
    predicate = "oeq" if name == "isinf" else "olt"
    return w.compare(predicate, dtype, _magnitude(w, dtype, args[0]), infinity)


def _magnitude(w: Writer, dtype: DType, value: str) -> str:
    if dtype.is_float:
        return intrinsic(w, "fabs", dtype, value)
    if dtype.kind != "int":
        return value
    negative = w.compare("slt", dtype, value, w.const(0, dtype))
    return w.select(negative, dtype, w.binary("sub", dtype, w.const(0, dtype), value), value)


def _library(w: Writer, name: str, dtype: DType, args: list[str]) -> str:
    """Call the C library once for each lane."""
    scalar = dtype.element
    function = name if scalar.bits == 64 else f"{name}f"
    kind = value_type(scalar)
    if dtype.lanes == 1:
        return w.call(function, kind, *(f"{kind} {a}" for a in args))
    result = "poison"
    for lane in range(dtype.lanes):
        parts = [w.let(f"extractelement {value_type(dtype)} {a}, i64 {lane}") for a in args]
        value = w.call(function, kind, *(f"{kind} {p}" for p in parts))
        result = w.let(f"insertelement {value_type(dtype)} {result}, {kind} {value}, i64 {lane}")
    return result
