// SPDX-License-Identifier: Apache-2.0
#include "common.cuh"

// Two reductions in a row share the scratch: the second must not disturb slow readers of the first.
// The first one reduces the next block's data, so that a mix-up shows.
#define KERNEL_block(name, T, Op, order)                                                        \
  extern "C" __global__ void name(const T* x, T* first, T* all) {                               \
    __shared__ block_scratch<T> scratch;                                                        \
    const index_t block = blockIdx.x;                                                           \
    const index_t next = (block + 1) % gridDim.x;                                               \
    const T value = x[block * block_threads() + thread_rank()];                                 \
    const T other = x[next * block_threads() + thread_rank()];                                  \
    const T result = block_reduce<Result::first, order>(other, Op{}, scratch);                  \
    all[block * block_threads() + thread_rank()] =                                              \
        block_reduce<Result::all, order>(value, Op{}, scratch);                                 \
    if (thread_rank() == 0) first[next] = result;                                               \
  }
// clang-format off
KERNEL_block(sum_i32, int32, plus<int32>, Order::any)
KERNEL_block(sum_i64, int64, plus<int64>, Order::any)
KERNEL_block(sum_f32, float, plus<float>, Order::any)
KERNEL_block(sum_f64, double, plus<double>, Order::any)
KERNEL_block(prod_f64, double, multiplies<double>, Order::any)
KERNEL_block(max_f32, float, maximum<float>, Order::any)
KERNEL_block(min_f32, float, minimum<float>, Order::any)
KERNEL_block(max_f64, double, maximum<double>, Order::any)
KERNEL_block(min_f16, float16, minimum<float16>, Order::any)
KERNEL_block(max_i64, int64, maximum<int64>, Order::any)
KERNEL_block(min_bool, bool, minimum<bool>, Order::any)
KERNEL_block(max_bool, bool, maximum<bool>, Order::any)
KERNEL_block(all_u8, uint8, logical_and<uint8>, Order::any)
KERNEL_block(any_u8, uint8, logical_or<uint8>, Order::any)
KERNEL_block(and_u32, uint32, bitwise_and<uint32>, Order::any)
KERNEL_block(or_u32, uint32, bitwise_or<uint32>, Order::any)
KERNEL_block(xor_u32, uint32, bitwise_xor<uint32>, Order::any)
KERNEL_block(compose_block, affine, compose, Order::preserved)
KERNEL_block(sum_bytes, seven, add_bytes, Order::any)
// clang-format on

extern "C" __global__ void valid(const affine* x, affine* out, uint32 count) {
  __shared__ block_scratch<affine> scratch;
  const affine poison = {0xdeadbeefu, 1u};
  const affine value = thread_rank() < count ? x[thread_rank()] : poison;
  const affine result = block_reduce_valid<Result::all, Order::preserved>(value, count, compose{},
                                                                          scratch);
  out[thread_rank()] = result;
}

extern "C" __global__ void groups(const affine* x, affine* first, affine* all, uint32 size) {
  __shared__ block_scratch<affine> scratch;
  const uint32 i = thread_rank();
  const affine result = block_reduce_groups<Result::first>(x[i], size, compose{}, scratch);
  const affine reversed = x[block_threads() - 1 - i];
  block_reduce_groups<Result::all>(reversed, size, compose{}, scratch);
  all[i] = block_reduce_groups<Result::all>(x[i], size, compose{}, scratch);
  if (i % size == 0) first[i / size] = result;
}

extern "C" __global__ void segments(const affine* x, const uint8* heads, affine* out) {
  const uint32 i = thread_rank();
  const affine once = block_reduce_segments(x[i], heads[i] != 0, compose{});
  const affine reversed = x[block_threads() - 1 - i];
  block_reduce_segments(reversed, i % 50 == 0, compose{});
  const affine twice = block_reduce_segments(x[i], heads[i] != 0, compose{});
  out[i] = once.scale == twice.scale && once.shift == twice.shift ? once : affine{0, 0};
}

extern "C" __global__ void arg(const float* x, float* values, index_t* indices) {
  // Backwards, so that the lower index is not also the lower lane.
  const index_t i = block_threads() - 1 - thread_rank();
  const indexed<float> best = block_reduce(indexed<float>{x[i], i}, arg_max<float>{});
  const indexed<float> least = block_reduce(indexed<float>{x[i], i}, arg_min<float>{});
  if (thread_rank() == 0) {
    values[0] = best.value;
    indices[0] = best.index;
    values[1] = least.value;
    indices[1] = least.index;
  }
}

extern "C" __global__ void variance(const double* x, uint32 count, double* out) {
  const uint32 i = thread_rank();
  const merge_moments<double> merge;
  const auto value = i < count ? moments<double>::of(x[i]) : merge.identity();
  const auto result = block_reduce(value, merge);
  if (i == 0) {
    out[0] = result.count;
    out[1] = result.mean;
    out[2] = result.m2;
  }
}

extern "C" __global__ void exp_sum(const float* x, const double* y, float* out, double* wide) {
  const uint32 i = thread_rank();
  const auto sum = block_reduce(scaled_exp_sum<float>::of(x[i]), merge_exp_sum<float>{});
  const auto wide_sum = block_reduce(scaled_exp_sum<double>::of(y[i]), merge_exp_sum<double>{});
  if (i == 0) {
    out[0] = sum.maximum;
    out[1] = sum.sum;
    wide[0] = wide_sum.maximum;
    wide[1] = wide_sum.sum;
  }
}

// Sum, maximum and first index in one pass, as a tuple of states.
extern "C" __global__ void several(const float* x, double* sum, float* top, index_t* at) {
  using state = tuple<double, float, indexed<float>>;
  using op = componentwise<plus<double>, maximum<float>, arg_min<float>>;
  const index_t i = thread_rank();
  const state value(static_cast<double>(x[i]), x[i], indexed<float>{x[i], i});
  const state result = block_reduce<Result::all>(value, op{});
  sum[i] = get<0>(result);
  top[i] = get<1>(result);
  at[i] = get<2>(result).index;
}
