// SPDX-License-Identifier: Apache-2.0
// Wide memory accesses.
#pragma once

#include <axisfold/type_traits.cuh>

namespace axisfold {

/// `Count` values that one instruction loads or stores when they take up to 16 bytes.
template <class T, int Count>
struct alignas(sizeof(T) * Count <= 16 ? sizeof(T) * Count : 16) vector {
  static_assert(Count >= 1 && (Count & (Count - 1)) == 0,
                "axisfold::vector needs a power of two of elements: alignments are powers of two.");
  T value[Count];
};

/// The most values of T, up to `Limit`, that a power-of-two vector of at most 16 bytes holds and
/// that divide `Limit`.
template <class T, int Limit>
inline constexpr int vector_width = Limit % 8 == 0 && sizeof(T) * 8 <= 16   ? 8
                                    : Limit % 4 == 0 && sizeof(T) * 4 <= 16 ? 4
                                    : Limit % 2 == 0 && sizeof(T) * 2 <= 16 ? 2
                                                                            : 1;

/// True when `pointer` may be read as a vector of that size.
template <class Vector>
AXISFOLD_FN bool is_aligned_for(const void* pointer) {
  return reinterpret_cast<uint64>(pointer) % alignof(Vector) == 0;
}

}  // namespace axisfold
