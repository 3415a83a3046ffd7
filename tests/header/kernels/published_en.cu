// SPDX-License-Identifier: Apache-2.0
// The English text against the library, with nothing but the prelude before it.
#include <axisfold/kps_prelude.cuh>

// On the host, the text compares an int with an unsigned and leaves parameters unused.
#if defined(__GNUC__) && !defined(__CUDACC__)
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

namespace as_kernel {
#include "published_en.cuh"
template __global__ void
ReduceHigherDimKernel<float, float, float, AddFunctor<float>, IdentityFunctor<float>>(
    const float*, float*, AddFunctor<float>, IdentityFunctor<float>, float, int, int, int);
}  // namespace as_kernel

// The same text as a device function, so that a kernel without template parameters can call it.
#undef __global__
#define __global__ __device__
namespace as_function {
#include "published_en.cuh"
}
#undef __global__
#if defined(__CUDACC__)
#define __global__ __attribute__((global))
#else
#define __global__
#endif
#include <axisfold/kps_prelude_end.cuh>

extern "C" __global__ void sum_en(const float* x, float* y, int reduce_num, int left_num,
                                  int blocking_num) {
  as_function::ReduceHigherDimKernel<float, float, float>(
      x, y, AddFunctor<float>(), IdentityFunctor<float>(), 0.0f, reduce_num, left_num,
      blocking_num);
}

// What the text does with another reducer: it adds all the same.
extern "C" __global__ void max_en(const float* x, float* y, int reduce_num, int left_num,
                                  int blocking_num) {
  as_function::ReduceHigherDimKernel<float, float, float>(
      x, y, kps::MaxFunctor<float>(), IdentityFunctor<float>(), 0.0f, reduce_num, left_num,
      blocking_num);
}
