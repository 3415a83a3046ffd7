// SPDX-License-Identifier: Apache-2.0
// Block reduction: every thread first folds many elements, then the warps reduce by shuffles, and
// one warp reduces their results.
// Picture: docs/img/header/block_reduce.svg
//
// The fold in front makes the tree cheap: with 2^28 elements and 1056 blocks it runs once for about
// a thousand elements of each thread.
#include <axisfold/block_reduce.cuh>
#include <axisfold/grid_fold.cuh>

struct widen {
  AXISFOLD_FN double operator()(float x) const { return static_cast<double>(x); }
};

/// partials[b] = sum of the share of block b. Any number of blocks and threads is right.
extern "C" __global__ void block_sum(const float* data, double* partials, axisfold::index_t count) {
  using namespace axisfold;
  double total = grid_fold(data, count, widen{}, plus<double>{});
  total = block_reduce(total, plus<double>{});
  if (thread_rank() == 0) partials[blockIdx.x] = total;
}

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#include "run_example.hpp"

int main() {
  const auto host = example::numbers(1000003);
  const example::DeviceArray<float> data(host);
  const example::DeviceArray<double> partials(100);
  block_sum<<<100, 200>>>(data.get(), partials.get(), 1000003);
  double total = 0;
  for (const double part : partials.host()) total += part;
  return example::verdict("block_reduce", total, example::sum(host));
}
#endif
