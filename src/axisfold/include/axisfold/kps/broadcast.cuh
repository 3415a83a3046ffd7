// SPDX-License-Identifier: Apache-2.0
// From the index of an output element to that of the input element it is broadcast from.
#pragma once

#include <axisfold/kps/fast_divmod.cuh>

namespace axisfold {
namespace kps {
namespace details {

/// Shapes of a broadcast, made on the host and passed to the kernel by value.
///
/// Dimensions come innermost first, as in PaddlePaddle: an output of shape [d0, d1] is passed as
/// {d1, d0}. A dimension of extent 1 in the input is repeated. Sizes are 64-bit; while the output
/// has fewer than 2^32 elements, the index is computed in 32 bits, which is twice as fast.
struct BroadcastConfig {
  static constexpr int kMaxRank = 9;

  FastDivMod narrow[kMaxRank];
  FastDivMod64 wide[kMaxRank];
  uint64 strides[kMaxRank];
  int rank = 0;
  bool is_narrow = true;

  BroadcastConfig() = default;

  AXISFOLD_FN BroadcastConfig(const index_t* out_dims, const index_t* in_dims, int dim_size)
      : rank(dim_size) {
    uint64 in_size = 1;
    uint64 out_size = 1;
    for (int i = 0; i < dim_size; ++i) {
      const uint64 extent = static_cast<uint64>(out_dims[i]);
      wide[i] = FastDivMod64(extent);
      strides[i] = in_dims[i] == 1 ? 0 : in_size;
      in_size *= static_cast<uint64>(in_dims[i]);
      out_size *= extent;
    }
    is_narrow = out_size >> 32 == 0;
    for (int i = 0; i < dim_size && is_narrow; ++i) {
      narrow[i] = FastDivMod(static_cast<uint32>(out_dims[i]));
    }
  }

#if !defined(__CUDACC_RTC__)
  /// From containers of index_t such as std::vector, in host code.
  template <class Dims>
  BroadcastConfig(const Dims& out_dims, const Dims& in_dims, int dim_size)
      : BroadcastConfig(&out_dims[0], &in_dims[0], dim_size) {}
#endif

  AXISFOLD_DEVICE uint64 source(uint64 output) const {
    return is_narrow ? source_by(narrow, static_cast<uint32>(output)) : source_by(wide, output);
  }

 private:
  template <class Divider, class UInt>
  AXISFOLD_DEVICE uint64 source_by(const Divider (&dividers)[kMaxRank], UInt output) const {
    uint64 index = 0;
    // Unrolled with an early exit: a run-time index into the kernel's parameters is slow.
#pragma unroll
    for (int i = 0; i < kMaxRank; ++i) {
      if (i >= rank) break;
      const auto parts = dividers[i].Divmod(output);
      output = parts.quotient;
      index += parts.remainder * strides[i];
    }
    return index;
  }
};

}  // namespace details
}  // namespace kps
}  // namespace axisfold
