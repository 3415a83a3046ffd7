// SPDX-License-Identifier: Apache-2.0
// WriteData: registers to global memory.
#pragma once

#include <axisfold/kps/copy.cuh>
#include <axisfold/kps/template_list.cuh>

namespace axisfold {
namespace kps {
namespace details {

/// Copies `num` values; for a single thread.
template <class T>
AXISFOLD_DEVICE void WriteData(T* dst, const T* __restrict__ src, index_t num) {
  for (index_t i = 0; i < num; ++i) dst[i] = src[i];
}

}  // namespace details

/// Writes NX neighbours for each thread of a row of threads. A full block with aligned memory uses
/// vectors of up to 16 bytes; a boundary block writes nothing at or past `num`.
template <class T, int NX, int NY = 1, auto P = false, auto... R>
AXISFOLD_DEVICE void WriteData(T* dst, const type_identity_t<T>* src, index_t num) {
  constexpr bool is_boundary = details::template_list<1, P, R...>::boundary();
  details::check_one_row<NX, NY>();
  constexpr int width = vector_width<T, NX>;
  if constexpr (!is_boundary && width > 1) {
    using Vector = vector<T, width>;
    if (is_aligned_for<Vector>(dst)) {  // uniform in the grid
      Vector* const wide =
          reinterpret_cast<Vector*>(dst) + static_cast<index_t>(threadIdx.x) * (NX / width);
#pragma unroll
      for (int v = 0; v < NX / width; ++v) {
        Vector stored;
#pragma unroll
        for (int k = 0; k < width; ++k) stored.value[k] = src[v * width + k];
        wide[v] = stored;
      }
      return;
    }
  }
  details::for_each_neighbour<NX, is_boundary>(
      num, [&](int i, index_t offset) { dst[offset] = src[i]; });
}

/// The same; `read_lens` matters to other devices and is not used.
template <class T, int NX, int NY = 1, auto P = false, auto... R>
AXISFOLD_DEVICE void WriteData(T* dst, const type_identity_t<T>* src, index_t num, int read_lens) {
  static_cast<void>(read_lens);
  WriteData<T, NX, NY, P, R...>(dst, src, num);
}

/// Writes NX columns and NY rows of each thread with a cast from Tx (registers) to Ty (memory):
/// register `y * NX + x` goes to `threadIdx.x + x * stride_nx + y * stride_ny`.
///
/// `size_nx` and `size_ny` are those of the strided ReadData. Sizes are signed: with unsigned ones,
/// a thread past the last column would compute a huge remainder and write out of bounds.
template <class Tx, class Ty, int NX, int NY, auto P = false, auto... R>
AXISFOLD_DEVICE void WriteData(Ty* dst, const Tx* src, index_t size_nx, index_t size_ny,
                               index_t stride_nx, index_t stride_ny) {
  using List = details::template_list<1, P, R...>;
  details::check_shape<NX, NY>();
  details::for_each_strided<NX, NY, List::boundary()>(
      size_nx, stride_nx, stride_ny,
      [&](int y) { return details::row_exists<List::is_older>(y, size_ny, stride_ny); },
      [&](int i, index_t offset) { dst[offset] = static_cast<Ty>(src[i]); });
}

}  // namespace kps
}  // namespace axisfold
