# SPDX-License-Identifier: Apache-2.0
"""The device functions that exist once: of 16-bit floats, and of what threads do together."""

from __future__ import annotations

from typing import Final

HEAD: Final = "static __device__ __forceinline__"

# Functions of their own: (what they call, source).  A 16-bit float is held as its bits and computed
# in float; the products, sums, quotients and square roots of two are then rounded as if once.
FUNCTIONS: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "f16_value": (
        (),
        f"""
/* The value of a float16. */
{HEAD} float f16_value(u16 bits) {{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}}
""",
    ),
    "f16_bits": (
        (),
        f"""
/* The float16 nearest to a value, ties to even. */
{HEAD} u16 f16_bits(float value) {{
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}}
""",
    ),
    "f16_round": (
        ("f16_value", "f16_bits"),
        f"""
/* A value rounded to float16. */
{HEAD} float f16_round(float value) {{
    return f16_value(f16_bits(value));
}}
""",
    ),
    "f16_round_wide": (
        ("f16_value",),
        f"""
/* A value rounded to float16, once. */
{HEAD} float f16_round_wide(double value) {{
    u16 bits;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(value));
    return f16_value(bits);
}}
""",
    ),
    "exp_nonpositive_f64": (
        ("exp_terms",),
        f"""
/* e**x of x <= 0: 2**n e**r for x = n ln 2 + r; 2**n is two factors, as it may be subnormal. */
{HEAD} double exp_nonpositive_f64(double x) {{
    const double shifter = 0x1.8p52, least = x < -746.0 ? -746.0 : x;
    const double shifted = fma(least, 0x1.71547652b82fep+0, shifter), n = shifted - shifter;
    const double r = fma(n, -0x1.abc9e3b39803fp-56, fma(n, -0x1.62e42fefa39efp-1, least));
    double power = exp_terms[0];
    #pragma unroll
    for (int term = 1; term < 13; ++term) {{
        power = fma(power, r, exp_terms[term]);
    }}
    const int whole = __double2loint(shifted), half = whole >> 1;
    return power * __hiloint2double((1023 + half) << 20, 0)
        * __hiloint2double((1023 + whole - half) << 20, 0);
}}
""",
    ),
    "exp_terms": (
        (),
        """
/* e**r in powers of r, for |r| <= ln(2) / 2; from the highest one on. */
static __constant__ double exp_terms[] = {
    0x1.1b516978e8739p-29, 0x1.af599f200abf6p-26, 0x1.27e74871d4165p-22,
    0x1.71ddfbeb71c2p-19, 0x1.a01a00a9e4cc6p-16, 0x1.a01a01ae1e4f7p-13,
    0x1.6c16c16c3fb5ep-10, 0x1.111111110fc51p-7, 0x1.555555555550bp-5, 0x1.5555555555558p-3,
    0x1p-1, 1.0, 1.0,
};
""",
    ),
    "bf16_value": (
        (),
        f"""
/* The value of a bfloat16: a float without its last 16 bits. */
{HEAD} float bf16_value(u16 bits) {{
    return __uint_as_float((u32)bits << 16);
}}
""",
    ),
    "bf16_bits": (
        (),
        f"""
/* The bfloat16 nearest to a value, ties to even. */
{HEAD} u16 bf16_bits(float value) {{
#if __CUDA_ARCH__ >= 800
    u16 found;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(found) : "f"(value));
    return found;
#else
    const u32 bits = __float_as_uint(value);
    return (u16)(value != value ? 0x7fffu : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
#endif
}}
""",
    ),
    "bf16_round": (
        ("bf16_value", "bf16_bits"),
        f"""
/* A value rounded to bfloat16. */
{HEAD} float bf16_round(float value) {{
    return bf16_value(bf16_bits(value));
}}
""",
    ),
    "bf16_round_wide": (
        ("bf16_round",),
        f"""
/* A value rounded to bfloat16 once: the step to float rounds to odd, so that it decides nothing. */
{HEAD} float bf16_round_wide(double value) {{
    const float near = __double2float_rz(value);
    return bf16_round((double)near == value ? near : __uint_as_float(__float_as_uint(near) | 1u));
}}
""",
    ),
    **{
        f"odd_{short}": (
            (),
            f"""
/* A double that lies on the same side of every shorter float as an integer. */
{HEAD} double odd_{short}({short} value) {{
    const double near = {convert}(value);
    const i64 odd = __double_as_longlong(near) | 1;
    return ({short})near == value ? near : __longlong_as_double(odd);
}}
""",
        )
        for short, convert in (("i64", "__ll2double_rz"), ("u64", "__ull2double_rz"))
    },
    "cluster_barrier": (
        (),
        f"""
/* Waits for all threads of the cluster; they see each other's writes then. */
{HEAD} void cluster_barrier() {{
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}}
""",
    ),
    "of_first_block": (
        (),
        f"""
/* The same place in the shared memory of the cluster's first block. */
{HEAD} unsigned char *of_first_block(unsigned char *place) {{
    unsigned char *first;
    asm volatile("mapa.u64 %0, %1, 0;" : "=l"(first) : "l"(place));
    return first;
}}
""",
    ),
    "is_last_ticket": (
        (),
        f"""
/* Takes one of several tickets; the last one sets the counter back.  To release tells others what
   this thread knows of, by barriers all that its block wrote; to acquire makes what others told
   visible to plain loads, which else might find old lines in L1. */
{HEAD} bool is_last_ticket(u32 *counter, u32 total) {{
    u32 old;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(old) : "l"(counter), "r"(total - 1) : "memory");
    return old == total - 1;
}}
""",
    ),
}
