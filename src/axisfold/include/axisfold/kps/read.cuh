// SPDX-License-Identifier: Apache-2.0
// ReadData: global memory to registers.
#pragma once

#include <axisfold/kps/copy.cuh>
#include <axisfold/kps/template_list.cuh>
#include <axisfold/tuple.cuh>

namespace axisfold {
namespace kps {
namespace details {

/// Copies `num` values; for a single thread.
template <class T>
AXISFOLD_DEVICE void ReadData(T* dst, const T* __restrict__ src, index_t num) {
  for (index_t i = 0; i < num; ++i) dst[i] = src[i];
}

// NX neighbours of each thread, handed to `put(register index, value)`.
template <class T, int NX, bool IsBoundary, class Put>
AXISFOLD_DEVICE void read_neighbours(const T* __restrict__ src, index_t num, const Put& put) {
  constexpr int width = vector_width<T, NX>;
  if constexpr (!IsBoundary && width > 1) {
    using Vector = vector<T, width>;
    // Uniform in the grid. A slice of an array may start anywhere, and a misaligned vector faults.
    if (is_aligned_for<Vector>(src)) {
      const Vector* const wide =
          reinterpret_cast<const Vector*>(src) + static_cast<index_t>(threadIdx.x) * (NX / width);
      Vector loaded[NX / width];
#pragma unroll
      for (int v = 0; v < NX / width; ++v) loaded[v] = wide[v];
#pragma unroll
      for (int i = 0; i < NX; ++i) put(i, loaded[i / width].value[i % width]);
      return;
    }
  }
  for_each_neighbour<NX, IsBoundary>(num, [&](int i, index_t offset) { put(i, src[offset]); });
}

}  // namespace details

/// Reads NX columns and NY rows of each thread, with a cast: register `y * NX + x` takes element
/// `threadIdx.x + x * stride_nx + y * stride_ny` of the block.
///
/// @param src     first element of the block
/// @param size_nx columns that the block owns, in elements from `src`; used when IsBoundary
/// @param size_ny rows that the block owns; used when IsBoundary. Today's template list: their
///                extent in elements (rows * stride_ny). Older list, with BlockSize: their number.
///
/// Registers of elements that do not exist keep their value: fill them with `Init` first.
/// Template lists: `Tx, Ty, NX, NY[, IsBoundary]` or `Tx, Ty, NX, NY, BlockSize[, IsBoundary]`.
template <class Tx, class Ty, int NX, int NY, auto P = false, auto... R>
AXISFOLD_DEVICE void ReadData(Ty* dst, const Tx* __restrict__ src, index_t size_nx, index_t size_ny,
                              index_t stride_nx, index_t stride_ny) {
  using List = details::template_list<1, P, R...>;
  details::check_shape<NX, NY>();
  details::for_each_strided<NX, NY, List::boundary()>(
      size_nx, stride_nx, stride_ny,
      [&](int y) { return details::row_exists<List::is_older>(y, size_ny, stride_ny); },
      [&](int i, index_t offset) { dst[i] = static_cast<Ty>(src[offset]); });
}

/// Reads NX neighbours for each thread of a row of threads: the block covers `blockDim.x * NX`
/// elements. A full block with aligned memory uses vectors of up to 16 bytes; a boundary block
/// reads element by element and leaves the registers past `num` as they are.
template <class T, int NX, int NY = 1, auto P = false, auto... R>
AXISFOLD_DEVICE void ReadData(T* dst, const T* __restrict__ src, index_t num) {
  details::check_one_row<NX, NY>();
  details::read_neighbours<T, NX, details::template_list<1, P, R...>::boundary()>(
      src, num, [&](int i, const T& value) { dst[i] = value; });
}

/// The same; `read_lens` matters to other devices and is not used.
template <class T, int NX, int NY = 1, auto P = false, auto... R>
AXISFOLD_DEVICE void ReadData(T* dst, const T* __restrict__ src, index_t num, int read_lens) {
  static_cast<void>(read_lens);
  ReadData<T, NX, NY, P, R...>(dst, src, num);
}

/// Reads into component `Index` of an array of tuples, so that inputs of different types share one
/// register array. Any tuple with a `get` found by its type works: axisfold's, std's, cuda::std's.
template <class T, int NX, int NY, class ArgsT, int Index, bool IsBoundary = false>
AXISFOLD_DEVICE void ReadData(ArgsT* dst, const T* __restrict__ src, index_t num,
                              int read_lens = 0) {
  static_cast<void>(read_lens);
  details::check_one_row<NX, NY>();
  details::read_neighbours<T, NX, IsBoundary>(src, num, [&](int i, const T& value) {
    using axisfold::get;
    get<Index>(dst[i]) = value;
  });
}
template <class T, int NX, int NY, int BlockSize, class ArgsT, int Index, bool IsBoundary = false>
AXISFOLD_DEVICE void ReadData(ArgsT* dst, const T* __restrict__ src, index_t num,
                              int read_lens = 0) {
  ReadData<T, NX, NY, ArgsT, Index, IsBoundary>(dst, src, num, read_lens);
}

}  // namespace kps
}  // namespace axisfold
