// SPDX-License-Identifier: Apache-2.0
// Reduction over the lanes of a warp, of a sub-warp of any width, or of any set of lanes.
#pragma once

#include <axisfold/shuffle.cuh>

namespace axisfold {

/// Who receives the result.
enum class Result {
  first,  ///< the first thread of the group; the value of the others is unspecified
  all,    ///< every thread of the group, with the same bits
};

/// Whether the operands may change places.
enum class Order {
  any,       ///< the operator is associative and commutative
  preserved  ///< associative only: operands are combined in the order of the threads
};

namespace detail {

template <class T, class Op, Order order>
AXISFOLD_FN constexpr void check_operator() {
  static_assert(is_trivially_copyable_v<T>,
                "A reduced value must be trivially copyable: lanes exchange its bytes.");
  static_assert(order == Order::preserved || !declares_noncommutative_v<Op>,
                "This operator declares is_commutative = false: use Order::preserved.");
}

// Folds the lanes [lane, end) into `value`, at most `Width` of them, in the order of the lanes.
// Every lane of `mask` takes every shuffle; only the combination is conditional.
// Invariant: after a step the value covers [lane, min(lane + 2 * offset, end)).
template <int Width, class T, class Op>
AXISFOLD_DEVICE T fold_down(lane_mask mask, T value, uint32 lane, uint32 end, const Op& op) {
#pragma unroll
  for (uint32 offset = 1; offset < static_cast<uint32>(Width); offset *= 2) {
    const bool has_partner = lane + offset < end;
    // A lane without a partner reads itself: no lane outside the group is ever named.
    const T other = shuffle(mask, value, has_partner ? lane + offset : lane);
    if (has_partner) value = op(value, other);
  }
  return value;
}

// All lanes of an aligned group of `Width` lanes, a power of two, end with the same result.
template <int Width, Order order, class T, class Op>
AXISFOLD_DEVICE T butterfly(lane_mask mask, T value, uint32 lane, const Op& op) {
#pragma unroll
  for (uint32 offset = 1; offset < static_cast<uint32>(Width); offset *= 2) {
    const T other = shuffle_xor(mask, value, offset);
    if constexpr (order == Order::any) {
      value = op(value, other);
    } else {
      const bool is_upper = (lane & offset) != 0;
      const T left = is_upper ? other : value;
      const T right = is_upper ? value : other;
      value = op(left, right);
    }
  }
  return value;
}

}  // namespace detail

/// Reduces `value` over groups of `Width` consecutive lanes, by default the whole warp.
///
/// Width may be any number from 1 to 32. When it does not divide the warp, the lanes left over form
/// a shorter group; in the last warp of a block of, say, 40 threads, the group ends with the block.
/// No identity is needed, because absent lanes are never combined.
///
/// Precondition: every thread of the warp calls it.
/// Cost: ceil(log2(Width)) shuffles of T, one more to spread the result of an odd-sized group.
template <int Width = 32, Result where = Result::all, Order order = Order::any, class T, class Op>
AXISFOLD_DEVICE T warp_reduce(T value, const Op& op) {
  static_assert(Width >= 1 && Width <= 32, "warp_reduce: Width must be between 1 and 32 lanes.");
  detail::check_operator<T, Op, order>();
  const uint32 lane = lane_index();
  const uint32 lanes = warp_lane_count();
  constexpr bool is_power_of_two = (Width & (Width - 1)) == 0;
  if (is_power_of_two && lanes % Width == 0) {
    return detail::butterfly<Width, order>(first_lanes(lanes), value, lane, op);
  }
  const uint32 first = lane - lane % Width;
  const uint32 end = first + Width < lanes ? first + Width : lanes;
  const lane_mask mask = first_lanes(lanes);
  value = detail::fold_down<Width>(mask, value, lane, end, op);
  return where == Result::all ? shuffle(mask, value, first) : value;
}

/// Reduces over segments of any lengths within a warp. A segment starts at each lane that passes
/// `is_head`, and at lane 0; it ends before the next head. Operands keep their order.
///
/// Precondition: every thread of the warp calls it.
/// Cost: one ballot, 5 shuffles of T, one more for Result::all.
template <Result where = Result::all, class T, class Op>
AXISFOLD_DEVICE T warp_reduce_segments(T value, bool is_head, const Op& op) {
  detail::check_operator<T, Op, Order::preserved>();
  const uint32 lane = lane_index();
  const uint32 lanes = warp_lane_count();
  const lane_mask mask = first_lanes(lanes);
  const lane_mask heads = __ballot_sync(mask, is_head) | 1u;
  const lane_mask up_to_here = first_lanes(lane + 1);
  const lane_mask later_heads = heads & ~up_to_here;
  const uint32 end = later_heads != 0 ? static_cast<uint32>(__ffs(later_heads)) - 1u : lanes;
  value = detail::fold_down<32>(mask, value, lane, end, op);
  if (where == Result::first) return value;
  return shuffle(mask, value, 31u - static_cast<uint32>(__clz(heads & up_to_here)));
}

/// Reduces over exactly the lanes of `members`, in the order of the lanes.
///
/// For code in which part of a warp has branched away: `members` comes from the `__ballot_sync` or
/// `__match_any_sync` that decided the branch, never from `__activemask()`, which only tells who
/// happens to run together.
///
/// Precondition: the lanes of `members`, and no others, call it with the same mask.
/// Cost: 2 * ceil(log2(members)) shuffles, as each lane also looks for its partner.
template <Result where = Result::all, class T, class Op>
AXISFOLD_DEVICE T warp_reduce_members(T value, const Op& op, lane_mask members) {
  detail::check_operator<T, Op, Order::preserved>();
  require_mask(members);
  constexpr uint32 none = 32;
  const uint32 lane = lane_index();
  const lane_mask later = members & ~first_lanes(lane + 1);
  uint32 next = later != 0 ? static_cast<uint32>(__ffs(later)) - 1u : none;
  const uint32 count = static_cast<uint32>(__popc(members));
  // Pointer jumping: `next` is the member that follows everything already in `value`.
  for (uint32 folded = 1; folded < count; folded *= 2) {
    const uint32 source = next == none ? lane : next;
    const T other = shuffle(members, value, source);
    const uint32 beyond = shuffle(members, next, source);
    if (next != none) value = op(value, other);
    next = beyond;
  }
  if (where == Result::first) return value;
  return shuffle(members, value, static_cast<uint32>(__ffs(members)) - 1u);
}

}  // namespace axisfold
