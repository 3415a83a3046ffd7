// SPDX-License-Identifier: Apache-2.0
// The serial part of a reduction of a contiguous array: each thread's share, at the speed of
// memory.
#pragma once

#include <axisfold/operators.cuh>
#include <axisfold/thread.cuh>
#include <axisfold/vector.cuh>

namespace axisfold {

/// Folds this thread's share of `x[0 .. count)` over a one-dimensional grid; the fold of all
/// threads' results is the reduction of the array.
///
/// Loads are 16 bytes wide with `Unroll` of them in flight, each into an accumulator of its own: a
/// chain of dependent additions would be slower than the memory. The elements before the first
/// 16-byte boundary and after the last whole vector are folded one by one.
///
/// @param lift maps an element to the state; `op` combines states and has `identity()`.
/// Precondition: `op` commutes (the shares interleave).
/// Cost: one read of the array.
template <int Unroll = 4, class T, class Lift, class Op>
AXISFOLD_DEVICE auto grid_fold(const T* x, index_t count, const Lift& lift, const Op& op) {
  static_assert(Unroll >= 1 && Unroll <= 16,
                "grid_fold: Unroll must be between 1 and 16, or the accumulators spill.");
  static_assert(!declares_noncommutative_v<Op>,
                "grid_fold interleaves the shares of the threads: the operator must commute.");
  static_assert(sizeof(T) <= 16 && (sizeof(T) & (sizeof(T) - 1)) == 0,
                "grid_fold reads elements of 1, 2, 4, 8 or 16 bytes.");
  using State = remove_cv_t<decltype(op(lift(*x), lift(*x)))>;
  constexpr int width = 16 / static_cast<int>(sizeof(T));
  using Vector = vector<T, width>;
  const index_t threads = static_cast<index_t>(gridDim.x) * block_threads();
  const index_t rank = static_cast<index_t>(blockIdx.x) * block_threads() + thread_rank();

  State state[Unroll];
#pragma unroll
  for (int u = 0; u < Unroll; ++u) state[u] = Op::identity();

  // An element that is not aligned to its own size can never be followed by an aligned vector.
  const uint64 misaligned = reinterpret_cast<uint64>(x) % 16 / sizeof(T);
  index_t head = misaligned == 0 ? 0 : width - static_cast<index_t>(misaligned);
  head = head < count ? head : count;
  const index_t vectors = (count - head) / width;
  const Vector* const wide = reinterpret_cast<const Vector*>(x + head);

  index_t i = rank;
  for (; i + (Unroll - 1) * threads < vectors; i += Unroll * threads) {
    Vector loaded[Unroll];
#pragma unroll
    for (int u = 0; u < Unroll; ++u) loaded[u] = wide[i + u * threads];
#pragma unroll
    for (int u = 0; u < Unroll; ++u) {
#pragma unroll
      for (int k = 0; k < width; ++k) state[u] = op(state[u], lift(loaded[u].value[k]));
    }
  }
  for (; i < vectors; i += threads) {
    const Vector loaded = wide[i];
#pragma unroll
    for (int k = 0; k < width; ++k) state[0] = op(state[0], lift(loaded.value[k]));
  }
  // Fewer than 2 * width elements are left: one each for the first threads of the grid.
  if (rank < head) state[0] = op(state[0], lift(x[rank]));
  for (index_t k = head + vectors * width + rank; k < count; k += threads) {
    state[0] = op(state[0], lift(x[k]));
  }
  // A grid of fewer threads than head elements takes the rest here.
  for (index_t k = rank + threads; k < head; k += threads) state[0] = op(state[0], lift(x[k]));

#pragma unroll
  for (int step = 1; step < Unroll; step *= 2) {
#pragma unroll
    for (int u = 0; u + step < Unroll; u += 2 * step) state[u] = op(state[u], state[u + step]);
  }
  return state[0];
}

}  // namespace axisfold
