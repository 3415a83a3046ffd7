// SPDX-License-Identifier: Apache-2.0
// Safe softmax of the rows of a matrix, a block for each row. One reduction finds the maximum and
// the sum of exp(x - maximum) together, as a state of two fields; a second read writes the result.
// Picture: docs/img/header/softmax.svg
#include <axisfold/block_reduce.cuh>
#include <axisfold/states.cuh>

/// y[row, :] = exp(x[row, :] - max) / sum. Infinities make no NaN where the mathematics has none; a
/// row of minus infinities, whose softmax is undefined, gives NaN as in other libraries.
extern "C" __global__ void softmax(const float* x, float* y, axisfold::index_t columns) {
  using namespace axisfold;
  const float* const row = x + blockIdx.x * columns;
  const merge_exp_sum<float> merge;
  auto state = merge.identity();
  for (index_t i = threadIdx.x; i < columns; i += blockDim.x) {
    state = merge(state, scaled_exp_sum<float>::of(row[i]));
  }
  state = axisfold::block_reduce<Result::all>(state, merge);
  const float scale = 1.0f / state.sum;
  for (index_t i = threadIdx.x; i < columns; i += blockDim.x) {
    y[blockIdx.x * columns + i] = expf(row[i] - state.maximum) * scale;
  }
}

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#include "run_example.hpp"

int main() {
  const auto host = example::numbers(64 * 1000);
  const example::DeviceArray<float> x(host);
  const example::DeviceArray<float> y(64 * 1000);
  softmax<<<64, 256>>>(x.get(), y.get(), 1000);
  return example::verdict("softmax", example::sum(y.host()), 64.0, 1e-3);
}
#endif
