// SPDX-License-Identifier: Apache-2.0
// Division by a number that is known before the launch, as a multiplication.
#pragma once

#include <axisfold/integers.cuh>

namespace axisfold {
namespace kps {
namespace details {

template <class UInt>
struct DivMod {
  UInt quotient;
  UInt remainder;
};

/// Exact division by a fixed divisor, for every dividend of the type.
///
/// Source: Granlund and Montgomery, "Division by invariant integers using multiplication", 1994,
/// figure 4.1: the magic number has one bit more than the word; the average of dividend and high
/// product supplies that bit without overflow.
template <class UInt>
class FastDivModOf {
 public:
  FastDivModOf() = default;

  /// Precondition: divisor >= 1.
  AXISFOLD_FN explicit FastDivModOf(UInt divisor) : divisor_(divisor) {
    constexpr int bits = 8 * sizeof(UInt);
    int ceil_log2 = 0;
    while (ceil_log2 < bits && (UInt(1) << ceil_log2) < divisor) ++ceil_log2;
    // floor(2^bits * (2^ceil_log2 - divisor) / divisor) + 1, by long division: the numerator has
    // twice the bits of the type. Modulo 2^bits, 2^ceil_log2 is 0 for the largest divisors.
    const UInt power = ceil_log2 == bits ? UInt(0) : UInt(UInt(1) << ceil_log2);
    UInt remainder = static_cast<UInt>(power - divisor);
    UInt quotient = 0;
    for (int i = 0; i < bits; ++i) {
      const bool carry = (remainder >> (bits - 1)) != 0;
      remainder = static_cast<UInt>(remainder << 1);
      quotient = static_cast<UInt>(quotient << 1);
      if (carry || remainder >= divisor) {
        remainder = static_cast<UInt>(remainder - divisor);
        quotient = static_cast<UInt>(quotient + 1);
      }
    }
    multiplier_ = static_cast<UInt>(quotient + 1);
    shift_first_ = ceil_log2 == 0 ? 0 : 1;
    shift_last_ = ceil_log2 == 0 ? 0 : ceil_log2 - 1;
  }

  AXISFOLD_DEVICE UInt Div(UInt dividend) const {
    const UInt high = high_product(dividend);
    return static_cast<UInt>((high + ((dividend - high) >> shift_first_)) >> shift_last_);
  }

  AXISFOLD_DEVICE DivMod<UInt> Divmod(UInt dividend) const {
    const UInt quotient = Div(dividend);
    return {quotient, static_cast<UInt>(dividend - quotient * divisor_)};
  }

 private:
  AXISFOLD_DEVICE UInt high_product(UInt dividend) const {
    if constexpr (sizeof(UInt) == 4) {
      return __umulhi(dividend, multiplier_);
    } else {
      return __umul64hi(dividend, multiplier_);
    }
  }

  UInt divisor_;
  UInt multiplier_;
  int shift_first_;
  int shift_last_;
};

using FastDivMod = FastDivModOf<uint32>;
using FastDivMod64 = FastDivModOf<uint64>;

}  // namespace details
}  // namespace kps
}  // namespace axisfold
