// SPDX-License-Identifier: Apache-2.0
// Preconditions that AXISFOLD_CHECK watches, each broken once.
#include "common.cuh"

extern "C" __global__ void too_many_threads(int32* out) {
  const int32 sum = block_reduce(1, plus<int32>{});
  if (thread_rank() == 0) out[0] = sum;
}

extern "C" __global__ void missing_shared(int32* out) {
  const axisfold::torch::ReduceOp<int32, plus<int32>> op{};
  out[threadIdx.x] = axisfold::torch::BlockReduce(1, op, 0, static_cast<int32*>(nullptr));
}

extern "C" __global__ void global_scratch(int32* out) {
  // Global memory in place of shared memory.
  auto& scratch = *reinterpret_cast<block_scratch<int32>*>(out);
  const int32 sum = block_reduce(1, plus<int32>{}, scratch);
  if (thread_rank() == 0) out[0] = sum;
}

extern "C" __global__ void mask_of_absent_lanes(int32* out) {
  out[threadIdx.x] = warp_reduce_members(1, plus<int32>{}, 0xffffffffu);
}

extern "C" __global__ void mask_without_caller(int32* out) {
  out[threadIdx.x] = warp_reduce_members(1, plus<int32>{}, 0x0000fffeu);
}

extern "C" __global__ void wrong_block_trait(int32* out) {
  __shared__ int32 shared[32];
  const axisfold::torch::ReduceOp<int32, plus<int32>> op{};
  const int32 sum = axisfold::torch::BlockReduce(1, op, 0, shared);
  out[thread_rank()] = sum;
}

extern "C" __global__ void sort_of_too_many(int32* out) {
  int32 values[2] = {1, 2};
  kps::Sort<int32, int32>(values, values, 3, 1);
  out[thread_rank()] = values[0];
}
