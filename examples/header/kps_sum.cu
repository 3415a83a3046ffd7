// SPDX-License-Identifier: Apache-2.0
// A sum in kernel primitives: vector reads, a fold within the thread, a fold over the block.
// Picture: docs/img/header/block_reduce.svg
//
// A thread keeps four tiles in flight, each with an accumulator of its own, so that the memory
// never waits for an addition.
#include <axisfold/kps.cuh>

namespace kps = axisfold::kps;

/// partials[b] = sum of the share of block b, a one-dimensional block of any size.
extern "C" __global__ void kps_sum(const float* x, double* partials, axisfold::index_t count) {
  using axisfold::index_t;
  using Add = kps::AddFunctor<double>;
  using Widen = kps::IdentityFunctor<float, double>;
  constexpr int NX = 4;     // neighbours of a thread: one 16-byte load
  constexpr int Tiles = 4;  // loads in flight
  const index_t tile = static_cast<index_t>(blockDim.x) * NX;
  const index_t step = tile * gridDim.x;
  double sums[Tiles];
  kps::Init<double, Tiles>(sums, Add().initial());

  index_t first = tile * blockIdx.x;
  for (; first + (Tiles - 1) * step + tile <= count; first += Tiles * step) {
    float loaded[Tiles][NX];
    double lifted[Tiles * NX];
#pragma unroll
    for (int t = 0; t < Tiles; ++t) {
      kps::ReadData<float, NX, 1, false>(loaded[t], x + first + t * step, tile);
    }
    kps::ElementwiseUnary<float, double, NX, Tiles>(lifted, loaded[0], Widen());
    kps::Reduce<double, NX, Tiles, Add, kps::details::kLocalMode>(sums, lifted, Add(), true);
  }
  for (; first < count; first += step) {
    float loaded[NX];
    double lifted[NX];
    kps::Init<float, NX>(loaded, 0.0f);
    kps::ReadData<float, NX, 1, true>(loaded, x + first, count - first);
    kps::ElementwiseUnary<float, double, NX, 1>(lifted, loaded, Widen());
    kps::Reduce<double, NX, 1, Add, kps::details::kLocalMode>(sums, lifted, Add(), true);
  }

  double total[1] = {Add().initial()};
  kps::Reduce<double, Tiles, 1, Add, kps::details::kLocalMode>(total, sums, Add(), true);
  kps::Reduce<double, 1, 1, Add, kps::details::kGlobalMode>(total, total, Add(), true);
  if (threadIdx.x == 0) partials[blockIdx.x] = total[0];
}

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#include "run_example.hpp"

int main() {
  const auto host = example::numbers(1000003);
  const example::DeviceArray<float> data(host);
  const example::DeviceArray<double> partials(100);
  kps_sum<<<100, 200>>>(data.get(), partials.get(), 1000003);
  double total = 0;
  for (const double part : partials.host()) total += part;
  return example::verdict("kps_sum", total, example::sum(host));
}
#endif
