// SPDX-License-Identifier: Apache-2.0
#include "common.cuh"

namespace kps = axisfold::kps;

struct sum_of_three {
  AXISFOLD_FN double operator()(float a, float b, float c) const {
    return static_cast<double>(a) + 2.0 * static_cast<double>(b) + 3.0 * static_cast<double>(c);
  }
};
struct dot_of_two {
  AXISFOLD_FN double operator()(const float* args) const {
    return static_cast<double>(args[0]) - 10.0 * static_cast<double>(args[1]);
  }
};
struct forty_two {
  AXISFOLD_FN int operator()() const { return 42; }
};

// Each primitive with both template lists; disagreement of the two shows as -99.
extern "C" __global__ void elementwise(const float* x, double* out) {
  constexpr int N = 6;
  float a[N], b[N], c[N], two[2][N];
  double today[6][N], older[6][N];
  for (int i = 0; i < N; ++i) {
    a[i] = two[0][i] = x[thread_rank() * 3 * N + i];
    b[i] = two[1][i] = x[thread_rank() * 3 * N + N + i];
    c[i] = x[thread_rank() * 3 * N + 2 * N + i];
  }
  using Square = kps::SquareFunctor<float, double>;
  using Sub = kps::SubFunctor<double>;
  kps::ElementwiseUnary<float, double, 3, 2>(today[0], a, Square{});
  kps::ElementwiseUnary<float, double, 3, 2, 1, Square>(older[0], a, Square(7));
  kps::ElementwiseBinary<float, double, 3, 2, Sub>(today[1], a, b, Sub{});
  kps::ElementwiseBinary<float, double, 3, 2, Sub>(today[1], a, b, Sub{}, 6);
  kps::ElementwiseBinary<float, double, 3, 2, 1, Sub>(older[1], a, b, Sub{});
  kps::ElementwiseTernary<float, double, 3, 2, sum_of_three>(today[2], a, b, c, sum_of_three{});
  kps::ElementwiseTernary<float, double, 3, 2, 1, sum_of_three>(older[2], a, b, c, sum_of_three{});
  kps::ElementwiseAny<float, double, 3, 2, 2, dot_of_two>(today[3], two, dot_of_two{});
  kps::ElementwiseAny<float, double, 3, 2, 1, 2, dot_of_two>(older[3], two, dot_of_two{});
  kps::CycleBinary<float, double, 3, 2, Sub>(today[4], a, b, Sub{});
  kps::CycleBinary<float, double, 3, 2, 1, Sub>(older[4], a, b, Sub{});
  kps::ElementwiseConstant<float, double, 3, 2, forty_two>(today[5], forty_two{});
  kps::ElementwiseConstant<float, double, 3, 2, 1, forty_two>(older[5], forty_two{});
  for (int k = 0; k < 6; ++k) {
    for (int i = 0; i < N; ++i) {
      out[(thread_rank() * 6 + k) * N + i] = today[k][i] == older[k][i] ? today[k][i] : -99.0;
    }
  }
}

template <class T>
AXISFOLD_DEVICE void binary_row(const T* x, const T* y, double* out, uint32 count) {
  const uint32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const T a = x[i];
  const T b = y[i];
  double* const row = out + static_cast<index_t>(i) * 9;
  row[0] = static_cast<double>(kps::AddFunctor<T>{}(a, b));
  row[1] = static_cast<double>(kps::MulFunctor<T>{}(a, b));
  row[2] = static_cast<double>(kps::MinFunctor<T>{}(a, b));
  row[3] = static_cast<double>(kps::MaxFunctor<T>{}(a, b));
  row[4] = static_cast<double>(kps::LogicalAndFunctor<T>{}(a, b));
  row[5] = static_cast<double>(kps::LogicalOrFunctor<T>{}(a, b));
  row[6] = static_cast<double>(kps::SubFunctor<T>{}(a, b));
  row[7] = static_cast<double>(kps::DivFunctor<T>{}(a, b));
  row[8] = static_cast<double>(kps::FloorDivFunctor<T>{}(a, b));
}
extern "C" __global__ void binary_f32(const float* x, const float* y, double* out, uint32 n) {
  binary_row(x, y, out, n);
}
extern "C" __global__ void binary_f64(const double* x, const double* y, double* out, uint32 n) {
  binary_row(x, y, out, n);
}
extern "C" __global__ void binary_i32(const int32* x, const int32* y, double* out, uint32 n) {
  binary_row(x, y, out, n);
}

template <class T>
AXISFOLD_DEVICE void initial_row(double* out) {
  out[0] = static_cast<double>(kps::AddFunctor<T>{}.initial());
  out[1] = static_cast<double>(kps::MulFunctor<T>{}.initial());
  out[2] = static_cast<double>(kps::MinFunctor<T>{}.initial());
  out[3] = static_cast<double>(kps::MaxFunctor<T>{}.initial());
  out[4] = static_cast<double>(kps::LogicalAndFunctor<T>{}.initial());
  out[5] = static_cast<double>(kps::LogicalOrFunctor<T>{}.initial());
  out[6] = static_cast<double>(kps::SubFunctor<T>{}.initial());
  out[7] = static_cast<double>(kps::DivFunctor<T>{}.initial());
  out[8] = static_cast<double>(kps::FloorDivFunctor<T>{}.initial());
}
extern "C" __global__ void initials(double* out) {
  initial_row<float>(out);
  initial_row<int32>(out + 9);
  initial_row<float16>(out + 18);
  out[27] = kps::MinFunctor<bool>{}.initial();
  out[28] = kps::MaxFunctor<bool>{}.initial();
  out[29] = kps::MinFunctor<bool>{}(true, kps::MinFunctor<bool>{}.initial());
  out[30] = kps::MaxFunctor<bool>{}(false, kps::MaxFunctor<bool>{}.initial());
}

extern "C" __global__ void unary(const float* x, const int32* k, double* out) {
  const uint32 i = threadIdx.x;
  double* const row = out + i * 8;
  row[0] = static_cast<double>(kps::IdentityFunctor<float>{}(x[i]));
  row[1] = kps::DivideFunctor<int32>(4)(k[i]);
  row[2] = static_cast<double>(kps::DivideFunctor<float>(8)(x[i]));
  row[3] = kps::DivideFunctor<int32, double>(3)(k[i]);
  row[4] = static_cast<double>(kps::InverseFunctor<float>(0)(x[i]));
  row[5] = kps::ExpFunctor<double>{}(static_cast<double>(x[i]));
  row[6] = kps::SquareFunctor<float, double>{}(x[i]);
  row[7] = static_cast<double>(kps::DivideFunctor<float16, float>(3000)(float16(x[i])));
}

#define KERNEL_global(name, T, Op, last)                                                     \
  extern "C" __global__ void name(const T* x, T* out) {                                      \
    T values[2];                                                                             \
    const uint32 i = thread_rank();                                                          \
    values[0] = x[i];                                                                        \
    values[1] = static_cast<T>(x[i] * 3);                                                    \
    kps::Reduce<T, 1, 2, Op<T>, kps::details::ReduceMode::kGlobalMode>(values, values,       \
                                                                       Op<T>(), last);       \
    out[2 * i] = values[0];                                                                  \
    out[2 * i + 1] = values[1];                                                              \
  }
// clang-format off
KERNEL_global(add_x_i64, int64, kps::AddFunctor, true)
KERNEL_global(add_y_i64, int64, kps::AddFunctor, false)
KERNEL_global(max_x_f32, float, kps::MaxFunctor, true)
KERNEL_global(max_y_f32, float, kps::MaxFunctor, false)
KERNEL_global(add_y_u8, uint8, kps::AddFunctor, false)
// clang-format on

extern "C" __global__ void local(const int32* x, int32* out) {
  int32 in[6];
  int32 today[2] = {1000, 2000};
  int32 older[2] = {1000, 2000};
  for (int i = 0; i < 6; ++i) in[i] = x[thread_rank() * 6 + i];
  using Add = kps::AddFunctor<int32>;
  constexpr auto mode = kps::details::ReduceMode::kLocalMode;
  kps::Reduce<int32, 3, 2, Add, mode>(today, in, Add(), false);
  kps::Reduce<int32, 3, 2, 1, Add, mode>(older, in, Add(), false);
  for (int i = 0; i < 2; ++i) {
    out[thread_rank() * 2 + i] = today[i] == older[i] ? today[i] : -99;
  }
}

extern "C" __global__ void cumsum(const affine* x, affine* out) {
  const uint32 low = threadIdx.x;
  const uint32 high = low + blockDim.x;
  const affine in[2] = {x[low], x[high]};
  affine result[2];
  const affine others[2] = {in[1], in[0]};
  kps::Cumsum<affine, affine>(result, others, compose{});
  kps::Cumsum<affine, affine>(result, in, compose{});
  out[low] = result[0];
  out[high] = result[1];
}

extern "C" __global__ void cumsum_f64(const float* x, double* out) {
  const uint32 low = threadIdx.x;
  const uint32 high = low + blockDim.x;
  const double in[2] = {static_cast<double>(x[low]), static_cast<double>(x[high])};
  double result[2];
  kps::Cumsum<double, double, kps::AddFunctor<double>>(result, in, kps::AddFunctor<double>());
  out[low] = result[0];
  out[high] = result[1];
}

extern "C" __global__ void sort(const float* x, float* out, double* values, int32* indices,
                                int32 num, int32 monotonic) {
  const uint32 low = threadIdx.x;
  const uint32 high = low + blockDim.x;
  const float in[2] = {x[low], x[high]};
  const int32 at[2] = {static_cast<int32>(low), static_cast<int32>(high)};
  float plain[2];
  double wide[2];
  int32 index[2] = {-1, -1};
  kps::Sort<float, float>(plain, in, num, monotonic);
  kps::Sort<float, double, int32>(wide, index, in, at, num, monotonic);
  const uint32 positions[2] = {low, high};
  for (int i = 0; i < 2; ++i) {
    if (positions[i] < static_cast<uint32>(num)) {
      out[positions[i]] = plain[i];
      values[positions[i]] = wide[i];
      indices[positions[i]] = index[i];
    }
  }
}

// A whole reduction in kernel primitives, as the benchmark runs it: vector reads, a fold within the
// thread, a fold over the block.
extern "C" __global__ void row_sum(const float* x, double* out, index_t count) {
  constexpr int NX = 4;
  using Add = kps::AddFunctor<double>;
  double sum[1] = {Add().initial()};
  const index_t tile = static_cast<index_t>(blockDim.x) * NX;
  for (index_t first = blockIdx.x * tile; first < count; first += gridDim.x * tile) {
    float loaded[NX];
    double lifted[NX];
    kps::Init<float, NX>(loaded, 0.0f);
    if (count - first >= tile) {
      kps::ReadData<float, NX, 1, false>(loaded, x + first, count - first);
    } else {
      kps::ReadData<float, NX, 1, true>(loaded, x + first, count - first);
    }
    kps::ElementwiseUnary<float, double, NX, 1>(lifted, loaded,
                                                kps::IdentityFunctor<float, double>());
    kps::Reduce<double, NX, 1, Add, kps::details::kLocalMode>(sum, lifted, Add(), true);
  }
  kps::Reduce<double, 1, 1, Add, kps::details::kGlobalMode>(sum, sum, Add(), true);
  if (threadIdx.x == 0) kps::details::WriteData(out + blockIdx.x, sum, 1);
}
