// SPDX-License-Identifier: Apache-2.0
// Integer types of fixed width. NVRTC brings no <cstdint>, so the library names its own.
#pragma once

#include <axisfold/config.cuh>

namespace axisfold {

using int8 = signed char;
using uint8 = unsigned char;
using int16 = short;
using uint16 = unsigned short;
using int32 = int;
using uint32 = unsigned int;
// `long long` on every platform: `long` is 32 bits wide on Windows, where CUDA runs as well.
using int64 = long long;
using uint64 = unsigned long long;

/// Sizes, offsets and strides, in elements. 64 bits, so an array may hold more than 2^31 elements.
using index_t = int64;

/// One bit for each lane of a warp; bit i is lane i.
using lane_mask = uint32;

inline constexpr uint32 warp_lanes = 32;
inline constexpr lane_mask all_lanes = 0xffffffffu;
inline constexpr uint32 max_block_threads = 1024;

static_assert(sizeof(int8) == 1 && sizeof(int16) == 2 && sizeof(int32) == 4 && sizeof(int64) == 8,
              "axisfold assumes the integer widths of CUDA's data models.");

}  // namespace axisfold
