// SPDX-License-Identifier: Apache-2.0
// PyTorch's spelling of the warp and block reduction: WarpReduce, BlockReduce, Block1D, Block2D and
// an operator with `combine` and `warp_shfl_down`.
#pragma once

#include <axisfold/warp_reduce.cuh>

namespace axisfold {
namespace torch {

#if !defined(C10_WARP_SIZE)
inline constexpr int C10_WARP_SIZE = 32;
#endif

/// What an operator's `warp_shfl_down` should call. It names the lanes that exist, so a block need
/// not be a multiple of 32 threads; a lane without a source gets its own value back.
template <class T>
AXISFOLD_DEVICE T WARP_SHFL_DOWN(const T& value, int offset) {
  const uint32 lane = lane_index();
  const uint32 source = lane + static_cast<uint32>(offset);
  return shuffle(present_lanes(), value, source < warp_lane_count() ? source : lane);
}

/// An operator of this library in PyTorch's form.
template <class T, class Op>
struct ReduceOp {
  Op op;
  AXISFOLD_DEVICE T combine(const T& a, const T& b) const { return op(a, b); }
  AXISFOLD_DEVICE T warp_shfl_down(const T& value, int offset) const {
    return WARP_SHFL_DOWN(value, offset);
  }
};

/// A one-dimensional block.
struct Block1D {
  static AXISFOLD_DEVICE int Tid() { return static_cast<int>(threadIdx.x); }
  static AXISFOLD_DEVICE int Threads() { return static_cast<int>(blockDim.x); }
  /// Rounded up: PyTorch's own divides down and loses the last warp of a block such as (40, 1).
  static AXISFOLD_DEVICE int Warps() { return (Threads() + 31) / 32; }
};

/// A two-dimensional block, x running fastest.
struct Block2D {
  static AXISFOLD_DEVICE int Tid() {
    return static_cast<int>(threadIdx.x + threadIdx.y * blockDim.x);
  }
  static AXISFOLD_DEVICE int Threads() { return static_cast<int>(blockDim.x * blockDim.y); }
  static AXISFOLD_DEVICE int Warps() { return (Threads() + 31) / 32; }
};

/// Reduces over the lanes of the warp with `op.combine` and `op.warp_shfl_down`; the result is in
/// lane 0. In a partial warp only the lanes that exist are combined.
///
/// Preconditions: all threads of the warp call it; `op` commutes (lane i meets lane i + 16 first).
/// Cost: 5 calls of `warp_shfl_down`.
template <class T, class ReduceOp>
AXISFOLD_DEVICE T WarpReduce(T val, const ReduceOp& op) {
  static_assert(!declares_noncommutative_v<ReduceOp>,
                "WarpReduce combines lane i with lane i + 16 first: the operator must commute.");
  const uint32 lane = lane_index();
  const uint32 lanes = warp_lane_count();
#pragma unroll
  for (uint32 offset = warp_lanes / 2; offset > 0; offset /= 2) {
    const T other = op.warp_shfl_down(val, static_cast<int>(offset));
    // Lanes past the end pass their own value, which must not be counted twice. Lanes of the upper
    // half fold values that nobody reads.
    if (lane + offset < lanes) val = op.combine(val, other);
  }
  return val;
}

/// Reduces over the block; the result is in thread 0.
///
/// @param identity_element what a lane without a warp contributes
/// @param shared           shared memory for one T of each warp: `B::Warps()`, at most 32
///
/// Preconditions: all threads of the block call it; the block has the shape that `B` reads (Block1D
/// for one row of threads); at most 1024 threads, as the second stage is a single warp.
/// Cost: 10 calls of `warp_shfl_down` and 2 barriers.
template <class T, class ReduceOp, class B = Block1D>
AXISFOLD_DEVICE T BlockReduce(T val, const ReduceOp& op, const type_identity_t<T>& identity_element,
                              T* shared) {
  AXISFOLD_REQUIRE(B::Threads() <= static_cast<int>(max_block_threads),
                   "BlockReduce folds 32 warps at most: a block of up to 1024 threads.");
  AXISFOLD_REQUIRE(B::Threads() == static_cast<int>(block_threads()),
                   "BlockReduce: the block has more dimensions than the block trait reads.");
  AXISFOLD_REQUIRE(ptx::is_in_shared(shared, static_cast<uint32>(sizeof(T)) * block_warps()),
                   "BlockReduce needs shared memory for one value of each warp.");
  const int tid = B::Tid();
  const int lid = tid % static_cast<int>(warp_lanes);
  const int wid = tid / static_cast<int>(warp_lanes);
  val = WarpReduce(val, op);
  __syncthreads();  // an earlier call may still be reading `shared`
  if (lid == 0) shared[wid] = val;
  __syncthreads();
  if (wid == 0) {
    // A first warp of fewer than 32 lanes is the only warp, so no partial result is out of reach.
    val = lid < B::Warps() ? shared[lid] : identity_element;
    val = WarpReduce(val, op);
  }
  return val;
}

}  // namespace torch
}  // namespace axisfold
