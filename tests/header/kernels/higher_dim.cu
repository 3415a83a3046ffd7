// SPDX-License-Identifier: Apache-2.0
#include "common.cuh"

namespace kps = axisfold::kps;

// One pass from x[outer, reduce_num, left_num] to y[outer, gridDim.y, left_num]. `n` is the divisor
// of a mean, and 1 in a first pass.
#define KERNEL_higher(name, Tx, Ty, MPType, Op, Finalize)                                       \
  extern "C" __global__ void name(const Tx* x, Ty* y, index_t outer, index_t reduce_num,        \
                                  index_t left_num, index_t block_rows, index_t n) {            \
    kps::HigherDimReduce<Tx, Ty, MPType>(x, y, Op<MPType>(), kps::IdentityFunctor<Tx, MPType>(), \
                                         Finalize(n), Op<MPType>().initial(), outer,            \
                                         reduce_num, left_num, block_rows);                     \
  }
template <class From, class To>
struct keep : kps::IdentityFunctor<From, To> {
  AXISFOLD_FN explicit keep(index_t) {}
};
#define KEEP(From, To) keep<From COMMA To>
#define DIVIDE(From, To) kps::DivideFunctor<From COMMA To>
#define COMMA ,
// clang-format off
KERNEL_higher(sum_f32_part, float, double, double, kps::AddFunctor, KEEP(double, double))
KERNEL_higher(sum_f32_last, double, float, double, kps::AddFunctor, KEEP(double, float))
KERNEL_higher(sum_f32_once, float, float, double, kps::AddFunctor, KEEP(double, float))
KERNEL_higher(mean_f16_part, float16, float, float, kps::AddFunctor, KEEP(float, float))
KERNEL_higher(mean_f16_last, float, float16, float, kps::AddFunctor, DIVIDE(float, float16))
KERNEL_higher(mean_f16_once, float16, float16, float, kps::AddFunctor, DIVIDE(float, float16))
KERNEL_higher(mean_i32_part, int32, int64, int64, kps::AddFunctor, KEEP(int64, int64))
KERNEL_higher(mean_i32_last, int64, double, int64, kps::AddFunctor, DIVIDE(int64, double))
KERNEL_higher(mean_i32_once, int32, double, int64, kps::AddFunctor, DIVIDE(int64, double))
KERNEL_higher(prod_f64_part, double, double, double, kps::MulFunctor, KEEP(double, double))
KERNEL_higher(prod_f64_last, double, double, double, kps::MulFunctor, KEEP(double, double))
KERNEL_higher(prod_f64_once, double, double, double, kps::MulFunctor, KEEP(double, double))
KERNEL_higher(any_u8_part, uint8, bool, bool, kps::LogicalOrFunctor, KEEP(bool, bool))
KERNEL_higher(any_u8_last, bool, bool, bool, kps::LogicalOrFunctor, KEEP(bool, bool))
KERNEL_higher(any_u8_once, uint8, bool, bool, kps::LogicalOrFunctor, KEEP(bool, bool))
KERNEL_higher(max_f32_part, float, float, float, kps::MaxFunctor, KEEP(float, float))
KERNEL_higher(max_f32_last, float, float, float, kps::MaxFunctor, KEEP(float, float))
KERNEL_higher(max_f32_once, float, float, float, kps::MaxFunctor, KEEP(float, float))
// clang-format on
