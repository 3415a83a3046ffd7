// SPDX-License-Identifier: Apache-2.0
// Interleaved tree in global memory. In each step the upper half of what is left is added to the
// lower half: with 8 elements, 1+5 2+6 3+7 4+8, then two sums, then one.
// Picture: docs/img/header/global_tree.svg
//
// Every step reads and writes global memory, so the array moves about three times. The input is
// destroyed. Kept here as the starting point that the other examples improve.
#include <axisfold/integers.cuh>

/// partials[b] = sum of the elements of block b. Any block size and any count are right.
extern "C" __global__ void global_tree(float* data, float* partials, axisfold::index_t count) {
  using namespace axisfold;
  const index_t first = static_cast<index_t>(blockIdx.x) * blockDim.x;
  const index_t after = count - first;
  float* const mine = data + first;
  // An odd element in the middle waits for the next step; a power of two is not needed.
  for (uint32 left = after < blockDim.x ? static_cast<uint32>(after) : blockDim.x; left > 1;) {
    const uint32 kept = (left + 1) / 2;
    if (threadIdx.x + kept < left) mine[threadIdx.x] += mine[threadIdx.x + kept];
    __syncthreads();
    left = kept;
  }
  if (threadIdx.x == 0) partials[blockIdx.x] = mine[0];
}

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#include "run_example.hpp"

int main() {
  const auto host = example::numbers(1000000);
  const unsigned blocks = (1000000 + 255) / 256;
  const example::DeviceArray<float> data(host);
  const example::DeviceArray<float> partials(blocks);
  global_tree<<<blocks, 256>>>(data.get(), partials.get(), 1000000);
  return example::verdict("global_tree", example::sum(partials.host()), example::sum(host));
}
#endif
