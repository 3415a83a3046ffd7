// SPDX-License-Identifier: Apache-2.0
// One launch: each block draws a ticket when its partial result is written, and the block that
// draws the last one folds them all, in the order of their index.
// Picture: docs/img/header/last_block.svg
#include <axisfold/grid_fold.cuh>
#include <axisfold/last_block.cuh>

struct widen {
  AXISFOLD_FN double operator()(float x) const { return static_cast<double>(x); }
};

/// result[0] = sum. `partials` holds one value for each block; `ticket` is zero before the first
/// launch and zero again after every launch.
extern "C" __global__ void last_block_sum(const float* data, float* result, double* partials,
                                          unsigned* ticket, axisfold::index_t count) {
  using namespace axisfold;
  double total = grid_fold(data, count, widen{}, plus<double>{});
  total = block_reduce(total, plus<double>{});
  if (last_block_fold(total, plus<double>{}, partials, ticket) && thread_rank() == 0) {
    result[0] = static_cast<float>(total);
  }
}

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#include "run_example.hpp"

int main() {
  const auto host = example::numbers(1000003);
  const example::DeviceArray<float> data(host);
  const example::DeviceArray<float> result(1);
  const example::DeviceArray<double> partials(264);
  const example::DeviceArray<unsigned> ticket(1);
  // Twice: the ticket has reset itself.
  for (int round = 0; round < 2; ++round) {
    last_block_sum<<<264, 256>>>(data.get(), result.get(), partials.get(), ticket.get(), 1000003);
  }
  return example::verdict("last_block", static_cast<double>(result.host()[0]), example::sum(host),
                          1);
}
#endif
