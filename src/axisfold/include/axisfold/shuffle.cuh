// SPDX-License-Identifier: Apache-2.0
// Exchange of values of any trivially copyable type between the lanes of a warp.
#pragma once

#include <axisfold/thread.cuh>
#include <axisfold/type_traits.cuh>

namespace axisfold {
namespace detail {

// A value cut into the 32-bit words that a shuffle moves.
template <class T>
struct words {
  static_assert(is_trivially_copyable_v<T>,
                "A shuffled value must be trivially copyable: lanes exchange its bytes.");
  static constexpr int count = (sizeof(T) + 3) / 4;
  uint32 word[count];

  static AXISFOLD_FN words of(const T& value) {
    words result;
    if constexpr (sizeof(T) % 4 != 0) result.word[count - 1] = 0;
    memcpy(result.word, &value, sizeof(T));
    return result;
  }
  AXISFOLD_FN T value() const {
    T result;
    memcpy(static_cast<void*>(&result), word, sizeof(T));
    return result;
  }
};

}  // namespace detail

/// The value that lane `source` passes. All lanes of `mask` call it together.
/// Precondition: `source` is a lane of `mask`. Cost: one shuffle for each 4 bytes of T.
template <class T>
AXISFOLD_DEVICE T shuffle(lane_mask mask, const T& value, uint32 source) {
  require_mask(mask);
  auto words = detail::words<T>::of(value);
#pragma unroll
  for (int i = 0; i < words.count; ++i) {
    words.word[i] = __shfl_sync(mask, words.word[i], static_cast<int>(source));
  }
  return words.value();
}

/// The value of the lane whose index differs in the bits of `lane_bits`.
/// Precondition: with each lane, `mask` names its partner.
template <class T>
AXISFOLD_DEVICE T shuffle_xor(lane_mask mask, const T& value, uint32 lane_bits) {
  require_mask(mask);
  auto words = detail::words<T>::of(value);
#pragma unroll
  for (int i = 0; i < words.count; ++i) {
    words.word[i] = __shfl_xor_sync(mask, words.word[i], static_cast<int>(lane_bits));
  }
  return words.value();
}

}  // namespace axisfold
