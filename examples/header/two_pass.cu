// SPDX-License-Identifier: Apache-2.0
// Two passes: the first launch leaves one result for each block, the second reduces them with a
// single block. The order of the launches on a stream is the only synchronisation.
// Picture: docs/img/header/two_pass.svg
#include <axisfold/block_reduce.cuh>
#include <axisfold/grid_fold.cuh>

struct widen {
  AXISFOLD_FN double operator()(float x) const { return static_cast<double>(x); }
};
struct keep {
  AXISFOLD_FN double operator()(double x) const { return x; }
};

/// First pass. The partial results are in the accumulator type: rounding them to float would cost
/// the accuracy that the double accumulator bought.
extern "C" __global__ void first_pass(const float* data, double* partials,
                                      axisfold::index_t count) {
  using namespace axisfold;
  const double share = grid_fold(data, count, widen{}, plus<double>{});
  const double total = block_reduce(share, plus<double>{});
  if (thread_rank() == 0) partials[blockIdx.x] = total;
}

/// Second pass, one block.
extern "C" __global__ void second_pass(const double* partials, float* result,
                                       axisfold::index_t count) {
  using namespace axisfold;
  const double share = grid_fold(partials, count, keep{}, plus<double>{});
  const double total = block_reduce(share, plus<double>{});
  if (thread_rank() == 0) result[0] = static_cast<float>(total);
}

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#include "run_example.hpp"

int main() {
  const auto host = example::numbers(1000003);
  const example::DeviceArray<float> data(host);
  const example::DeviceArray<double> partials(264);
  const example::DeviceArray<float> result(1);
  first_pass<<<264, 256>>>(data.get(), partials.get(), 1000003);
  second_pass<<<1, 256>>>(partials.get(), result.get(), 264);
  return example::verdict("two_pass", static_cast<double>(result.host()[0]), example::sum(host), 1);
}
#endif
