// SPDX-License-Identifier: Apache-2.0
// Shared memory of a block reduction.
#pragma once

#include <axisfold/integers.cuh>
#include <axisfold/type_traits.cuh>

namespace axisfold {

/// Shared memory for one block reduction of T at a time: a slot for each warp, and as many again
/// for results that travel back.
///
/// Declare it as `__shared__ block_scratch<T> scratch;`. It is raw storage, because shared memory
/// cannot run constructors. Calls in a row may share it: every reduction begins with a barrier.
template <class T>
struct block_scratch {
  static_assert(is_trivially_copyable_v<T>,
                "A value kept in shared memory must be trivially copyable.");
  static constexpr uint32 warps = max_block_threads / warp_lanes;

  alignas(T) unsigned char bytes[2 * warps * sizeof(T)];

  /// Partial result of warp `index`.
  AXISFOLD_DEVICE T& partial(uint32 index) { return reinterpret_cast<T*>(bytes)[index]; }
  /// Result of the group whose first thread is in warp `index`.
  AXISFOLD_DEVICE T& result(uint32 index) { return reinterpret_cast<T*>(bytes)[warps + index]; }
};

namespace detail {

// One scratch for each T, whatever the operator: instantiations of a kernel share it.
template <class T>
AXISFOLD_DEVICE block_scratch<T>& static_scratch() {
  __shared__ block_scratch<T> scratch;
  return scratch;
}

}  // namespace detail
}  // namespace axisfold
