# SPDX-License-Identifier: Apache-2.0
"""The static functions that a program brings along, where C leaves open what the IR defines.

Each is one small function; a program gets those that it uses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from axisfold.codegen.arithmetic import EXP_DIFFERENCE
from axisfold.codegen.c.halves import HALF_FUNCTIONS
from axisfold.codegen.c.spelling import constant, memory_type, suffix, value_type
from axisfold.codegen.text import Code, call
from axisfold.dtypes import FLOAT32, SUPPORTED, DType, Scalar


@dataclass(slots=True)
class Helpers:
    """Collects the helper functions and headers that a program uses.

    Attributes
    ----------
    functions
        Source by name, in the order of definition.
    headers
        Standard headers by name.
    """

    functions: dict[str, str] = field(default_factory=dict)
    headers: set[str] = field(default_factory=lambda: {"stdint.h"})

    @staticmethod
    def all_names() -> frozenset[str]:
        """Return the names that helpers may have."""
        return _ALL_NAMES

    def constant(self, value: Scalar, dtype: DType) -> Code:
        """Return a constant; INFINITY and NAN are macros of ``<math.h>``."""
        if dtype.is_float and not math.isfinite(value):
            self.headers.add("math.h")
        return constant(value, dtype)

    def call(self, kind: str, dtype: DType, *args: Code) -> Code:
        """Return a call of the helper of a kind for operands of a dtype."""
        name = f"{kind}_{suffix(dtype)}"
        self._define(name, _OF_ONE_DTYPE.get(name) or _OPERATIONS[kind], dtype)
        return call(name, *args)

    def extreme(self, name: str, dtype: DType, a: Code, b: Code) -> Code:
        """Return a call of ``minimum`` or ``maximum``."""
        return self.call(name, dtype, a, b)

    def to_integer(self, source: DType, target: DType, value: Code) -> Code:
        """Return the saturating conversion of a float to an integer."""
        source = FLOAT32 if source.bits == 16 else source
        name = f"{suffix(target)}_from_{suffix(source)}"
        if name not in self.functions:
            self.functions[name] = _saturating(name, source, target)
        return call(name, value)

    def half(self, what: str, dtype: DType, value: Code) -> Code:
        """Return a conversion of a float of 16 bits, such as ``round``."""
        return self.named(f"{suffix(dtype)}_{what}", value)

    def named(self, name: str, value: Code) -> Code:
        """Return a call of one of ``HALF_FUNCTIONS``."""
        self._define_half(name)
        return call(name, value)

    def math(self, function: str, *args: Code) -> Code:
        """Return a call of a function of ``<math.h>``."""
        self.headers.add("math.h")
        return call(function, *args)

    def allocate(self) -> str:
        """Return the name of the function that allocates an array."""
        self.headers.add("stdlib.h")
        self.functions.setdefault("allocate", _ALLOCATE)
        return "allocate"

    def _define(self, name: str, template: str, dtype: DType) -> None:
        if name in self.functions:
            return
        if "memcpy" in template:
            self.headers.add("string.h")
        if "signbit" in template or "exp" in name:
            self.headers.add("math.h")
        self.functions[name] = _filled(template, name, dtype)

    def _define_half(self, name: str) -> None:
        needs, text = HALF_FUNCTIONS[name]
        if name not in self.functions:
            for other in needs:
                self._define_half(other)
            self.headers |= {"math.h", "string.h"}
            self.functions[name] = text.strip("\n")


def _filled(template: str, name: str, dtype: DType) -> str:
    """Put a name and types in a template: ``$T`` the type, ``$W`` the unsigned one to wrap in.

    ``$B`` is the width in bits.
    """
    wide = "uint64_t" if dtype.bits == 64 else "uint32_t"
    kind = memory_type(dtype) if "memcpy" in template else value_type(dtype)
    text = template.replace("$N", name).replace("$T", kind).replace("$W", wide)
    text = text.replace("$B", str(dtype.bits))
    return text.strip("\n")


def _saturating(name: str, source: DType, target: DType) -> str:
    is_signed = target.kind == "int"
    end = "" if source.bits == 64 else "f"
    above = f"0x1p{target.bits - is_signed}{end}"
    below = f"-{above}" if is_signed else f"0.0{end}"
    macro = f"{'INT' if is_signed else 'UINT'}{target.bits}"
    kind, result = value_type(source), value_type(target)
    return _SATURATING.format(
        name=name, kind=kind, result=result, above=above, below=below,
        least=f"{macro}_MIN" if is_signed else "0", most=f"{macro}_MAX",
    ).strip("\n")  # fmt: skip


_WRAPPING: Final = """
/* a {op} b, wrapping around. */
static inline $T $N($T a, $T b) {{
    return ($T)(($W)a {op} ($W)b);
}}
"""

_FLOOR_DIVISION: Final = """
/* a / b rounded to minus infinity; 0 for b = 0, wrapping around for b = -1. */
static inline $T $N($T a, $T b) {
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
static inline $T $N($T a, $T b) {
    if (b == 0 || b == -1) {
        return 0;
    }
    return ($T)(a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0));
}
"""

_TRUNCATED_DIVISION: Final = """
/* a / b rounded to zero; 0 for b = 0, wrapping around for b = -1. */
static inline $T $N($T a, $T b) {
    if (b == 0) {
        return 0;
    }
    return b == -1 ? ($T)(0 - ($W)a) : ($T)(a / b);
}
"""

_TRUNCATED_REMAINDER: Final = """
/* a % b with the sign of a; 0 for b = 0. */
static inline $T $N($T a, $T b) {
    return b == 0 || b == -1 ? 0 : ($T)(a % b);
}
"""

_UNSIGNED_DIVISION: Final = """
/* a {op} b; 0 for b = 0. */
static inline $T $N($T a, $T b) {{
    return b == 0 ? 0 : ($T)(a {op} b);
}}
"""

_SHIFT_LEFT: Final = """
/* a << b, wrapping around; 0 if b is negative or not less than the width. */
static inline $T $N($T a, $T b) {
    return ($W)b < $Bu ? ($T)(($W)a << b) : 0;
}
"""

_SHIFT_RIGHT: Final = """
/* a >> b, repeating the sign, also if b is negative or not less than the width. */
static inline $T $N($T a, $T b) {
    const int count = ($W)b < $Bu ? (int)b : $B - 1;
    return ($T)(a < 0 ? ~(~a >> count) : a >> count);
}
"""

_UNSIGNED_SHIFT_RIGHT: Final = """
/* a >> b; 0 if b is not less than the width. */
static inline $T $N($T a, $T b) {
    return b < $Bu ? ($T)(a >> b) : 0;
}
"""

_HIGH_32: Final = """
/* The upper half of a * b. */
static inline $T $N($T a, $T b) {{
    return ($T)((uint64_t)(({wide})a * b) >> 32);
}}
"""

_HIGH_64: Final = """
/* The upper half of a * b, from the four products of halves. */
static inline $T $N($T a, $T b) {{
    const uint64_t x = (uint64_t)a, y = (uint64_t)b, low = 0xffffffffu;
    const uint64_t middle = (x >> 32) * (y & low) + ((x & low) * (y & low) >> 32);
    const uint64_t carried = (x & low) * (y >> 32) + (middle & low);
    const uint64_t high = (x >> 32) * (y >> 32) + (middle >> 32) + (carried >> 32);
    return {result};
}}
"""

_EXTREME: Final = """
static inline $T $N($T a, $T b) {{
    return a {op} b ? a : b;
}}
"""

_FLOAT_EXTREME: Final = """
/* The {what} of a and b; a NaN wins, -0 < +0. */
static inline $T $N($T a, $T b) {{
    if (a != a || b != b) {{
        return a + b;
    }}
    if (a == b) {{
        return signbit(a) {same} ? a : b;
    }}
    return a {op} b ? a : b;
}}
"""

_MAGNITUDE: Final = """
/* |a|; the least integer has none and stays. */
static inline $T $N($T a) {
    return a < 0 ? ($T)(0 - ($W)a) : a;
}
"""

_COMPARISON: Final = """
static inline int $N($T a, $T b) {{
    return a {op} b;
}}
"""

_LOAD: Final = """
/* Reads memory of any alignment and any type. */
static inline $T $N(const unsigned char *place) {
    $T value;
    memcpy(&value, place, sizeof value);
    return value;
}
"""

_STORE: Final = """
/* Writes memory of any alignment and any type. */
static inline void $N(unsigned char *place, $T value) {
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
    "shl": _SHIFT_LEFT,
    "shr": _SHIFT_RIGHT,
    "min": _EXTREME.format(op="<"),
    "max": _EXTREME.format(op=">"),
    "minimum": _FLOAT_EXTREME.format(what="smaller", op="<", same="!= 0"),
    "maximum": _FLOAT_EXTREME.format(what="larger", op=">", same="== 0"),
    "abs": _MAGNITUDE,
    **{
        name: _COMPARISON.format(op=op)
        for name, op in (
            ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="), ("ne", "!="),
        )
    },
    "load": _LOAD,
    "store": _STORE,
}  # fmt: skip

# Helpers of which one dtype's differs from the others', by their own names.
_OF_ONE_DTYPE: Final[dict[str, str]] = {
    **{f"shr_u{bits}": _UNSIGNED_SHIFT_RIGHT for bits in (8, 16, 32, 64)},
    "exp_difference_f32": EXP_DIFFERENCE.format(head="static inline", exp="expf"),
    "exp_difference_f64": EXP_DIFFERENCE.format(head="static inline", exp="exp"),
    "mulhi_i32": _HIGH_32.format(wide="int64_t"),
    "mulhi_u32": _HIGH_32.format(wide="uint64_t"),
    "mulhi_i64": _HIGH_64.format(result="(int64_t)(high - (a < 0 ? y : 0) - (b < 0 ? x : 0))"),
    "mulhi_u64": _HIGH_64.format(result="high"),
}

_SATURATING: Final = """
/* x without its fraction; the nearest end beyond the range, 0 for a NaN. */
static inline {result} {name}({kind} x) {{
    if (x != x) {{
        return 0;
    }}
    if (x <= {below}) {{
        return {least};
    }}
    return x >= {above} ? {most} : ({result})x;
}}
"""

_ALLOCATE: Final = """
/* Memory for an array, or NULL if there is not that much. */
static void *allocate(size_t bytes, int axes, const int64_t *shape) {
    for (int axis = 0; axis < axes; ++axis) {
        const uint64_t extent = shape[axis] > 0 ? (uint64_t)shape[axis] : 0;
        if (extent != 0 && bytes > SIZE_MAX / extent) {
            return NULL;
        }
        bytes *= (size_t)extent;
    }
    return malloc(bytes != 0 ? bytes : 1);
}""".strip("\n")

_DTYPES: Final = [d for d in SUPPORTED.values() if not d.is_complex]
_ALL_NAMES: Final = frozenset(
    ["allocate", *HALF_FUNCTIONS, *_OF_ONE_DTYPE]
    + [f"{kind}_{suffix(d)}" for kind in _OPERATIONS for d in _DTYPES]
    + [f"{suffix(a)}_from_{suffix(b)}" for a in _DTYPES for b in _DTYPES]
)
