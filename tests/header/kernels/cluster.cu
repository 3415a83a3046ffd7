// SPDX-License-Identifier: Apache-2.0
// Compiled for sm_90 and newer only.
#include "common.cuh"

extern "C" __global__ void compose_cluster(const affine* x, affine* first, affine* all) {
  const uint32 i = blockIdx.x * block_threads() + thread_rank();
  const affine once = cluster_reduce<Result::first, Order::preserved>(x[i], compose{});
  all[i] = cluster_reduce<Result::all, Order::preserved>(x[i], compose{});
  const uint32 rank = ptx::cluster_rank();
  if (rank == 0 && thread_rank() == 0) first[blockIdx.x / ptx::cluster_blocks()] = once;
}

extern "C" __global__ void sum_cluster(const double* x, double* all) {
  const uint32 i = blockIdx.x * block_threads() + thread_rank();
  double value = x[i];
  for (int round = 0; round < 3; ++round) {
    all[i] = cluster_reduce<Result::all>(value, plus<double>{});
    value += 1.0;
  }
}
