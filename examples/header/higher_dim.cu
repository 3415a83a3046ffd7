// SPDX-License-Identifier: Apache-2.0
// Kernel primitives: the sum over an axis that is not the last. A thread owns a column and walks
// down its rows; the rows may be split over blocks, whose partial results a second launch reduces.
// Picture: docs/img/header/higher_dim.svg
#include <axisfold/kps.cuh>

namespace kps = axisfold::kps;

/// First pass over x[outer, rows, columns]: partials[outer, gridDim.y, columns], in double.
extern "C" __global__ void higher_dim_partials(const float* x, double* partials,
                                               axisfold::index_t outer, axisfold::index_t rows,
                                               axisfold::index_t columns,
                                               axisfold::index_t block_rows) {
  kps::HigherDimReduce<float, double, double>(
      x, partials, kps::AddFunctor<double>(), kps::IdentityFunctor<float, double>(),
      kps::IdentityFunctor<double>(), 0.0, outer, rows, columns, block_rows);
}

/// Second pass over the partial results: y[outer, columns], divided by `count` for a mean.
extern "C" __global__ void higher_dim_mean(const double* partials, float* y,
                                           axisfold::index_t outer, axisfold::index_t parts,
                                           axisfold::index_t columns, axisfold::index_t count) {
  kps::HigherDimReduce<double, float, double>(
      partials, y, kps::AddFunctor<double>(), kps::IdentityFunctor<double>(),
      kps::DivideFunctor<double, float>(count), 0.0, outer, parts, columns, parts);
}

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#include "run_example.hpp"

int main() {
  // The mean over H of an NHWC array with N = 3, H = 100, W * C = 333.
  const unsigned outer = 3, rows = 100, columns = 333, parts = 4;
  const auto host = example::numbers(outer * rows * columns);
  const example::DeviceArray<float> x(host);
  const example::DeviceArray<double> partials(outer * parts * columns);
  const example::DeviceArray<float> y(outer * columns);
  const dim3 first_grid((columns + 127) / 128, parts, outer);
  const dim3 second_grid((columns + 127) / 128, 1, outer);
  higher_dim_partials<<<first_grid, 128>>>(x.get(), partials.get(), outer, rows, columns,
                                           rows / parts);
  higher_dim_mean<<<second_grid, 128>>>(partials.get(), y.get(), outer, parts, columns, rows);
  return example::verdict("higher_dim", example::sum(y.host()) * rows, example::sum(host), 0.5);
}
#endif
