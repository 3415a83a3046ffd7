// SPDX-License-Identifier: Apache-2.0
// Reduce: within a thread, along threadIdx.x or along threadIdx.y.
#pragma once

#include <axisfold/block_groups.cuh>

namespace axisfold {
namespace kps {
namespace details {

/// kGlobalMode reduces over the threads of the block, kLocalMode within each thread.
enum ReduceMode { kGlobalMode, kLocalMode };

/// Block sizes that PaddlePaddle's launch code stays below. Nothing here depends on them.
inline constexpr int kReduceMaxThread = 128;
inline constexpr int kWarpSize = 32;

/// Reduces each row of threads (equal y and z); every thread of the row receives the result. Any
/// blockDim.x is right, not only powers of two and multiples of a warp.
template <class T, class ReduceOp>
AXISFOLD_DEVICE T BlockXReduce(T val, ReduceOp reducer) {
  return block_reduce_groups<Result::all>(val, blockDim.x, reducer);
}

/// Reduces each column of threads (equal x and z); every thread of the column receives the result.
/// Any blockDim.y is right.
///
/// Cost: ceil(log2(blockDim.y)) + 1 rounds of one barrier pair; shared memory for 1024 values of T.
template <class T, class ReduceOp>
AXISFOLD_DEVICE T BlockYReduce(T val, ReduceOp reducer) {
  static_assert(is_trivially_copyable_v<T>,
                "A value kept in shared memory must be trivially copyable.");
  static_assert(sizeof(T) * max_block_threads <= 48 * 1024,
                "BlockYReduce keeps 1024 values of T in 48 KiB of static shared memory: T may take "
                "48 bytes at most.");
  alignas(T) __shared__ unsigned char bytes[sizeof(T) * max_block_threads];
  T* const slots = reinterpret_cast<T*>(bytes);
  const uint32 rows = blockDim.y;
  if (rows == 1) return val;  // uniform in the block
  const uint32 slot = thread_rank();
  const uint32 column = slot - threadIdx.y * blockDim.x;

  __syncthreads();  // the readers of a previous call are done with the slots
  slots[slot] = val;
  // The upper part of the rows folds into the lower one. An odd row in the middle waits its turn.
  for (uint32 left = rows; left > 1;) {
    const uint32 kept = (left + 1) / 2;
    __syncthreads();
    if (threadIdx.y + kept < left) {
      val = reducer(val, slots[slot + kept * blockDim.x]);
      slots[slot] = val;
    }
    left = kept;
  }
  __syncthreads();
  return slots[column];
}

}  // namespace details

/// kLocalMode: out[y] = reducer(out[y], in[y * NX + x]) over a thread's NX columns, for its NY
/// rows. `out` is an operand: fill it with `reducer.initial()` first.
///
/// kGlobalMode: each of the NX * NY registers of `out` is reduced over the block, along threadIdx.x
/// when `reduce_last_dim`, along threadIdx.y otherwise; every thread of the row (column) receives
/// the result. `in` is not read: pass `out` again. All threads of the block must call it.
///
/// Template lists: `T, NX, NY, ReduceFunctor, Mode` or with a BlockSize after NY.
template <class T, int NX, int NY, class ReduceFunctor, details::ReduceMode Mode>
AXISFOLD_DEVICE void Reduce(T* out, const T* in, ReduceFunctor reducer, bool reduce_last_dim) {
  static_assert(NX >= 1 && NY >= 1, "Reduce: NX and NY count registers, at least 1 each.");
  if constexpr (Mode == details::kLocalMode) {
    static_cast<void>(reduce_last_dim);
#pragma unroll
    for (int y = 0; y < NY; ++y) {
#pragma unroll
      for (int x = 0; x < NX; ++x) {
        out[y] = static_cast<T>(reducer(out[y], in[y * NX + x]));
      }
    }
  } else {
    static_assert(!declares_noncommutative_v<ReduceFunctor>,
                  "Reduce in kGlobalMode regroups the operands of all threads: the functor must be "
                  "associative and commutative.");
    static_cast<void>(in);
#pragma unroll
    for (int i = 0; i < NX * NY; ++i) {
      out[i] = reduce_last_dim ? details::BlockXReduce(out[i], reducer)
                               : details::BlockYReduce(out[i], reducer);
    }
  }
}
template <class T, int NX, int NY, int BlockSize, class ReduceFunctor, details::ReduceMode Mode>
AXISFOLD_DEVICE void Reduce(T* out, const T* in, ReduceFunctor reducer, bool reduce_last_dim) {
  Reduce<T, NX, NY, ReduceFunctor, Mode>(out, in, reducer, reduce_last_dim);
}

}  // namespace kps
}  // namespace axisfold
