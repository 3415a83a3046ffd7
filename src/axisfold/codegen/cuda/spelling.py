# SPDX-License-Identifier: Apache-2.0
"""How dtypes, constants and reserved words are spelled in CUDA C++ without headers."""

from __future__ import annotations

import math
from typing import Final

from axisfold.codegen.text import Binding, Code, digits
from axisfold.dtypes import DType, Scalar, lowest

# Bytes of the widest access of a thread.
WIDEST: Final = 16

TYPEDEFS: Final = (
    "typedef signed char i8;",
    "typedef unsigned char u8;",
    "typedef short i16;",
    "typedef unsigned short u16;",
    "typedef unsigned int u32;",
    "typedef long long i64;",
    "typedef unsigned long long u64;",
)
_PIECES: Final = {2: "u16", 4: "u32", 8: "uint2", 16: "uint4"}


def half_name(dtype: DType) -> str:
    """Return the short name of a 16-bit float: its exponent has 5 bits, or 8."""
    return "bf16" if dtype.name.startswith("bfloat16") else "f16"


def value_type(dtype: DType) -> str:
    """Return the type of a value; 16-bit floats are computed in float."""
    if dtype.is_float:
        return "double" if dtype.bits == 64 else "float"
    return "bool" if dtype.is_bool else integer_type(dtype)


def memory_type(dtype: DType) -> str:
    """Return the type of an element in memory; a truth value is a byte that is not 0."""
    if dtype.is_half:
        return "u16"
    return "u8" if dtype.is_bool else value_type(dtype)


def integer_type(dtype: DType) -> str:
    """Return the short name of an integer type."""
    return "int" if dtype.kind == "int" and dtype.bits == 32 else f"{dtype.kind[0]}{dtype.bits}"


def piece_type(size: int) -> str:
    """Return a type of 2, 4, 8 or 16 bytes that is read and written by one instruction."""
    return _PIECES[size]


def suffix(dtype: DType) -> str:
    """Return the short name of a dtype, ``f32``."""
    if dtype.is_half:
        return half_name(dtype)
    return f"{'u' if dtype.is_bool else dtype.kind[0]}{dtype.bits}"


def constant(value: Scalar, dtype: DType) -> Code:
    """Return a constant: integers as they are, floats without losing a digit."""
    if dtype.is_bool:
        return Code("true" if value else "false")
    if dtype.is_float:
        return _float(float(value), dtype)
    return _integer(int(value), dtype)


def _integer(value: int, dtype: DType) -> Code:
    end = "" if dtype.bits < 64 else "ll"
    if dtype.kind == "uint":
        return Code(f"{value}u{end}" if dtype.bits >= 32 else str(value))
    if dtype.bits >= 32 and value == lowest(dtype):
        return Code(f"-{-value - 1}{end} - 1", Binding.SUM)  # the literal 2147483648 is no int
    end = end if abs(value) >= 1 << 31 else ""
    return Code(f"-{-value}{end}", Binding.PREFIX) if value < 0 else Code(f"{value}{end}")


def _float(value: float, dtype: DType) -> Code:
    if math.isnan(value):
        return Code("NAN_F64" if dtype.bits == 64 else "NAN_F32")
    if math.isinf(value):
        text = "INFINITY_F64" if dtype.bits == 64 else "INFINITY_F32"
    else:
        text = digits(abs(value)) + ("" if dtype.bits == 64 else "f")
    is_negative = math.copysign(1.0, value) < 0
    return Code(f"-{text}", Binding.PREFIX) if is_negative else Code(text)


_KEYWORDS: Final = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
    class compl const const_cast constexpr continue decltype default delete do double dynamic_cast
    else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast return short signed sizeof static static_assert static_cast struct switch
    template this thread_local throw true try typedef typeid typename union unsigned using virtual
    void volatile wchar_t while xor xor_eq main
    i8 u8 i16 u16 u32 i64 u64 size_t ptrdiff_t
    blockIdx blockDim gridDim threadIdx warpSize dim3 uint2 uint4 shared
    NULL NAN INFINITY NAN_F32 NAN_F64 INFINITY_F32 INFINITY_F64 NDEBUG linux unix i386
"""
# The functions that need no header: those that we call and those that a global name might hide.
_BUILTINS: Final = """
    abs labs llabs min max assert printf malloc free memcpy memset clock clock64 isnan isinf
    isfinite signbit atomicAdd atomicInc acos acosh asin asinh atan atan2 atanh cbrt ceil copysign
    cos cosh erf erfc exp exp2 exp10 expm1 fabs fdim floor fma fmax fmin fmod frexp hypot ilogb
    j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint
    nextafter norm pow remainder remquo rhypot rint rnorm round rsqrt scalbln scalbn sin sincos
    sinh sinpi sqrt tan tanh tgamma trunc y0 y1 yn
    mulhi mul24 umul24 saturate
"""
RESERVED: Final = frozenset(
    [*_KEYWORDS.split(), *_BUILTINS.split(), *(f"{name}f" for name in _BUILTINS.split())]
)
