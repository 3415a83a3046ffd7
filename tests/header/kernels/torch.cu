// SPDX-License-Identifier: Apache-2.0
#include "common.cuh"

using axisfold::torch::Block1D;
using axisfold::torch::Block2D;
using axisfold::torch::BlockReduce;
using axisfold::torch::WarpReduce;

// An operator as PyTorch's users write it.
struct AddOp {
  AXISFOLD_DEVICE float combine(float a, float b) const { return a + b; }
  AXISFOLD_DEVICE float warp_shfl_down(float value, int offset) const {
    return axisfold::torch::WARP_SHFL_DOWN(value, offset);
  }
};
// One that names all 32 lanes, right in blocks of whole warps.
struct FullWarpAddOp {
  AXISFOLD_DEVICE float combine(float a, float b) const { return a + b; }
  AXISFOLD_DEVICE float warp_shfl_down(float value, int offset) const {
    return __shfl_down_sync(0xffffffff, value, offset);
  }
};

extern "C" __global__ void warp_sum(const float* x, float* out) {
  const uint32 i = thread_rank();
  const float sum = WarpReduce(x[i], AddOp{});
  if (i % axisfold::torch::C10_WARP_SIZE == 0) out[i / axisfold::torch::C10_WARP_SIZE] = sum;
}

extern "C" __global__ void block_sum_1d(const float* x, float* out) {
  __shared__ float shared[32];
  const int tid = Block1D::Tid();
  // Twice in a row on the same shared memory, as PyTorch's comment promises.
  const float first = BlockReduce(x[tid], AddOp{}, 0.0f, shared);
  const float second = BlockReduce(2.0f * x[tid] + 1.0f, AddOp{}, 0, shared);
  if (tid == 0) {
    out[0] = first;
    out[1] = second;
  }
}

extern "C" __global__ void block_sum_2d(const float* x, float* out) {
  __shared__ float shared[32];
  const int tid = Block2D::Tid();
  const float sum = BlockReduce<float, AddOp, Block2D>(x[tid], AddOp{}, 0.0f, shared);
  if (tid == 0) {
    out[0] = sum;
    out[1] = static_cast<float>(Block2D::Warps());
  }
}

extern "C" __global__ void full_warps(const float* x, float* out) {
  __shared__ float shared[32];
  const float sum = BlockReduce(x[Block1D::Tid()], FullWarpAddOp{}, 0.0f, shared);
  if (Block1D::Tid() == 0) out[0] = sum;
}

// A state of several fields through the adapter of this library's operators.
extern "C" __global__ void arg_max_1d(const float* x, index_t* out) {
  using state = indexed<float>;
  __shared__ state shared[32];
  const axisfold::torch::ReduceOp<state, arg_max<float>> op{};
  const state value = {x[Block1D::Tid()], Block1D::Tid()};
  const state best = BlockReduce(value, op, arg_max<float>::identity(), shared);
  if (Block1D::Tid() == 0) out[0] = best.index;
}
