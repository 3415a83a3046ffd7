// SPDX-License-Identifier: Apache-2.0
// Interleaved tree in shared memory: global memory is read once, the steps run on the chip.
// Neighbouring threads touch neighbouring words, so there are no bank conflicts.
// Picture: docs/img/header/shared_interleaved.svg
#include <axisfold/integers.cuh>

/// partials[b] = sum of the elements of block b, for up to 1024 threads.
extern "C" __global__ void shared_interleaved(const float* data, float* partials,
                                              axisfold::index_t count) {
  using namespace axisfold;
  __shared__ float tile[max_block_threads];
  const index_t at = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = at < count ? data[at] : 0.0f;
  for (uint32 left = blockDim.x; left > 1;) {
    const uint32 kept = (left + 1) / 2;
    __syncthreads();
    if (threadIdx.x + kept < left) tile[threadIdx.x] += tile[threadIdx.x + kept];
    left = kept;
  }
  if (threadIdx.x == 0) partials[blockIdx.x] = tile[0];
}

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#include "run_example.hpp"

int main() {
  const auto host = example::numbers(1000000);
  const unsigned blocks = (1000000 + 255) / 256;
  const example::DeviceArray<float> data(host);
  const example::DeviceArray<float> partials(blocks);
  shared_interleaved<<<blocks, 256>>>(data.get(), partials.get(), 1000000);
  return example::verdict("shared_interleaved", example::sum(partials.host()), example::sum(host));
}
#endif
