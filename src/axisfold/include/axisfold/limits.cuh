// SPDX-License-Identifier: Apache-2.0
// Extreme values of the arithmetic types, and the order-theoretic ends that reductions start from.
#pragma once

#include <axisfold/float16.cuh>

// NVRTC has no <math.h>, where kernels written for nvcc take this macro from.
#if defined(__CUDACC_RTC__) && !defined(INFINITY)
#define INFINITY (::axisfold::limits<float>::infinity())
#endif
#if defined(__CUDACC_RTC__) && !defined(NAN)
#define NAN (::axisfold::limits<float>::nan())
#endif

namespace axisfold {

/// Extreme values of T.
///
/// `bottom()` and `top()` are the least and the greatest value *in the order*: minus and plus
/// infinity for floating types. A maximum must start from `bottom()`: starting from `lowest()`
/// turns a row of minus infinities into -3.4e38.
template <class T>
struct limits {
  static_assert(is_integral_v<T>, "axisfold::limits knows bool, integers and floating types only.");
  static constexpr bool is_signed = static_cast<T>(-1) < static_cast<T>(1);
  static AXISFOLD_FN constexpr T lowest() {
    // One bit set in the sign position; a shift of -1 would be undefined in C++17.
    return is_signed ? static_cast<T>(uint64(1) << (8 * sizeof(T) - 1)) : static_cast<T>(0);
  }
  static AXISFOLD_FN constexpr T max() {
    return static_cast<T>((~uint64(0)) >> (64 - 8 * sizeof(T) + (is_signed ? 1 : 0)));
  }
  static AXISFOLD_FN constexpr T bottom() { return lowest(); }
  static AXISFOLD_FN constexpr T top() { return max(); }
};

template <>
struct limits<bool> {
  static constexpr bool is_signed = false;
  static AXISFOLD_FN constexpr bool lowest() { return false; }
  static AXISFOLD_FN constexpr bool max() { return true; }
  static AXISFOLD_FN constexpr bool bottom() { return false; }
  static AXISFOLD_FN constexpr bool top() { return true; }
};

template <>
struct limits<float> {
  static constexpr bool is_signed = true;
  static AXISFOLD_FN constexpr float max() { return 3.402823466e+38f; }
  static AXISFOLD_FN constexpr float lowest() { return -max(); }
  static AXISFOLD_FN constexpr float infinity() { return __builtin_bit_cast(float, 0x7f800000u); }
  static AXISFOLD_FN constexpr float nan() { return __builtin_bit_cast(float, 0x7fc00000u); }
  static AXISFOLD_FN constexpr float bottom() { return -infinity(); }
  static AXISFOLD_FN constexpr float top() { return infinity(); }
};

template <>
struct limits<double> {
  static constexpr bool is_signed = true;
  static AXISFOLD_FN constexpr double max() { return 1.7976931348623157e+308; }
  static AXISFOLD_FN constexpr double lowest() { return -max(); }
  static AXISFOLD_FN constexpr double infinity() {
    return __builtin_bit_cast(double, 0x7ff0000000000000ull);
  }
  static AXISFOLD_FN constexpr double nan() {
    return __builtin_bit_cast(double, 0x7ff8000000000000ull);
  }
  static AXISFOLD_FN constexpr double bottom() { return -infinity(); }
  static AXISFOLD_FN constexpr double top() { return infinity(); }
};

template <>
struct limits<float16> {
  static constexpr bool is_signed = true;
  static AXISFOLD_FN constexpr float16 max() { return float16::from_bits(0x7bff); }
  static AXISFOLD_FN constexpr float16 lowest() { return float16::from_bits(0xfbff); }
  static AXISFOLD_FN constexpr float16 infinity() { return float16::from_bits(0x7c00); }
  static AXISFOLD_FN constexpr float16 nan() { return float16::from_bits(0x7e00); }
  static AXISFOLD_FN constexpr float16 bottom() { return float16::from_bits(0xfc00); }
  static AXISFOLD_FN constexpr float16 top() { return infinity(); }
};

template <>
struct limits<bfloat16> {
  static constexpr bool is_signed = true;
  static AXISFOLD_FN constexpr bfloat16 max() { return bfloat16::from_bits(0x7f7f); }
  static AXISFOLD_FN constexpr bfloat16 lowest() { return bfloat16::from_bits(0xff7f); }
  static AXISFOLD_FN constexpr bfloat16 infinity() { return bfloat16::from_bits(0x7f80); }
  static AXISFOLD_FN constexpr bfloat16 nan() { return bfloat16::from_bits(0x7fc0); }
  static AXISFOLD_FN constexpr bfloat16 bottom() { return bfloat16::from_bits(0xff80); }
  static AXISFOLD_FN constexpr bfloat16 top() { return infinity(); }
};

}  // namespace axisfold
