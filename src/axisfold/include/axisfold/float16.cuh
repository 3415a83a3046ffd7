// SPDX-License-Identifier: Apache-2.0
// 16-bit floats that need no CUDA header. They are storage: arithmetic promotes to float, and a
// result is rounded (to nearest, ties to even) only when it is stored back.
#pragma once

#include <axisfold/ptx.cuh>
#include <axisfold/type_traits.cuh>

namespace axisfold {

namespace detail {

// Host code has no conversion instruction, so both directions are also written in integers.
AXISFOLD_FN uint16 half_bits(float value) {
#if defined(__CUDA_ARCH__)
  return ptx::float_to_half(value);
#else
  const uint32 word = __builtin_bit_cast(uint32, value);
  const uint32 sign = (word >> 16) & 0x8000u;
  const uint32 magnitude = word & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16>(sign | 0x7e00u);   // NaN
  if (magnitude >= 0x47800000u) return static_cast<uint16>(sign | 0x7c00u);  // 2^16 and above
  if (magnitude < 0x38800000u) {
    // Subnormal: adding 0.5 makes the float adder round at 2^-24, the last place of the result.
    const float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
    return static_cast<uint16>(sign | (__builtin_bit_cast(uint32, shifted) - 0x3f000000u));
  }
  // Rebias the exponent (-112 in units of 2^23), then round the 13 dropped bits; a carry out of the
  // mantissa moves into the exponent, up to infinity, as it should.
  const uint32 rounded = magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16>(sign | (rounded >> 13));
#endif
}

AXISFOLD_FN float half_value(uint16 bits) {
#if defined(__CUDA_ARCH__)
  return ptx::half_to_float(bits);
#else
  const uint32 sign = static_cast<uint32>(bits & 0x8000u) << 16;
  const uint32 magnitude = static_cast<uint32>(bits & 0x7fffu);
  if (magnitude < 0x400u) {  // zero or subnormal: an integer multiple of 2^-24
    const float value = static_cast<float>(magnitude) * (1.0f / 16777216.0f);
    return __builtin_bit_cast(float, __builtin_bit_cast(uint32, value) | sign);
  }
  const uint32 bias = magnitude >= 0x7c00u ? 0x70000000u : 0x38000000u;
  return __builtin_bit_cast(float, sign | ((magnitude << 13) + bias));
#endif
}

}  // namespace detail

/// IEEE binary16. Bit-compatible with CUDA's `__half` and NumPy's float16.
struct float16 {
  uint16 bits;
  float16() = default;
  AXISFOLD_FN float16(float value) : bits(detail::half_bits(value)) {}
  AXISFOLD_FN operator float() const { return detail::half_value(bits); }
  /// Take the sixteen bits as they are.
  static AXISFOLD_FN constexpr float16 from_bits(uint16 bits) { return float16(bits, raw{}); }

 private:
  struct raw {};
  AXISFOLD_FN constexpr float16(uint16 raw_bits, raw) : bits(raw_bits) {}
};

/// The upper half of a binary32. Bit-compatible with CUDA's `__nv_bfloat16`.
struct bfloat16 {
  uint16 bits;
  bfloat16() = default;
  AXISFOLD_FN bfloat16(float value) : bits(round(value)) {}
  AXISFOLD_FN operator float() const {
    return __builtin_bit_cast(float, static_cast<uint32>(bits) << 16);
  }
  static AXISFOLD_FN constexpr bfloat16 from_bits(uint16 bits) { return bfloat16(bits, raw{}); }

 private:
  struct raw {};
  AXISFOLD_FN constexpr bfloat16(uint16 raw_bits, raw) : bits(raw_bits) {}

  // In integer arithmetic: the conversion instruction exists from sm_80 only. Adding just under
  // half a unit, plus the lowest kept bit, rounds to nearest with ties to even.
  static AXISFOLD_FN uint16 round(float value) {
    const uint32 word = __builtin_bit_cast(uint32, value);
    // A NaN whose payload sits in the lower half would round to infinity; keep it a quiet NaN.
    if ((word & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16>((word >> 16) | 0x40u);
    return static_cast<uint16>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
  }
};

template <>
struct is_floating_point<float16> : true_type {};
template <>
struct is_floating_point<bfloat16> : true_type {};

/// The type in which values of T are combined: float for 16-bit floats, T itself otherwise.
template <class T>
struct accumulator {
  using type = T;
};
template <>
struct accumulator<float16> {
  using type = float;
};
template <>
struct accumulator<bfloat16> {
  using type = float;
};
template <class T>
using accumulator_t = typename accumulator<remove_cv_t<T>>::type;

}  // namespace axisfold
