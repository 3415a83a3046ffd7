// SPDX-License-Identifier: Apache-2.0
// Reduction over a thread block cluster through distributed shared memory, sm_90 and newer.
#pragma once

#include <axisfold/block_reduce.cuh>

namespace axisfold {

/// Reduces the values of all threads of all blocks of the cluster, in order of block rank, then of
/// thread. Result::first leaves it in thread 0 of block rank 0, Result::all in every thread; each
/// block then folds the same partial results in the same order, so all hold the same bits.
///
/// Precondition: all threads of the cluster call it; the kernel was launched with a cluster size (a
/// launch without one is a cluster of one block).
/// Cost: block_reduce, two cluster barriers, one read of distributed shared memory per block.
/// Source: CUDA C++ Programming Guide, thread block clusters.
template <Result where = Result::first, Order order = Order::any, class T, class Op>
AXISFOLD_DEVICE T cluster_reduce(T value, const Op& op, block_scratch<T>& scratch) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  static_assert(always_false_v<T>,
                "cluster_reduce needs sm_90 or newer: older GPUs have no thread block clusters.");
  return value;
#else
  value = block_reduce<Result::first, order>(value, op, scratch);
  const uint32 blocks = ptx::cluster_blocks();
  const bool is_reader = thread_rank() == 0 && (where == Result::all || ptx::cluster_rank() == 0);
  // Slot 1: `result(0)` may still be read by slower threads of an earlier Result::all.
  if (thread_rank() == 0) scratch.result(1) = value;
  ptx::cluster_barrier();
  if (is_reader) {
    const T* const mine = &scratch.result(1);
    value = *ptx::cluster_peer(mine, 0);
    // The reads do not depend on each other; unrolling lets them overlap.
#pragma unroll 8
    for (uint32 rank = 1; rank < blocks; ++rank) {
      value = op(value, *ptx::cluster_peer(mine, rank));
    }
    if constexpr (where == Result::all) scratch.result(0) = value;
  }
  // Also keeps every block resident until its peers have read its shared memory.
  ptx::cluster_barrier();
  if constexpr (where == Result::all) value = scratch.result(0);
  return value;
#endif
}

/// Reduces over the cluster, in shared memory of its own.
template <Result where = Result::first, Order order = Order::any, class T, class Op>
AXISFOLD_DEVICE T cluster_reduce(T value, const Op& op) {
  return cluster_reduce<where, order>(value, op, detail::static_scratch<T>());
}

}  // namespace axisfold
