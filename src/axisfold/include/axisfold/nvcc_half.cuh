// SPDX-License-Identifier: Apache-2.0
// Makes CUDA's own `__half` and `__nv_bfloat16` element types of this library. nvcc always has
// their headers; under NVRTC they count when the program included them before axisfold, because
// including them here would make every NVRTC compilation five times slower.
#pragma once

#include <axisfold/limits.cuh>

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define AXISFOLD_HAS_CUDA_HALF 1
#elif defined(__CUDA_FP16_TYPES_EXIST__) && defined(__CUDA_BF16_TYPES_EXIST__)
#define AXISFOLD_HAS_CUDA_HALF 1
#else
#define AXISFOLD_HAS_CUDA_HALF 0
#endif

#if AXISFOLD_HAS_CUDA_HALF
namespace axisfold {

template <>
struct is_floating_point<__half> : true_type {};
template <>
struct is_floating_point<__nv_bfloat16> : true_type {};
template <>
struct accumulator<__half> {
  using type = float;
};
template <>
struct accumulator<__nv_bfloat16> {
  using type = float;
};

namespace detail {

// Both types have a layout-compatible twin here, whose constants are then reused bit by bit.
template <class Cuda, class Twin>
struct cuda_half_limits {
  static_assert(sizeof(Cuda) == sizeof(Twin), "A 16-bit float takes two bytes.");
  static constexpr bool is_signed = true;
  static AXISFOLD_FN Cuda cast(Twin value) {
    Cuda result;
    memcpy(&result, &value, sizeof(Cuda));
    return result;
  }
  static AXISFOLD_FN Cuda max() { return cast(limits<Twin>::max()); }
  static AXISFOLD_FN Cuda lowest() { return cast(limits<Twin>::lowest()); }
  static AXISFOLD_FN Cuda infinity() { return cast(limits<Twin>::infinity()); }
  static AXISFOLD_FN Cuda nan() { return cast(limits<Twin>::nan()); }
  static AXISFOLD_FN Cuda bottom() { return cast(limits<Twin>::bottom()); }
  static AXISFOLD_FN Cuda top() { return cast(limits<Twin>::top()); }
};

}  // namespace detail

template <>
struct limits<__half> : detail::cuda_half_limits<__half, float16> {};
template <>
struct limits<__nv_bfloat16> : detail::cuda_half_limits<__nv_bfloat16, bfloat16> {};

}  // namespace axisfold
#endif
