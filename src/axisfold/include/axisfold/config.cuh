// SPDX-License-Identifier: Apache-2.0
// Function qualifiers and the debug switch. Everything else in this library includes this file.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "axisfold needs C++17: pass -std=c++17 (nvcc, NVRTC) or newer."
#endif

/// Callable from host and device. Forced inline, because a reduction step is a handful of
/// instructions and a call would spill the accumulators around it.
#define AXISFOLD_FN __host__ __device__ __forceinline__

/// Device only: the function looks at the thread, the warp or shared memory.
#define AXISFOLD_DEVICE __device__ __forceinline__

/// `-DAXISFOLD_CHECK=1` turns the run-time preconditions on: a violated one prints its sentence and
/// traps the kernel. The default compiles them away, since each costs a branch in hot code.
#ifndef AXISFOLD_CHECK
#define AXISFOLD_CHECK 0
#endif

#if AXISFOLD_CHECK
#if !defined(__CUDACC_RTC__)
#include <cstdio>  // nvcc declares the device's printf there; NVRTC knows it
#endif
#define AXISFOLD_REQUIRE(condition, sentence)                                                  \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      printf("axisfold: %s [block (%u, %u, %u), thread (%u, %u, %u)]\n", sentence, blockIdx.x, \
             blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);                   \
      __trap();                                                                                \
    }                                                                                          \
  } while (false)
#else
#define AXISFOLD_REQUIRE(condition, sentence) static_cast<void>(0)
#endif
