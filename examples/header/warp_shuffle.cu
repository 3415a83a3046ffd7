// SPDX-License-Identifier: Apache-2.0
// Warp shuffles: the lanes of a warp read each other's registers, without shared memory and without
// a barrier.
// Picture: docs/img/header/warp_shuffle.svg
#include <axisfold/operators.cuh>
#include <axisfold/warp_reduce.cuh>

/// partials[w] = sum of the elements of warp w of the grid. The last warp of a block may be
/// partial: warp_reduce names the lanes that exist and needs no padding.
extern "C" __global__ void warp_shuffle(const float* data, float* partials,
                                        axisfold::index_t count) {
  using namespace axisfold;
  const index_t at = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const float value = at < count ? data[at] : 0.0f;
  const float total = warp_reduce(value, plus<float>{});
  const index_t warp = static_cast<index_t>(blockIdx.x) * block_warps() + warp_index();
  if (lane_index() == 0) partials[warp] = total;
}

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#include "run_example.hpp"

int main() {
  const auto host = example::numbers(1000000);
  const unsigned blocks = (1000000 + 255) / 256;
  const example::DeviceArray<float> data(host);
  const example::DeviceArray<float> partials(blocks * 8);
  warp_shuffle<<<blocks, 256>>>(data.get(), partials.get(), 1000000);
  return example::verdict("warp_shuffle", example::sum(partials.host()), example::sum(host));
}
#endif
