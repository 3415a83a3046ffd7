// SPDX-License-Identifier: Apache-2.0
// Kernels with one planted mistake each. The host machine must stop every one of them.
#include "common.cuh"

extern "C" __global__ void divergent_barrier(int32* out) {
  if (threadIdx.x < 40) __syncthreads();
  out[threadIdx.x] = 1;
}

extern "C" __global__ void two_barriers(int32* out) {
  if (threadIdx.x < 40) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  out[threadIdx.x] = 1;
}

extern "C" __global__ void early_return(int32* out) {
  if (threadIdx.x == 3) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}

// A full mask in a partial warp: lanes that the block does not have.
extern "C" __global__ void absent_lane(int32* out) {
  out[threadIdx.x] = __shfl_down_sync(0xffffffff, static_cast<int32>(threadIdx.x), 1);
}

// A mask that was computed from the data, and names a lane that branched away.
extern "C" __global__ void lane_elsewhere(int32* out) {
  int32 value = static_cast<int32>(threadIdx.x);
  if (threadIdx.x < 16) {
    value = __shfl_xor_sync(0xffffffff, value, 1);
  } else {
    __syncthreads();
  }
  out[threadIdx.x] = value;
}

extern "C" __global__ void returned_lane(int32* out) {
  if (threadIdx.x == 31) return;
  out[threadIdx.x] = __shfl_sync(0xffffffff, static_cast<int32>(threadIdx.x), 0);
}

extern "C" __global__ void caller_not_named(int32* out) {
  out[threadIdx.x] = __shfl_sync(0x0000ffff, static_cast<int32>(threadIdx.x), 0);
}

extern "C" __global__ void reads_unnamed_lane(int32* out) {
  int32 value = 0;
  if (threadIdx.x < 16) value = __shfl_down_sync(0x0000ffff, static_cast<int32>(threadIdx.x), 8);
  out[threadIdx.x] = value;
}

// Lanes that disagree on who takes part.
extern "C" __global__ void different_masks(int32* out) {
  const lane_mask mask = threadIdx.x % 2 == 0 ? 0xffffffffu : 0xfffffffeu;
  out[threadIdx.x] = __shfl_sync(mask, static_cast<int32>(threadIdx.x), 1);
}

extern "C" __global__ void missing_barrier(int32* out) {
  __shared__ int32 values[64];
  values[threadIdx.x] = static_cast<int32>(threadIdx.x);
  out[threadIdx.x] = values[63 - threadIdx.x];
}

extern "C" __global__ void uninitialised(float* out) {
  __shared__ float values[64];
  if (threadIdx.x > 0) values[threadIdx.x] = 1.0f;
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x];
}

// The tree of the textbooks, for powers of two: 48 threads lose elements.
extern "C" __global__ void power_of_two_tree(int32* out) {
  __shared__ int32 values[64];
  values[threadIdx.x] = 1;
  __syncthreads();
  for (uint32 offset = blockDim.x / 2; offset > 0; offset /= 2) {
    if (threadIdx.x < offset) values[threadIdx.x] += values[threadIdx.x + offset];
    __syncthreads();
  }
  out[threadIdx.x] = values[0];
}

extern "C" __global__ void out_of_bounds(int32* out) { out[threadIdx.x + 1] = 5; }

extern "C" __global__ void divergent_cluster(int32* out) {
  if (blockIdx.x % 2 == 0) ptx::cluster_barrier();
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
