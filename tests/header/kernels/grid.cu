// SPDX-License-Identifier: Apache-2.0
#include "common.cuh"

struct widen {
  AXISFOLD_FN double operator()(float x) const { return static_cast<double>(x); }
};
struct to_int64 {
  template <class T>
  AXISFOLD_FN int64 operator()(T x) const {
    return static_cast<int64>(x);
  }
};

#define KERNEL_fold(name, T, State, Lift, Op, unroll)                                    \
  extern "C" __global__ void name(const T* x, index_t offset, index_t count, State* out, \
                                  State* partials, uint32* ticket) {                     \
    State value = grid_fold<unroll>(x + offset, count, Lift{}, Op{});                    \
    value = block_reduce(value, Op{});                                                   \
    if (last_block_fold(value, Op{}, partials, ticket) && thread_rank() == 0) *out = value; \
  }
// clang-format off
KERNEL_fold(sum_f32, float, double, widen, plus<double>, 4)
KERNEL_fold(sum_i32, int32, int64, to_int64, plus<int64>, 4)
KERNEL_fold(sum_i8, int8, int64, to_int64, plus<int64>, 2)
KERNEL_fold(sum_i64, int64, int64, to_int64, plus<int64>, 3)
KERNEL_fold(max_u16, uint16, int64, to_int64, maximum<int64>, 1)
// clang-format on

// Every block publishes one operand; the total must keep their order, whoever comes last.
extern "C" __global__ void ordered(const affine* x, affine* out, affine* partials,
                                   uint32* ticket) {
  const affine value = x[blockIdx.x * block_threads() + thread_rank()];
  affine result = block_reduce<Result::first, Order::preserved>(value, compose{});
  if (last_block_fold(result, compose{}, partials, ticket) && thread_rank() == 0) *out = result;
}

// A ticket for each column of blocks: several reductions in one launch, and states of odd sizes.
extern "C" __global__ void rows(const seven* x, seven* out, seven* partials, uint32* tickets) {
  __shared__ block_scratch<seven> scratch;
  const uint32 row = blockIdx.y;
  const seven value = x[(row * gridDim.x + blockIdx.x) * block_threads() + thread_rank()];
  seven result = block_reduce(value, add_bytes{}, scratch);
  if (last_block_fold(result, add_bytes{}, partials + row * gridDim.x, tickets + row, blockIdx.x,
                      gridDim.x, scratch)) {
    if (thread_rank() == 0) out[row] = result;
  }
}
