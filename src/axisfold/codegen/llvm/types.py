# SPDX-License-Identifier: Apache-2.0
"""How dtypes and constants are spelled in LLVM IR."""

from __future__ import annotations

import struct
from typing import Final

from axisfold.dtypes import FLOAT32, DType, Scalar

_FLOATS = {16: "half", 32: "float", 64: "double"}
# Types by names of dtypes: each instruction asks for one.
_value_types: Final[dict[str, str]] = {}
_memory_types: Final[dict[str, str]] = {}


def value_type(dtype: DType) -> str:
    """Return the type of a value in registers: one bit of a truth value, float of a bfloat16."""
    known = _value_types.get(dtype.name)
    if known is None:
        element = "i1" if dtype.is_bool else memory_type(computed(dtype.element))
        known = element if dtype.lanes == 1 else f"<{dtype.lanes} x {element}>"
        _value_types[dtype.name] = known
    return known


def memory_type(dtype: DType) -> str:
    """Return the type of a value in memory: one byte of a truth value, the bits of a bfloat16."""
    known = _memory_types.get(dtype.name)
    if known is None:
        element = _FLOATS[dtype.bits] if dtype.kind == "float" else f"i{dtype.bits}"
        known = element if dtype.lanes == 1 else f"<{dtype.lanes} x {element}>"
        _memory_types[dtype.name] = known
    return known


def computed(dtype: DType) -> DType:
    """Return the dtype in which values are computed; a bfloat16 is a float32 with short digits."""
    return FLOAT32.with_lanes(dtype.lanes) if dtype.kind == "bfloat" else dtype


def constant(value: Scalar, dtype: DType) -> str:
    """Return a scalar constant; floats as bits, so that none is rounded."""
    if dtype.is_bool:
        return "true" if value else "false"
    if not dtype.is_float:
        return str(int(value))
    if computed(dtype).bits == 16:
        return "0xH" + struct.pack(">e", _half(float(value))).hex().upper()
    return "0x" + struct.pack(">d", float(value)).hex().upper()


def _half(value: float) -> float:
    """Return ``value`` as struct can pack it: overflow is infinite, not an error."""
    if value != value or abs(value) < 65520:
        return value
    return float("inf") if value > 0 else float("-inf")


def suffix(dtype: DType) -> str:
    """Return the overload suffix of an intrinsic, ``v8f32`` or ``i64``."""
    dtype = computed(dtype)
    element = "i1" if dtype.is_bool else f"{'f' if dtype.is_float else 'i'}{dtype.bits}"
    return element if dtype.lanes == 1 else f"v{dtype.lanes}{element}"


def splat(text: str, dtype: DType) -> str:
    """Return a constant with every lane equal to the scalar constant ``text``."""
    if dtype.lanes == 1:
        return text
    return f"splat ({value_type(dtype.element)} {text})"
