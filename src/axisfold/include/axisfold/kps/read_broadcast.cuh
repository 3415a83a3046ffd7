// SPDX-License-Identifier: Apache-2.0
// ReadDataBc: reads with broadcasting.
#pragma once

#include <axisfold/kps/broadcast.cuh>
#include <axisfold/kps/read.cuh>

namespace axisfold {
namespace kps {

/// Reads, for output elements `block_offset + threadIdx.x + x * stride_nx + y * stride_ny`, the
/// input elements that they are broadcast from.
///
/// @param src              the whole input
/// @param block_offset     output index of the block's first element
/// @param total_num_output number of output elements; checked when IsBoundary
///
/// Template lists: `T, NX, NY[, IsBoundary]` or `T, NX, NY, BlockSize, Rank[, IsBoundary]`.
/// Cost: one multiply-high division for each dimension and element.
template <class T, int NX, int NY, auto P = false, auto... R>
AXISFOLD_DEVICE void ReadDataBc(T* dst, const T* __restrict__ src, index_t block_offset,
                                const details::BroadcastConfig& config, index_t total_num_output,
                                index_t stride_nx, index_t stride_ny) {
  constexpr bool is_boundary = details::template_list<2, P, R...>::boundary();
  details::check_shape<NX, NY>();
  const index_t first = block_offset + threadIdx.x;
#pragma unroll
  for (int y = 0; y < NY; ++y) {
#pragma unroll
    for (int x = 0; x < NX; ++x) {
      const index_t output = first + y * stride_ny + x * stride_nx;
      if (is_boundary && output >= total_num_output) break;
      dst[y * NX + x] = src[config.source(static_cast<uint64>(output))];
    }
  }
}

/// The same for NX neighbouring output elements of each thread.
template <class T, int NX, int NY = 1, auto P = false, auto... R>
AXISFOLD_DEVICE void ReadDataBc(T* dst, const T* __restrict__ src, index_t block_offset,
                                const details::BroadcastConfig& config, index_t total_num_output,
                                int read_lens = NX) {
  constexpr bool is_boundary = details::template_list<2, P, R...>::boundary();
  static_cast<void>(read_lens);
  details::check_one_row<NX, NY>();
  details::for_each_neighbour<NX, is_boundary>(
      total_num_output - block_offset, [&](int i, index_t offset) {
        dst[i] = src[config.source(static_cast<uint64>(block_offset + offset))];
      });
}

/// The same into component `Index` of an array of tuples.
template <class T, int NX, int NY, class ArgsT, int Index, bool IsBoundary = false>
AXISFOLD_DEVICE void ReadDataBc(ArgsT* dst, const T* __restrict__ src, index_t block_offset,
                                const details::BroadcastConfig& config, index_t total_num_output,
                                int read_lens = NX) {
  static_cast<void>(read_lens);
  details::check_one_row<NX, NY>();
  details::for_each_neighbour<NX, IsBoundary>(
      total_num_output - block_offset, [&](int i, index_t offset) {
        using axisfold::get;
        get<Index>(dst[i]) = src[config.source(static_cast<uint64>(block_offset + offset))];
      });
}

}  // namespace kps
}  // namespace axisfold
