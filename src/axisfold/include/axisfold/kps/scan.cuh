// SPDX-License-Identifier: Apache-2.0
// Cumsum: an inclusive prefix combination over two elements of each thread.
#pragma once

#include <axisfold/scratch.cuh>
#include <axisfold/shuffle.cuh>

namespace axisfold {
namespace kps {
namespace details {

// Inclusive scan over the threads of a one-dimensional block, in order. `sums` has a slot per warp.
// Afterwards sums[w] is the total of warps 0 … w. The caller makes sure that nobody still reads
// `sums`.
template <class T, class OpFunc>
AXISFOLD_DEVICE T block_scan(T value, const OpFunc& compute, T* sums) {
  const uint32 lane = lane_index();
  const uint32 warp = warp_index();
  const uint32 lanes = warp_lane_count();
  const lane_mask mask = first_lanes(lanes);
#pragma unroll
  for (uint32 offset = 1; offset < warp_lanes; offset *= 2) {
    const T before = shuffle(mask, value, lane >= offset ? lane - offset : lane);
    if (lane >= offset) value = static_cast<T>(compute(before, value));
  }
  if (lane == lanes - 1) sums[warp] = value;
  __syncthreads();
  if (warp == 0) {
    const uint32 warps = block_warps();
    T sum = value;
    if (lane < warps) sum = sums[lane];
#pragma unroll
    for (uint32 offset = 1; offset < warp_lanes; offset *= 2) {
      const T before = shuffle(mask, sum, lane >= offset ? lane - offset : lane);
      if (lane >= offset) sum = static_cast<T>(compute(before, sum));
    }
    if (lane < warps) sums[lane] = sum;
  }
  __syncthreads();
  return warp == 0 ? value : static_cast<T>(compute(sums[warp - 1], value));
}

}  // namespace details

/// Inclusive prefix combination over the 2 * blockDim.x elements of a one-dimensional block. Thread
/// t passes elements t and t + blockDim.x in in[0] and in[1], and receives their prefixes.
///
/// The order of the elements is kept, so `compute` need not commute. Any blockDim.x up to 1024 is
/// right (PaddlePaddle's tree needs a power of two up to 512).
///
/// Precondition: all threads of the block call it; blockDim.y = blockDim.z = 1.
/// Cost: 20 shuffles and 4 barriers.
template <class InT, class OutT, class OpFunc>
AXISFOLD_DEVICE void Cumsum(OutT* out, const InT* in, OpFunc compute) {
  static_assert(is_trivially_copyable_v<InT>, "Cumsum exchanges the bytes of its values.");
  AXISFOLD_REQUIRE(blockDim.y * blockDim.z == 1, "Cumsum works on a one-dimensional block.");
  // Two sets of slots, used in turn: the barriers of one scan protect the readers of the other.
  __shared__ block_scratch<InT> scratch;
  const InT low = details::block_scan(in[0], compute, &scratch.partial(0));
  // The first half's total is the last running sum, in the slot of the last warp.
  const InT total = scratch.partial(block_warps() - 1);
  const InT high = details::block_scan(in[1], compute, &scratch.result(0));
  out[0] = static_cast<OutT>(low);
  out[1] = static_cast<OutT>(compute(total, high));
}

}  // namespace kps
}  // namespace axisfold
