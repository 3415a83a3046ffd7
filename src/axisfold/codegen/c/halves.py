# SPDX-License-Identifier: Apache-2.0
"""The static functions that convert floats of 16 bits, which C11 does not have."""

from __future__ import annotations

from typing import Final

# Functions of floats that are held as 16 bits and computed in float: (what it calls, source).
HALF_FUNCTIONS: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "f16_value": (
        (),
        """
/* The value of a float16. */
static inline float f16_value(uint16_t half) {
    const uint32_t sign = (uint32_t)(half >> 15) << 31;
    const uint32_t exponent = (uint32_t)(half >> 10) & 31u;
    const uint32_t fraction = half & 1023u;
    uint32_t bits = sign | (exponent + 112u) << 23 | fraction << 13;
    float value;
    if (exponent == 31u) {
        bits = sign | 255u << 23 | fraction << 13;
    } else if (exponent == 0u) {
        const float small = (float)fraction * 0x1p-24f;
        memcpy(&bits, &small, sizeof bits);
        bits |= sign;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}
""",
    ),
    "f16_bits": (
        (),
        """
/* The float16 nearest to a value, ties to even. */
static inline uint16_t f16_bits(float value) {
    float magnitude = fabsf(value);
    uint32_t bits, sign;
    memcpy(&sign, &value, sizeof sign);
    sign = sign >> 16 & 0x8000u;
    if (value != value) {
        return (uint16_t)(sign | 0x7e00u);
    }
    if (magnitude >= 65520.0f) {
        return (uint16_t)(sign | 0x7c00u);
    }
    if (magnitude < 0x1p-14f) {
        /* The last bit of a number next to 0.5 counts 2**-24, as in a small float16. */
        magnitude += 0.5f;
        memcpy(&bits, &magnitude, sizeof bits);
        return (uint16_t)(sign | (bits - 0x3f000000u));
    }
    memcpy(&bits, &magnitude, sizeof bits);
    bits += 0xfffu + (bits >> 13 & 1u);
    return (uint16_t)(sign | (bits - 0x38000000u) >> 13);
}
""",
    ),
    "f16_round": (
        ("f16_value", "f16_bits"),
        """
/* A value rounded to float16. */
static inline float f16_round(float value) {
    return f16_value(f16_bits(value));
}
""",
    ),
    "f16_round_wide": (
        ("f16_round", "odd_f32"),
        """
/* A value rounded to float16, once. */
static inline float f16_round_wide(double value) {
    return f16_round(odd_f32(value));
}
""",
    ),
    "odd_f32": (
        (),
        """
/* A float that lies on the same side of every shorter float as a value: its last bit is odd. */
static inline float odd_f32(double value) {
    float near = (float)value;
    uint32_t bits;
    if (value == value && (double)near != value) {
        memcpy(&bits, &near, sizeof bits);
        bits = (fabs((double)near) > fabs(value) ? bits - 1u : bits) | 1u;
        memcpy(&near, &bits, sizeof near);
    }
    return near;
}
""",
    ),
    "bf16_value": (
        (),
        """
/* The value of a bfloat16: a float without its last 16 bits. */
static inline float bf16_value(uint16_t half) {
    const uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
""",
    ),
    "bf16_bits": (
        (),
        """
/* The bfloat16 nearest to a value, ties to even. */
static inline uint16_t bf16_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = value != value ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1u);
    return (uint16_t)(bits >> 16);
}
""",
    ),
    "bf16_round": (
        ("bf16_value", "bf16_bits"),
        """
/* A value rounded to bfloat16. */
static inline float bf16_round(float value) {
    return bf16_value(bf16_bits(value));
}
""",
    ),
    "bf16_round_wide": (
        ("bf16_round", "odd_f32"),
        """
/* A value rounded to bfloat16, once. */
static inline float bf16_round_wide(double value) {
    return bf16_round(odd_f32(value));
}
""",
    ),
    "odd_i64": (
        (),
        """
/* An integer that is exact in double, on the same side of every shorter float. */
static inline int64_t odd_i64(int64_t value) {
    const int64_t rest = value & 2047;
    const int is_exact = rest == 0 || (value > -0x20000000000000 && value < 0x20000000000000);
    return is_exact ? value : (value - rest) | 2048;
}
""",
    ),
    "odd_u64": (
        (),
        """
/* An integer that is exact in double, on the same side of every shorter float. */
static inline uint64_t odd_u64(uint64_t value) {
    const uint64_t rest = value & 2047u;
    return rest == 0u || value < 0x20000000000000u ? value : (value - rest) | 2048u;
}
""",
    ),
}
