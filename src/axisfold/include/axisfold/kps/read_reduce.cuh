// SPDX-License-Identifier: Apache-2.0
// ReadDataReduce: gathers the elements that a thread reduces.
#pragma once

#include <axisfold/kps/read.cuh>

namespace axisfold {
namespace kps {
namespace details {

template <class Tx, class Ty, int NX, int NY, bool IsBoundary, class IndexCal, class Functor>
AXISFOLD_DEVICE void read_reduce(Ty* dst, const Tx* __restrict__ src, index_t block_offset,
                                 const IndexCal& index_cal, index_t size_nx, index_t size_ny,
                                 index_t stride_nx, index_t stride_ny, const Functor& func,
                                 bool reduce_last_dim) {
  check_shape<NX, NY>();
  const index_t reduced = reduce_last_dim ? threadIdx.x : threadIdx.y;
  const index_t kept = reduce_last_dim ? threadIdx.y : threadIdx.x;
#pragma unroll
  for (int x = 0; x < NX; ++x) {
    // With one column `src` already points at it, and callers pass size_nx = 1.
    if (IsBoundary && NX > 1 && kept + x * stride_nx >= size_nx) break;
#pragma unroll
    for (int y = 0; y < NY; ++y) {
      const index_t row = reduced + y * stride_ny;
      if (IsBoundary && row >= size_ny) break;
      const auto index = index_cal(row + block_offset);
      dst[y * NX + x] = static_cast<Ty>(func(src[static_cast<index_t>(index) + x * stride_nx]));
    }
  }
}

}  // namespace details

/// Reads the elements of a reduced run through an index function, with `func` applied on the way:
/// register `y * NX + x` takes `func(src[index_cal(block_offset + t + y * stride_ny) + x *
/// stride_nx])`, where t is threadIdx.x when the last dimension is reduced and threadIdx.y
/// otherwise.
///
/// @param size_nx kept columns that the block owns, counted along the other thread index; used when
///                IsBoundary and NX > 1 (with NX = 1, `src` points at the thread's own column)
/// @param size_ny reduced elements of the block; used when IsBoundary
///
/// Template lists: `Tx, Ty, NX, NY, Rank, IndexCal, Functor[, IsBoundary]`, or with BlockSize
/// before Rank.
template <class Tx, class Ty, int NX, int NY, int Rank, class IndexCal, class Functor,
          bool IsBoundary = false>
AXISFOLD_DEVICE void ReadDataReduce(Ty* dst, const Tx* __restrict__ src, index_t block_offset,
                                    const IndexCal& index_cal, index_t size_nx, index_t size_ny,
                                    index_t stride_nx, index_t stride_ny, Functor func,
                                    bool reduce_last_dim) {
  details::read_reduce<Tx, Ty, NX, NY, IsBoundary>(dst, src, block_offset, index_cal, size_nx,
                                                   size_ny, stride_nx, stride_ny, func,
                                                   reduce_last_dim);
}
template <class Tx, class Ty, int NX, int NY, int BlockSize, int Rank, class IndexCal,
          class Functor, bool IsBoundary = false>
AXISFOLD_DEVICE void ReadDataReduce(Ty* dst, const Tx* __restrict__ src, index_t block_offset,
                                    const IndexCal& index_cal, index_t size_nx, index_t size_ny,
                                    index_t stride_nx, index_t stride_ny, Functor func,
                                    bool reduce_last_dim) {
  details::read_reduce<Tx, Ty, NX, NY, IsBoundary>(dst, src, block_offset, index_cal, size_nx,
                                                   size_ny, stride_nx, stride_ny, func,
                                                   reduce_last_dim);
}

}  // namespace kps
}  // namespace axisfold
