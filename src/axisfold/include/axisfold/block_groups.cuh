// SPDX-License-Identifier: Apache-2.0
// Several independent reductions in one block: groups of consecutive threads, and segments between
// arbitrary heads.
#pragma once

#include <axisfold/block_reduce.cuh>

namespace axisfold {

/// Reduces over groups of `group_size` consecutive threads (in linear order), all groups at once.
/// A block of (x, y) threads reduces its rows with group_size = blockDim.x.
///
/// Any group size is right: below, at or above a warp, a multiple of 32 or not. The last group is
/// shorter when the size does not divide the block. Operands keep their order. The result is in the
/// first thread of each group, or in all of its threads.
///
/// Preconditions: all threads of the block call it with the same group_size >= 1.
/// Cost: 5 shuffles when no group leaves its warp, and then no barrier; otherwise 2 barriers
/// (3 for Result::all) and at most 6 further shuffles.
template <Result where = Result::first, class T, class Op>
AXISFOLD_DEVICE T block_reduce_groups(T value, uint32 group_size, const Op& op,
                                      block_scratch<T>& scratch) {
  detail::check_operator<T, Op, Order::preserved>();
  detail::require_scratch(scratch);
  AXISFOLD_REQUIRE(group_size >= 1, "block_reduce_groups needs a group of at least one thread.");
  const uint32 threads = block_threads();
  const uint32 rank = thread_rank();
  const uint32 lane = lane_index();
  const uint32 warp = warp_index();
  const uint32 warp_first = rank - lane;
  const uint32 lanes = warp_lane_count();
  const lane_mask mask = first_lanes(lanes);

  // The part of my group that lies in this warp, as lanes [piece_first, piece_end).
  const uint32 group_first = rank - rank % group_size;
  const uint32 group_end = group_first + group_size < threads ? group_first + group_size : threads;
  const uint32 piece_first = group_first > warp_first ? group_first - warp_first : 0;
  const uint32 piece_end = group_end - warp_first < lanes ? group_end - warp_first : lanes;
  value = detail::fold_down<32>(mask, value, lane, piece_end, op);

  // Uniform over the block: does any group cross from one warp to the next?
  const bool within_warps = threads <= warp_lanes || warp_lanes % group_size == 0;
  if (within_warps) {
    return where == Result::all ? shuffle(mask, value, piece_first) : value;
  }

  __syncthreads();  // the readers of a previous call are done with the scratch
  if (lane == 0) scratch.partial(warp) = value;
  __syncthreads();

  // At most one group starts in this warp and goes on into the next ones: that of the last lane.
  const uint32 last_rank = warp_first + lanes - 1;
  const uint32 open_first = last_rank - last_rank % group_size;
  const uint32 open_end = open_first + group_size < threads ? open_first + group_size : threads;
  const bool is_open = open_first >= warp_first && open_end > warp_first + lanes;
  if (is_open) {  // uniform in the warp, and only full warps are followed by another one
    const uint32 pieces = (open_end - 1) / warp_lanes - warp;
    T rest = value;
    if (lane < pieces) rest = scratch.partial(warp + 1 + lane);
    rest = detail::fold_down<32>(mask, rest, lane, pieces, op);
    rest = shuffle(mask, rest, 0);
    if (rank == open_first) {
      value = op(value, rest);
      if constexpr (where == Result::all) scratch.result(warp) = value;
    }
  }
  if constexpr (where == Result::all) {
    __syncthreads();
    const T in_warp = shuffle(mask, value, piece_first);
    const bool crosses = group_first / warp_lanes != (group_end - 1) / warp_lanes;
    value = crosses ? scratch.result(group_first / warp_lanes) : in_warp;
  }
  return value;
}

/// Reduces over groups of consecutive threads, in shared memory of its own.
template <Result where = Result::first, class T, class Op>
AXISFOLD_DEVICE T block_reduce_groups(T value, uint32 group_size, const Op& op) {
  return block_reduce_groups<where>(value, group_size, op, detail::static_scratch<T>());
}

/// Reduces over segments of any lengths in a block. A segment starts at each thread that passes
/// `is_head`, and at thread 0; it ends before the next head. The result is in the head of each
/// segment; operands keep their order.
///
/// Preconditions: all threads of the block call it; `scratch` is shared.
/// Cost: one ballot, 5 shuffles, 2 barriers; the head of a segment of k warps then combines k - 1
/// partial results one after another.
template <class T, class Op>
AXISFOLD_DEVICE T block_reduce_segments(T value, bool is_head, const Op& op,
                                        block_scratch<T>& scratch) {
  detail::check_operator<T, Op, Order::preserved>();
  detail::require_scratch(scratch);
  __shared__ lane_mask heads_of_warp[block_scratch<T>::warps];
  const uint32 lane = lane_index();
  const uint32 warp = warp_index();
  const uint32 warps = block_warps();
  const uint32 lanes = warp_lane_count();
  const lane_mask mask = first_lanes(lanes);
  const lane_mask heads = __ballot_sync(mask, is_head || thread_rank() == 0);
  const lane_mask later_heads = heads & ~first_lanes(lane + 1);
  const uint32 end = later_heads != 0 ? static_cast<uint32>(__ffs(later_heads)) - 1u : lanes;
  value = detail::fold_down<32>(mask, value, lane, end, op);

  __syncthreads();  // the readers of a previous call are done with the scratch
  if (lane == 0) {
    scratch.partial(warp) = value;  // the piece from the warp's first lane to its first later head
    heads_of_warp[warp] = heads;
  }
  __syncthreads();

  const bool is_open_head = ((heads >> lane) & 1u) != 0 && later_heads == 0;
  if (is_open_head) {
    for (uint32 next = warp + 1; next < warps; ++next) {
      if ((heads_of_warp[next] & 1u) != 0) break;  // the next segment starts right there
      value = op(value, scratch.partial(next));
      if (heads_of_warp[next] != 0) break;
    }
  }
  return value;
}

/// Reduces over segments of any lengths in a block, in shared memory of its own.
template <class T, class Op>
AXISFOLD_DEVICE T block_reduce_segments(T value, bool is_head, const Op& op) {
  return block_reduce_segments(value, is_head, op, detail::static_scratch<T>());
}

}  // namespace axisfold
