// SPDX-License-Identifier: Apache-2.0
// Adjacent tree in shared memory: neighbours are added first, 1+2 3+4 5+6 7+8, then their sums. It
// keeps the order of the operands, so it also serves an operator that does not commute.
// Picture: docs/img/header/shared_adjacent.svg
//
// The textbook picks the threads with `tid % (2 * stride) == 0`, which leaves one busy lane in each
// warp; here the first threads do the work. The strided accesses still conflict in the banks.
#include <axisfold/integers.cuh>

/// partials[b] = sum of the elements of block b, for up to 1024 threads.
extern "C" __global__ void shared_adjacent(const float* data, float* partials,
                                           axisfold::index_t count) {
  using namespace axisfold;
  __shared__ float tile[max_block_threads];
  const index_t first = static_cast<index_t>(blockIdx.x) * blockDim.x;
  const index_t at = first + threadIdx.x;
  tile[threadIdx.x] = at < count ? data[at] : 0.0f;
  for (uint32 stride = 1; stride < blockDim.x; stride *= 2) {
    __syncthreads();
    const uint32 left = 2 * stride * threadIdx.x;
    if (left + stride < blockDim.x) tile[left] += tile[left + stride];
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
  shared_adjacent<<<blocks, 256>>>(data.get(), partials.get(), 1000000);
  return example::verdict("shared_adjacent", example::sum(partials.host()), example::sum(host));
}
#endif
