// SPDX-License-Identifier: Apache-2.0
// The Chinese text, functors included, against the library, with nothing but the prelude before it.
// Its CustomMean::initial() has no qualifier, which makes it a host function: nvcc takes it, NVRTC
// needs the option -default-device.
#define AXISFOLD_PRELUDE_OWN_FUNCTORS
#include <axisfold/kps_prelude.cuh>

#if defined(__GNUC__) && !defined(__CUDACC__)
#pragma GCC diagnostic ignored "-Wsign-compare"
#endif

#include "published_zh_functors.cuh"

namespace as_kernel {
#include "published_zh.cuh"
template __global__ void
ReduceHigherDimKernel<float, float, float, CustomMean<float>, kpds::DivideFunctor<float>>(
    const float*, float*, CustomMean<float>, kpds::DivideFunctor<float>, float, int, int, int);
}  // namespace as_kernel

#undef __global__
#define __global__ __device__
namespace as_function {
#include "published_zh.cuh"
}
#undef __global__
#if defined(__CUDACC__)
#define __global__ __attribute__((global))
#else
#define __global__
#endif
#include <axisfold/kps_prelude_end.cuh>

extern "C" __global__ void mean_zh(const float* x, float* y, int n, int reduce_num, int left_num,
                                   int blocking_size) {
  as_function::ReduceHigherDimKernel<float, float, float>(
      x, y, CustomMean<float>(), CustomMean<float>::Transformer(n), 0.0f, reduce_num, left_num,
      blocking_size);
}

// The page's own DivideFunctor, as printed.
extern "C" __global__ void mean_zh_own(const float* x, float* y, int n, int reduce_num,
                                       int left_num, int blocking_size) {
  as_function::ReduceHigherDimKernel<float, float, float>(
      x, y, CustomMean<float>(), DivideFunctor<float>(n), 0.0f, reduce_num, left_num,
      blocking_size);
}

#define KERNEL_zh(name, T, Op)                                                                  \
  extern "C" __global__ void name(const T* x, T* y, int reduce_num, int left_num,               \
                                  int blocking_size) {                                          \
    as_function::ReduceHigherDimKernel<T, T, T>(x, y, Op<T>(), kps::IdentityFunctor<T>(),       \
                                                Op<T>().initial(), reduce_num, left_num,        \
                                                blocking_size);                                 \
  }
// clang-format off
KERNEL_zh(sum_zh, float, kps::AddFunctor)
KERNEL_zh(prod_zh, float, kps::MulFunctor)
KERNEL_zh(max_zh, float, kps::MaxFunctor)
KERNEL_zh(any_zh, bool, kps::LogicalOrFunctor)
// clang-format on
