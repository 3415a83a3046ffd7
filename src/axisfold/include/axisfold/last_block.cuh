// SPDX-License-Identifier: Apache-2.0
// One-launch reductions: the last block to arrive folds the partial results of all.
#pragma once

#include <axisfold/block_reduce.cuh>

namespace axisfold {
namespace detail {

// Reads what another block wrote, past the first-level cache.
template <class T>
AXISFOLD_DEVICE T load_coherent(const T* address) {
  T value;
  if constexpr (sizeof(T) % 4 == 0 && alignof(T) >= 4) {
    words<T> parts;
#pragma unroll
    for (int i = 0; i < parts.count; ++i) {
      parts.word[i] = ptx::load_coherent(reinterpret_cast<const uint32*>(address) + i);
    }
    value = parts.value();
  } else {
    uint8 bytes[sizeof(T)];
#pragma unroll
    for (uint32 i = 0; i < sizeof(T); ++i) {
      bytes[i] = ptx::load_coherent(reinterpret_cast<const uint8*>(address) + i);
    }
    memcpy(static_cast<void*>(&value), bytes, sizeof(T));
  }
  return value;
}

}  // namespace detail

/// Publishes the result of this block and folds those of all `block_count` blocks in the last block
/// that arrives. Returns true in all threads of that block, and only there; `value` of its thread 0
/// is then the total.
///
/// The partial results are folded in the order of their index, whichever block came last: the bits
/// of the total are the same in every run, also for an operator that does not commute. The ticket
/// returns to zero, so a workspace that was zeroed once serves every later launch on its stream.
///
/// @param value       result of the block, in its thread 0
/// @param partials    workspace of `block_count` values in global memory; no initialisation
/// @param ticket      counter in global memory; zero before the first launch
/// @param block_index which of the `block_count` blocks this is
/// @param block_count number of blocks that share the ticket
///
/// Precondition: all threads of each block call it; launches that share a workspace do not overlap.
/// Cost: one fence and one atomic per block; in the last block, one read of the partial results.
/// Source: the threadFenceReduction scheme of the CUDA samples; the wrap-around of atomicInc resets
/// the ticket.
template <class T, class Op>
AXISFOLD_DEVICE bool last_block_fold(T& value, const Op& op, T* partials, uint32* ticket,
                                     uint32 block_index, uint32 block_count,
                                     block_scratch<T>& scratch) {
  detail::check_operator<T, Op, Order::preserved>();
  AXISFOLD_REQUIRE(block_index < block_count, "last_block_fold: block_index is out of range.");
  const uint32 rank = thread_rank();
  bool drew_last = false;
  if (rank == 0) {
    partials[block_index] = value;
    __threadfence();  // the partial result is visible before the ticket that announces it
    drew_last = atomicInc(ticket, block_count - 1) == block_count - 1;
    __threadfence();  // nor are the others read before all tickets are drawn
  }
  if (!__syncthreads_or(drew_last)) return false;

  // A contiguous run for each thread keeps the order; fewer than `threads` runs may exist.
  const uint32 threads = block_threads();
  const uint32 run = (block_count + threads - 1) / threads;
  const uint32 runs = (block_count + run - 1) / run;
  if (rank < runs) {
    const uint32 first = rank * run;
    const uint32 end = first + run < block_count ? first + run : block_count;
    value = detail::load_coherent(partials + first);
    for (uint32 i = first + 1; i < end; ++i) value = op(value, detail::load_coherent(partials + i));
  }
  value = block_reduce_valid<Result::first, Order::preserved>(value, runs, op, scratch);
  return true;
}

/// The same for a whole one-dimensional grid, in shared memory of its own.
template <class T, class Op>
AXISFOLD_DEVICE bool last_block_fold(T& value, const Op& op, T* partials, uint32* ticket) {
  return last_block_fold(value, op, partials, ticket, blockIdx.x, gridDim.x,
                         detail::static_scratch<T>());
}

}  // namespace axisfold
