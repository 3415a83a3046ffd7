// SPDX-License-Identifier: Apache-2.0
// States and operators of the tests.
#pragma once

#include <axisfold/axisfold.cuh>

using namespace axisfold;

// The map x -> scale * x + shift modulo 2^32. Composition is associative but does not commute, and
// integers make it exact: an operand out of place changes the result.
struct affine {
  uint32 scale;
  uint32 shift;
};
struct compose {
  static constexpr bool is_commutative = false;
  AXISFOLD_FN affine operator()(const affine& a, const affine& b) const {
    return {a.scale * b.scale, a.scale * b.shift + a.shift};
  }
};

// Seven bytes: no whole number of words, and nothing aligned.
struct seven {
  uint8 byte[7];
};
struct add_bytes {
  AXISFOLD_FN seven operator()(const seven& a, const seven& b) const {
    seven result;
    for (int i = 0; i < 7; ++i) result.byte[i] = static_cast<uint8>(a.byte[i] + b.byte[i]);
    return result;
  }
};
