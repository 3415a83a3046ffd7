// SPDX-License-Identifier: Apache-2.0
// Init and InitWithDataIndex: start values for registers.
#pragma once

#include <axisfold/kps/template_list.cuh>
#include <axisfold/tuple.cuh>

namespace axisfold {
namespace kps {

/// Fills NX registers with one value.
template <class T, int NX>
AXISFOLD_DEVICE void Init(T* dst, type_identity_t<T> init_data) {
#pragma unroll
  for (int i = 0; i < NX; ++i) dst[i] = init_data;
}
template <class T, int NX>
AXISFOLD_DEVICE void Init(T* dst, type_identity_t<T> init_data, int read_lens) {
  static_cast<void>(read_lens);
  Init<T, NX>(dst, init_data);
}

/// Copies NX registers; with IsBoundary the first `num` of them.
template <class T, int NX, bool IsBoundary = false>
AXISFOLD_DEVICE void Init(T* dst, const type_identity_t<T>* init_data, index_t num) {
#pragma unroll
  for (int i = 0; i < NX; ++i) {
    if (IsBoundary && i >= num) break;
    dst[i] = init_data[i];
  }
}

/// Fills component `Index` of NX tuples with one value.
template <class T, class ArgsT, int Index, int NX>
AXISFOLD_DEVICE void Init(ArgsT* dst, type_identity_t<T> init_data, int read_lens = NX) {
  static_cast<void>(read_lens);
#pragma unroll
  for (int i = 0; i < NX; ++i) {
    using axisfold::get;
    get<Index>(dst[i]) = init_data;
  }
}

/// Sets register i to the index of the element that ReadData (contiguous form) puts there:
/// `block_offset + threadIdx.x * NX + i`.
template <class T, int NX, int NY = 1, auto P = 1>
AXISFOLD_DEVICE void InitWithDataIndex(T* dst, index_t block_offset) {
  details::check_one_row<NX, NY>();
  const index_t first = block_offset + static_cast<index_t>(threadIdx.x) * NX;
#pragma unroll
  for (int i = 0; i < NX; ++i) dst[i] = static_cast<T>(first + i);
}

}  // namespace kps
}  // namespace axisfold
