// SPDX-License-Identifier: Apache-2.0
// Sort: the elements of a block, two of each thread, with or without an index.
#pragma once

#include <axisfold/operators.cuh>
#include <axisfold/thread.cuh>

namespace axisfold {
namespace kps {
namespace details {

inline constexpr uint32 kSortLimit = 1024;

// Whether element `a` must stand after element `b`. NaN counts as the greatest value, as in NumPy;
// equal elements keep the order of their positions, which makes the sort stable; positions at or
// past `num` hold no element and sort to the end.
template <class T>
AXISFOLD_DEVICE bool stands_after(const T& a, uint32 a_position, const T& b, uint32 b_position,
                                  uint32 num, bool ascending) {
  const bool a_exists = a_position < num;
  const bool b_exists = b_position < num;
  if (a_exists != b_exists) return !a_exists;
  if (a_exists) {
    const bool a_greater = is_nan(a) ? !is_nan(b) : a > b;
    const bool b_greater = is_nan(b) ? !is_nan(a) : b > a;
    if (a_greater != b_greater) return ascending ? a_greater : b_greater;
  }
  return a_position > b_position;
}

// Sorts `values` together with where they came from.
// Source: Batcher, "Sorting networks and their applications", 1968 (bitonic sort).
template <class T>
AXISFOLD_DEVICE void bitonic_sort(T* values, uint16* positions, uint32 num, bool ascending) {
  const uint32 threads = blockDim.x;
  uint32 size = 2;
  while (size < 2 * threads) size *= 2;
  for (uint32 i = threadIdx.x; i < size; i += threads) positions[i] = static_cast<uint16>(i);
  for (uint32 run = 2; run <= size; run *= 2) {
    for (uint32 stride = run / 2; stride > 0; stride /= 2) {
      __syncthreads();
      // A block that is not a power of two visits some pairs in a second turn.
      for (uint32 pair = threadIdx.x; pair < size / 2; pair += threads) {
        const uint32 low = 2 * pair - (pair & (stride - 1));
        const uint32 high = low + stride;
        const bool is_rising = (low & run) == 0;
        const T a = values[low];
        const T b = values[high];
        const uint16 at = positions[low];
        const uint16 bt = positions[high];
        if (stands_after(a, at, b, bt, num, ascending) == is_rising) {
          values[low] = b;
          values[high] = a;
          positions[low] = bt;
          positions[high] = at;
        }
      }
    }
  }
  __syncthreads();
}

template <class T>
AXISFOLD_DEVICE void require_sort_block(int num) {
  static_assert(is_trivially_copyable_v<T>, "Sort keeps its values in shared memory as bytes.");
  AXISFOLD_REQUIRE(blockDim.x * 2 <= kSortLimit && blockDim.y * blockDim.z == 1,
                   "Sort works on a one-dimensional block of at most 512 threads.");
  AXISFOLD_REQUIRE(num >= 0 && num <= static_cast<int>(2 * blockDim.x),
                   "Sort: num counts elements of the block, two for each thread at most.");
  static_cast<void>(num);
}

}  // namespace details

/// Sorts the first `num` elements of a one-dimensional block. Thread t passes elements t and
/// t + blockDim.x, and receives the elements that stand there after sorting. What stands at or past
/// `num` is unspecified.
///
/// Stable; NaN counts as the greatest value. Any blockDim.x up to 512 and any `num` are right.
///
/// @param monotonic_type 1 sorts upwards, anything else downwards
/// Cost: O(log(blockDim.x)^2) barriers; shared memory for 1024 values and positions.
template <class InT, class OutT>
AXISFOLD_DEVICE void Sort(OutT* out, const InT* in, int num, int monotonic_type) {
  details::require_sort_block<InT>(num);
  __shared__ InT values[details::kSortLimit];
  __shared__ uint16 positions[details::kSortLimit];
  const uint32 low = threadIdx.x;
  const uint32 high = low + blockDim.x;
  __syncthreads();  // the readers of a previous call are done
  values[low] = in[0];
  values[high] = in[1];
  details::bitonic_sort(values, positions, static_cast<uint32>(num), monotonic_type == 1);
  out[0] = static_cast<OutT>(values[low]);
  out[1] = static_cast<OutT>(values[high]);
}

/// Sorts values and carries an index with each. See the form above.
template <class InT, class OutT, class IndexType>
AXISFOLD_DEVICE void Sort(OutT* out, IndexType* out_index, const InT* in, const IndexType* in_index,
                          int num, int monotonic_type) {
  details::require_sort_block<InT>(num);
  __shared__ InT values[details::kSortLimit];
  __shared__ IndexType indices[details::kSortLimit];
  __shared__ uint16 positions[details::kSortLimit];
  const uint32 low = threadIdx.x;
  const uint32 high = low + blockDim.x;
  __syncthreads();  // the readers of a previous call are done
  values[low] = in[0];
  values[high] = in[1];
  indices[low] = in_index[0];
  indices[high] = in_index[1];
  details::bitonic_sort(values, positions, static_cast<uint32>(num), monotonic_type == 1);
  out[0] = static_cast<OutT>(values[low]);
  out[1] = static_cast<OutT>(values[high]);
  // Positions past the elements that threads passed exist in a padded sort; they carry no index.
  const uint32 elements = 2 * blockDim.x;
  if (positions[low] < elements) out_index[0] = indices[positions[low]];
  if (positions[high] < elements) out_index[1] = indices[positions[high]];
}

}  // namespace kps
}  // namespace axisfold
