// SPDX-License-Identifier: Apache-2.0
// CUDA's keywords and built-in functions for a host compiler, included ahead of a kernel file. The
// machine behind them (runtime.cpp) runs every CUDA thread as a fibre and stops at misuse that a
// GPU would let pass: divergent barriers, shuffles that name lanes which cannot arrive, reads from
// lanes outside the mask.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

namespace simt {

struct uint3 {
  unsigned x, y, z;
};

// What a fibre knows about itself.
struct Thread {
  uint3 thread, block, block_dim, grid_dim;
};

enum class Exchange : int { index, down, up, xor_, ballot, sync };

const Thread& here();
void block_barrier(const char* file, int line);
int block_barrier_or(int predicate, const char* file, int line);
std::uint64_t warp_exchange(Exchange kind, unsigned mask, std::uint64_t value, int argument,
                            int width, const char* file, int line);
void report(const char* format, ...);
[[noreturn]] void trap(const char* file, int line);
bool is_in_shared(const void* pointer, unsigned bytes);
unsigned cluster_rank();
unsigned cluster_blocks();
void cluster_barrier(const char* file, int line);
const void* cluster_peer(const void* shared, unsigned rank);

template <class T>
T shuffle(Exchange kind, unsigned mask, T value, int argument, int width, const char* file,
          int line) {
  static_assert(sizeof(T) <= 8, "CUDA shuffles words of 4 and 8 bytes.");
  std::uint64_t raw = 0;
  std::memcpy(&raw, &value, sizeof(T));
  raw = warp_exchange(kind, mask, raw, argument, width, file, line);
  std::memcpy(&value, &raw, sizeof(T));
  return value;
}

// The default width of a shuffle, as an overload set for a macro with a variable argument count.
constexpr int shuffle_width(int width = 32) { return width; }

inline unsigned atomic_inc(unsigned* address, unsigned limit) {
  unsigned old = __atomic_load_n(address, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(address, &old, old >= limit ? 0 : old + 1, false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return old;
}

using Thunk = void (*)(void** arguments);

// Calls a kernel with arguments that are passed by address, as cuLaunchKernel takes them.
template <class... Args, std::size_t... I>
void call(void (*kernel)(Args...), void** arguments, std::index_sequence<I...>) {
  kernel(*static_cast<std::remove_cv_t<std::remove_reference_t<Args>>*>(arguments[I])...);
}
template <class... Args>
void call(void (*kernel)(Args...), void** arguments) {
  call(kernel, arguments, std::index_sequence_for<Args...>{});
}

// Forces the thread-local block, which holds the shared memory of this kernel file, to exist.
inline thread_local char shared_anchor;

}  // namespace simt

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __restrict__ __restrict
// A block runs on one host thread, so what is local to that thread is shared by the block.
#define __shared__ static thread_local

#define threadIdx (::simt::here().thread)
#define blockIdx (::simt::here().block)
#define blockDim (::simt::here().block_dim)
#define gridDim (::simt::here().grid_dim)

#define __syncthreads() ::simt::block_barrier(__FILE__, __LINE__)
#define __syncthreads_or(predicate) \
  ::simt::block_barrier_or((predicate) ? 1 : 0, __FILE__, __LINE__)
#define SIMT_SHUFFLE(kind, mask, value, argument, ...)                             \
  ::simt::shuffle(::simt::Exchange::kind, mask, value, static_cast<int>(argument), \
                  ::simt::shuffle_width(__VA_ARGS__), __FILE__, __LINE__)
#define __shfl_sync(mask, value, ...) SIMT_SHUFFLE_ARGS(index, mask, value, __VA_ARGS__, )
#define __shfl_down_sync(mask, value, ...) SIMT_SHUFFLE_ARGS(down, mask, value, __VA_ARGS__, )
#define __shfl_up_sync(mask, value, ...) SIMT_SHUFFLE_ARGS(up, mask, value, __VA_ARGS__, )
#define __shfl_xor_sync(mask, value, ...) SIMT_SHUFFLE_ARGS(xor_, mask, value, __VA_ARGS__, )
// The trailing comma above makes `width` empty when the caller leaves it out.
#define SIMT_SHUFFLE_ARGS(kind, mask, value, argument, width, ...) \
  SIMT_SHUFFLE(kind, mask, value, argument, width)
#define __ballot_sync(mask, predicate)                                                             \
  static_cast<unsigned>(::simt::warp_exchange(::simt::Exchange::ballot, mask, (predicate) ? 1 : 0, \
                                              0, 32, __FILE__, __LINE__))
#define __syncwarp(...) SIMT_SYNCWARP(__VA_ARGS__)
#define SIMT_SYNCWARP(mask) \
  static_cast<void>(        \
      ::simt::warp_exchange(::simt::Exchange::sync, mask, 0, 0, 32, __FILE__, __LINE__))
#define __trap() ::simt::trap(__FILE__, __LINE__)
#define printf ::simt::report

inline int __popc(unsigned word) { return __builtin_popcount(word); }
inline int __ffs(int word) { return __builtin_ffs(word); }
inline int __clz(int word) { return word == 0 ? 32 : __builtin_clz(static_cast<unsigned>(word)); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline unsigned atomicInc(unsigned* address, unsigned limit) {
  return simt::atomic_inc(address, limit);
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(a) * b) >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  __extension__ using wide = unsigned __int128;
  return static_cast<unsigned long long>((static_cast<wide>(a) * b) >> 64);
}
