// SPDX-License-Identifier: Apache-2.0
// Where the calling thread stands in its block, whatever the shape of the block.
#pragma once

#include <axisfold/ptx.cuh>

namespace axisfold {

/// Number of threads of the block, 1-D to 3-D.
AXISFOLD_DEVICE uint32 block_threads() {
  const uint32 threads = blockDim.x * blockDim.y * blockDim.z;
  AXISFOLD_REQUIRE(threads <= max_block_threads,
                   "a block has at most 1024 threads: 32 warps whose results one warp can fold.");
  return threads;
}

/// Linear index of the thread: x runs fastest, then y, then z. Warps are cut from this order.
/// Source: CUDA C++ Programming Guide, thread hierarchy.
AXISFOLD_DEVICE uint32 thread_rank() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

AXISFOLD_DEVICE uint32 lane_index() { return thread_rank() % warp_lanes; }
AXISFOLD_DEVICE uint32 warp_index() { return thread_rank() / warp_lanes; }

/// Number of warps of the block; the last one may be partial.
AXISFOLD_DEVICE uint32 block_warps() { return (block_threads() + warp_lanes - 1) / warp_lanes; }

/// Number of lanes that the calling warp has: 32, except in a partial last warp.
AXISFOLD_DEVICE uint32 warp_lane_count() {
  const uint32 left = block_threads() - warp_index() * warp_lanes;
  return left < warp_lanes ? left : warp_lanes;
}

/// The lowest `count` lanes, for count 0 … 32. A shift by 32 is undefined, hence the branch.
AXISFOLD_FN constexpr lane_mask first_lanes(uint32 count) {
  return count >= warp_lanes ? all_lanes : (lane_mask(1) << count) - 1u;
}

/// Exactly the lanes that exist in the calling warp. A shuffle that names another lane waits for a
/// thread that does not exist.
AXISFOLD_DEVICE lane_mask present_lanes() { return first_lanes(warp_lane_count()); }

/// Checks a mask given by the user (with AXISFOLD_CHECK): it names the caller and no absent lane.
AXISFOLD_DEVICE void require_mask(lane_mask mask) {
  AXISFOLD_REQUIRE((mask & ~present_lanes()) == 0,
                   "the mask names lanes that this warp does not have.");
  AXISFOLD_REQUIRE((mask >> lane_index()) & 1u, "the mask does not name the calling lane.");
  static_cast<void>(mask);
}

}  // namespace axisfold
