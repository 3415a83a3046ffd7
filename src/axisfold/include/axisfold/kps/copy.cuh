// SPDX-License-Identifier: Apache-2.0
// The loops that ReadData and WriteData share: which elements a thread of the block owns.
#pragma once

#include <axisfold/ptx.cuh>
#include <axisfold/vector.cuh>

namespace axisfold {
namespace kps {
namespace details {

/// Visits a thread's NX neighbouring elements: `move(register index, offset in the block)`.
template <int NX, bool IsBoundary, class Move>
AXISFOLD_DEVICE void for_each_neighbour(index_t num, const Move& move) {
  const index_t first = static_cast<index_t>(threadIdx.x) * NX;
#pragma unroll
  for (int i = 0; i < NX; ++i) {
    if (!IsBoundary || first + i < num) move(i, first + i);
  }
}

/// Visits a thread's NX columns and NY rows: `move(register index, offset in the block)`.
///
/// A boundary block skips column x when threadIdx.x + x * stride_nx >= size_nx. Rows end by
/// `row_exists(y)`, since the two template lists count them differently.
template <int NX, int NY, bool IsBoundary, class RowExists, class Move>
AXISFOLD_DEVICE void for_each_strided(index_t size_nx, index_t stride_nx, index_t stride_ny,
                                      const RowExists& row_exists, const Move& move) {
  const index_t thread = threadIdx.x;
#pragma unroll
  for (int y = 0; y < NY; ++y) {
    if (IsBoundary && !row_exists(y)) break;
#pragma unroll
    for (int x = 0; x < NX; ++x) {
      if (IsBoundary && thread + x * stride_nx >= size_nx) break;
      move(y * NX + x, thread + x * stride_nx + y * stride_ny);
    }
  }
}

/// Whether row y belongs to the block.
///
/// Today's list passes `size_ny` as an extent in elements: row y exists while y * stride_ny is
/// below it. The kernels written for the older list pass a number of rows.
template <bool IsOlder>
AXISFOLD_DEVICE bool row_exists(int y, index_t size_ny, index_t stride_ny) {
  return IsOlder ? y < size_ny : y * stride_ny < size_ny;
}

}  // namespace details
}  // namespace kps
}  // namespace axisfold
