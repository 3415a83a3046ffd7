# SPDX-License-Identifier: Apache-2.0
"""The device functions that a program brings along: it includes no header.

Each is one small function; a program gets those that it uses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from axisfold.codegen.arithmetic import EXP_DIFFERENCE
from axisfold.codegen.cuda.functions import FUNCTIONS, HEAD
from axisfold.codegen.cuda.spelling import (
    constant,
    half_name,
    memory_type,
    suffix,
    value_type,
)
from axisfold.codegen.text import Binding, Code, call
from axisfold.dtypes import FLOAT32, SUPPORTED, DType, Scalar, highest, lowest


@dataclass(slots=True)
class Helpers:
    """Collects the functions and constants that a program uses.

    Attributes
    ----------
    functions
        Source by name, in the order of definition.
    """

    functions: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def all_names() -> frozenset[str]:
        """Return the names that helpers may have."""
        return _ALL_NAMES

    def constant(self, value: Scalar, dtype: DType) -> Code:
        """Return a constant; infinities and NaNs get a name."""
        code = constant(value, dtype)
        name = code.text.lstrip("-")
        if name in _CONSTANTS:
            self.functions.setdefault(name, f"#define {name} {_CONSTANTS[name]}")
        return code

    def call(self, kind: str, dtype: DType, *args: Code) -> Code:
        """Return a call of the helper of a kind for operands of a dtype."""
        name = f"{kind}_{suffix(dtype)}"
        if name not in self.functions:
            template = _OPERATIONS.get(name) or _OPERATIONS[kind]
            self.functions[name] = _filled(template, name, dtype)
        return call(name, *args)

    def to_integer(self, source: DType, target: DType, value: Code) -> Code:
        """Return the saturating conversion of a float to an integer."""
        source = FLOAT32 if source.bits == 16 else source
        name = f"{suffix(target)}_from_{suffix(source)}"
        if name not in self.functions:
            self.functions[name] = _saturating(name, source, target)
        return call(name, value)

    def extreme(self, name: str, dtype: DType, a: Code, b: Code) -> Code:
        """Return the ``minimum`` or ``maximum`` of floats."""
        end = suffix(dtype)
        self.functions.setdefault(f"{name}_{end}", _EXTREMES[f"{name}_{end}"])
        return call(f"{name}_{end}", a, b)

    def named(self, name: str, *args: Code) -> Code:
        """Return a call of one of ``FUNCTIONS``."""
        self._define(name)
        return call(name, *args)

    def sources(self, text: str) -> list[str]:
        """Return the source of what a text calls, in the order of definition."""
        found: list[str] = []
        for name, source in reversed(self.functions.items()):
            if re.search(rf"\b{name}\b", text):
                found.append(source)
                text += source
        return found[::-1]

    def half(self, what: str, dtype: DType, value: Code) -> Code:
        """Return the ``value``, the ``bits`` or a rounding of a 16-bit float."""
        return self.named(f"{half_name(dtype)}_{what}", value)

    def half_bits(self, dtype: DType, value: Code) -> Code:
        """Return the bits of a value; to round it before would change nothing."""
        rounding = f"{half_name(dtype)}_round("
        if value.binding == Binding.ATOM and value.text.startswith(rounding):
            value = Code(value.text[len(rounding) : -1])
        return self.half("bits", dtype, value)

    def _define(self, name: str) -> None:
        if name not in self.functions:
            needs, text = FUNCTIONS[name]
            for other in needs:
                self._define(other)
            self.functions[name] = text.strip("\n")


def _filled(template: str, name: str, dtype: DType) -> str:
    """Put a name and types in a template: ``$T`` the type, ``$W`` the unsigned one to wrap in.

    ``$B`` is the width in bits, ``$H`` what a device function begins with.
    """
    wide = "u64" if dtype.bits == 64 else "u32"
    kind = memory_type(dtype) if "memcpy" in template else value_type(dtype)
    text = template.replace("$N", name).replace("$T", kind).replace("$W", wide)
    text = text.replace("$B", str(dtype.bits))
    return text.replace("$H", HEAD).strip("\n")


def _saturating(name: str, source: DType, target: DType) -> str:
    is_signed = target.kind == "int"
    end = "" if source.bits == 64 else "f"
    above = f"0x1p{target.bits - is_signed}{end}"
    below = f"-{above}" if is_signed else f"0.0{end}"
    text = _SATURATING.format(
        name=name, kind=value_type(source), result=value_type(target), above=above, below=below,
        least=constant(lowest(target), target), most=constant(highest(target), target),
    )  # fmt: skip
    return text.replace("$H", HEAD).strip("\n")


_CONSTANTS: Final = {
    "INFINITY_F32": "__int_as_float(0x7f800000)",
    "NAN_F32": "__int_as_float(0x7fffffff)",
    "INFINITY_F64": "__longlong_as_double(0x7ff0000000000000)",
    "NAN_F64": "__longlong_as_double(0x7fffffffffffffff)",
}

_WRAPPING: Final = """
/* a {op} b, wrapping around. */
$H $T $N($T a, $T b) {{
    return ($T)(($W)a {op} ($W)b);
}}
"""

_FLOOR_DIVISION: Final = """
/* a / b rounded to minus infinity; 0 for b = 0, wrapping around for b = -1. */
$H $T $N($T a, $T b) {
    if (b == 0) {
        return 0;
    }
    if (b == -1) {
        return ($T)(0 - ($W)a);
    }
    return ($T)(a / b - (a % b != 0 && (a % b < 0) != (b < 0)));
}
"""

_FLOOR_REMAINDER: Final = """
/* What floordiv leaves: it has the sign of b; 0 for b = 0. */
$H $T $N($T a, $T b) {
    if (b == 0 || b == -1) {
        return 0;
    }
    return ($T)(a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0));
}
"""

_TRUNCATED_DIVISION: Final = """
/* a / b rounded to zero; 0 for b = 0, wrapping around for b = -1. */
$H $T $N($T a, $T b) {
    if (b == 0) {
        return 0;
    }
    return b == -1 ? ($T)(0 - ($W)a) : ($T)(a / b);
}
"""

_TRUNCATED_REMAINDER: Final = """
/* a % b with the sign of a; 0 for b = 0. */
$H $T $N($T a, $T b) {
    return b == 0 || b == -1 ? 0 : ($T)(a % b);
}
"""

_UNSIGNED_DIVISION: Final = """
/* a {op} b; 0 for b = 0. */
$H $T $N($T a, $T b) {{
    return b == 0 ? 0 : ($T)(a {op} b);
}}
"""

_SHIFT_LEFT: Final = """
/* a << b, wrapping around; 0 if b is negative or not less than the width. */
$H $T $N($T a, $T b) {
    return ($W)b < $Bu ? ($T)(($W)a << b) : 0;
}
"""

_SHIFT_RIGHT: Final = """
/* a >> b; all bits are the sign's if b is negative or not less than the width. */
$H $T $N($T a, $T b) {
    return ($T)(a >> (($W)b < $Bu ? (int)b : $B - 1));
}
"""

_UNSIGNED_SHIFT_RIGHT: Final = """
/* a >> b; 0 if b is not less than the width. */
$H $T $N($T a, $T b) {
    return b < $Bu ? ($T)(a >> b) : 0;
}
"""

_EXTREME: Final = """
$H $T $N($T a, $T b) {{
    return a {op} b ? a : b;
}}
"""

_MAGNITUDE: Final = """
/* |a|; the least integer has none and stays. */
$H $T $N($T a) {
    return a < 0 ? ($T)(0 - ($W)a) : a;
}
"""

_LOAD: Final = """
/* Reads memory of any alignment. */
$H $T $N(const u8 *place) {
    $T value;
    memcpy(&value, place, sizeof value);
    return value;
}
"""

_STORE: Final = """
/* Writes memory of any alignment. */
$H void $N(u8 *place, $T value) {
    memcpy(place, &value, sizeof value);
}
"""

_OPERATIONS: Final[dict[str, str]] = {
    **{name: _WRAPPING.format(op=op) for name, op in (("add", "+"), ("sub", "-"), ("mul", "*"))},
    "floordiv": _FLOOR_DIVISION,
    "floormod": _FLOOR_REMAINDER,
    "truncdiv": _TRUNCATED_DIVISION,
    "truncmod": _TRUNCATED_REMAINDER,
    "quotient": _UNSIGNED_DIVISION.format(op="/"),
    "remainder": _UNSIGNED_DIVISION.format(op="%"),
    "min": _EXTREME.format(op="<"),
    "max": _EXTREME.format(op=">"),
    "shl": _SHIFT_LEFT,
    "shr": _SHIFT_RIGHT,
    **{f"shr_u{bits}": _UNSIGNED_SHIFT_RIGHT for bits in (8, 16, 32, 64)},
    "exp_difference_f32": EXP_DIFFERENCE.format(head=HEAD, exp="expf"),
    "exp_difference_f64": EXP_DIFFERENCE.format(head=HEAD, exp="exp"),
    "abs": _MAGNITUDE,
    "load": _LOAD,
    "store": _STORE,
}

# One instruction from sm_80 on.  Zeros are equal and differ in the sign: its bit is 0 in the result
# of a maximum if it is in one of them.
_EXTREME_F32: Final = """
/* The {what} of a and b; a NaN wins, -0 < +0. */
{head} float {what}_f32(float a, float b) {{
#if __CUDA_ARCH__ >= 800
    float found;
    asm("{op}.NaN.f32 %0, %1, %2;" : "=f"(found) : "f"(a), "f"(b));
    return found;
#else
    if (a == b) {{
        return __int_as_float(__float_as_int(a) {bit} __float_as_int(b));
    }}
    return a != a || b != b ? a + b : (a {compare} b ? a : b);
#endif
}}"""
_EXTREME_F64: Final = """
/* The {what} of a and b; a NaN wins, -0 < +0. */
{head} double {what}_f64(double a, double b) {{
    if (a == b) {{
        return __longlong_as_double(__double_as_longlong(a) {bit} __double_as_longlong(b));
    }}
    return a != a || b != b ? a + b : (a {compare} b ? a : b);
}}"""
_EXTREMES: Final = {
    f"{what}_f{bits}": text.format(
        what=what, op=what[:3], bit=bit, compare=compare, head=HEAD
    ).strip("\n")
    for bits, text in ((32, _EXTREME_F32), (64, _EXTREME_F64))
    for what, bit, compare in (("minimum", "|", "<"), ("maximum", "&", ">"))
}

_SATURATING: Final = """
/* x without its fraction; the nearest end beyond the range, 0 for a NaN. */
$H {result} {name}({kind} x) {{
    if (x != x) {{
        return 0;
    }}
    if (x <= {below}) {{
        return {least};
    }}
    return x >= {above} ? {most} : ({result})x;
}}
"""

_DTYPES: Final = [d for d in SUPPORTED.values() if not d.is_complex]
_ALL_NAMES: Final = frozenset(
    [*FUNCTIONS, *_EXTREMES]
    + [f"{kind}_{suffix(d)}" for kind in _OPERATIONS for d in _DTYPES]
    + [f"{suffix(a)}_from_{suffix(b)}" for a in _DTYPES for b in _DTYPES]
)
