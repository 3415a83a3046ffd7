// SPDX-License-Identifier: Apache-2.0
#include "common.cuh"

#define KERNEL_warp(name, T, Op, ...)                                        \
  extern "C" __global__ void name(const T* x, T* out) {                      \
    const uint32 i = blockIdx.x * block_threads() + thread_rank();           \
    out[i] = warp_reduce<__VA_ARGS__>(x[i], Op{});                           \
  }
// clang-format off
KERNEL_warp(sum_i32, int32, plus<int32>, 32)
KERNEL_warp(sum_f32, float, plus<float>, 32)
KERNEL_warp(sum_f64, double, plus<double>, 32)
KERNEL_warp(sum_u8, uint8, plus<uint8>, 32)
KERNEL_warp(max_f16, float16, maximum<float16>, 32)
KERNEL_warp(min_f32, float, minimum<float>, 32)
KERNEL_warp(max_f32, float, maximum<float>, 32)
KERNEL_warp(min_f64, double, minimum<double>, 32)
KERNEL_warp(sum_bytes, seven, add_bytes, 32)
KERNEL_warp(compose_1, affine, compose, 1, Result::all, Order::preserved)
KERNEL_warp(compose_2, affine, compose, 2, Result::all, Order::preserved)
KERNEL_warp(compose_3, affine, compose, 3, Result::all, Order::preserved)
KERNEL_warp(compose_5, affine, compose, 5, Result::all, Order::preserved)
KERNEL_warp(compose_8, affine, compose, 8, Result::all, Order::preserved)
KERNEL_warp(compose_11, affine, compose, 11, Result::all, Order::preserved)
KERNEL_warp(compose_16, affine, compose, 16, Result::all, Order::preserved)
KERNEL_warp(compose_17, affine, compose, 17, Result::all, Order::preserved)
KERNEL_warp(compose_31, affine, compose, 31, Result::all, Order::preserved)
KERNEL_warp(compose_32, affine, compose, 32, Result::all, Order::preserved)
KERNEL_warp(first_11, affine, compose, 11, Result::first, Order::preserved)
KERNEL_warp(sum_i32_7, int32, plus<int32>, 7)
KERNEL_warp(sum_i32_4, int32, plus<int32>, 4)
// clang-format on

extern "C" __global__ void segments(const affine* x, const uint8* heads, affine* first,
                                    affine* all) {
  const uint32 i = thread_rank();
  first[i] = warp_reduce_segments<Result::first>(x[i], heads[i] != 0, compose{});
  all[i] = warp_reduce_segments<Result::all>(x[i], heads[i] != 0, compose{});
}

extern "C" __global__ void members(const affine* x, const uint8* takes_part, affine* first,
                                   affine* all) {
  const uint32 i = thread_rank();
  const bool mine = takes_part[i] != 0;
  const lane_mask voters = __ballot_sync(present_lanes(), mine);
  if (mine) {
    first[i] = warp_reduce_members<Result::first>(x[i], compose{}, voters);
    all[i] = warp_reduce_members<Result::all>(x[i], compose{}, voters);
  }
}
