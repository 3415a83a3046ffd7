// SPDX-License-Identifier: Apache-2.0
// Reduction over all threads of a block.
#pragma once

#include <axisfold/scratch.cuh>
#include <axisfold/warp_reduce.cuh>

namespace axisfold {
namespace detail {

template <class T>
AXISFOLD_DEVICE void require_scratch(const block_scratch<T>& scratch) {
  AXISFOLD_REQUIRE(ptx::is_in_shared(&scratch, static_cast<uint32>(sizeof(scratch))),
                   "the scratch of a block reduction must lie in the shared memory of the block.");
  static_cast<void>(scratch);
}

// The fold of one warp when only threads below `valid` hold a value.
template <Order order, class T, class Op>
AXISFOLD_DEVICE T warp_fold_valid(T value, uint32 valid, const Op& op) {
  const uint32 lane = lane_index();
  const uint32 lanes = warp_lane_count();
  const uint32 before = warp_index() * warp_lanes;
  const uint32 held = valid > before ? valid - before : 0;
  // Uniform in the warp. A full warp needs no comparison at all.
  if (lanes == warp_lanes && held >= warp_lanes) {
    return butterfly<32, order>(all_lanes, value, lane, op);
  }
  return fold_down<32>(first_lanes(lanes), value, lane, held < lanes ? held : lanes, op);
}

}  // namespace detail

/// Reduces the values of the first `valid` threads of the block (in linear order); the others take
/// part in the barriers, and what they pass is ignored. This is how a tail is folded without an
/// identity.
///
/// Works for every block shape up to 1024 threads, a multiple of the warp or not. The result is in
/// thread 0 (Result::first) or in all threads. Order::preserved combines in linear thread order.
///
/// Preconditions: all threads of the block call it with the same `valid` >= 1; `scratch` is shared.
/// Cost: 5 shuffles, 2 barriers and one slot of shared memory per warp, then 5 more shuffles in the
/// first warp; Result::all adds a barrier. Two stages suffice because 32 * 32 = 1024.
/// Source: the scheme of the warp-then-block reduction of Luitjens, "Faster parallel reductions on
/// Kepler", 2014.
template <Result where = Result::first, Order order = Order::any, class T, class Op>
AXISFOLD_DEVICE T block_reduce_valid(T value, uint32 valid, const Op& op,
                                     block_scratch<T>& scratch) {
  detail::check_operator<T, Op, order>();
  detail::require_scratch(scratch);
  AXISFOLD_REQUIRE(valid >= 1, "block_reduce_valid needs at least one thread with a value.");
  const uint32 threads = block_threads();
  const uint32 holders = valid < threads ? valid : threads;
  const uint32 lane = lane_index();
  const uint32 warp = warp_index();

  value = detail::warp_fold_valid<order>(value, holders, op);
  if (threads > warp_lanes) {
    const uint32 partials = (holders + warp_lanes - 1) / warp_lanes;
    __syncthreads();  // the readers of a previous call are done with the scratch
    if (lane == 0 && warp < partials) scratch.partial(warp) = value;
    __syncthreads();
    // Warp 0 is full here, so all 32 lanes reach the shuffles below.
    if (warp == 0) {
      if (lane < partials) value = scratch.partial(lane);
      value = detail::fold_down<32>(all_lanes, value, lane, partials, op);
    }
  }
  if constexpr (where == Result::all) {
    if (threads > warp_lanes) {
      if (thread_rank() == 0) scratch.result(0) = value;
      __syncthreads();
      value = scratch.result(0);
    } else {
      value = shuffle(present_lanes(), value, 0);
    }
  }
  return value;
}

/// Reduces the values of all threads of the block. See block_reduce_valid.
template <Result where = Result::first, Order order = Order::any, class T, class Op>
AXISFOLD_DEVICE T block_reduce(T value, const Op& op, block_scratch<T>& scratch) {
  return block_reduce_valid<where, order>(value, block_threads(), op, scratch);
}

/// Reduces the values of all threads of the block, in shared memory of its own: 64 values of T for
/// each type T that the kernel reduces.
template <Result where = Result::first, Order order = Order::any, class T, class Op>
AXISFOLD_DEVICE T block_reduce(T value, const Op& op) {
  return block_reduce<where, order>(value, op, detail::static_scratch<T>());
}

}  // namespace axisfold
