// SPDX-License-Identifier: Apache-2.0
#include "common.cuh"

namespace kps = axisfold::kps;

// The registers of every thread, so that the test sees exactly what was read.
template <class Ty, int Count>
AXISFOLD_DEVICE void dump(const Ty (&registers)[Count], Ty* out) {
  for (int i = 0; i < Count; ++i) out[thread_rank() * Count + i] = registers[i];
}

#define KERNEL_read2d(name, NX, NY, ...)                                                     \
  extern "C" __global__ void name(const float* x, double* out, index_t size_nx,              \
                                  index_t size_ny, index_t stride_nx, index_t stride_ny) {   \
    double registers[NX * NY];                                                               \
    kps::Init<double, NX * NY>(registers, -1.0);                                             \
    kps::ReadData<float, double, NX, NY __VA_ARGS__>(registers, x, size_nx, size_ny,         \
                                                     stride_nx, stride_ny);                  \
    dump(registers, out);                                                                    \
  }
#define COMMA ,
// clang-format off
KERNEL_read2d(read_1_1_full, 1, 1)
KERNEL_read2d(read_1_4_full, 1, 4, COMMA false)
KERNEL_read2d(read_1_1_today, 1, 1, COMMA true)
KERNEL_read2d(read_1_4_today, 1, 4, COMMA true)
KERNEL_read2d(read_4_1_today, 4, 1, COMMA true)
KERNEL_read2d(read_3_2_today, 3, 2, COMMA true)
KERNEL_read2d(read_3_2_oldfull, 3, 2, COMMA 1)
KERNEL_read2d(read_1_4_older, 1, 4, COMMA 1, true)
KERNEL_read2d(read_3_2_older, 3, 2, COMMA 1, true)
// clang-format on

#define KERNEL_read1d(name, T, NX, ...)                                             \
  extern "C" __global__ void name(const T* x, T* out, index_t offset, index_t num) { \
    T registers[NX];                                                                \
    kps::Init<T, NX>(registers, static_cast<T>(-1));                                \
    kps::ReadData<T, NX, __VA_ARGS__>(registers, x + offset, num);                  \
    dump(registers, out);                                                           \
  }
// clang-format off
KERNEL_read1d(row_1_full, float, 1, 1)
KERNEL_read1d(row_2_full, float, 2, 1, false)
KERNEL_read1d(row_3_full, float, 3, 1, 1, false)
KERNEL_read1d(row_4_full, float, 4, 1, 1)
KERNEL_read1d(row_8_full, float, 8, 1, false)
KERNEL_read1d(row_8_full_u8, uint8, 8, 1, false)
KERNEL_read1d(row_4_full_i64, int64, 4, 1, false)
KERNEL_read1d(row_1_tail, float, 1, 1, true)
KERNEL_read1d(row_4_tail, float, 4, 1, true)
KERNEL_read1d(row_3_tail, float, 3, 1, 1, true)
// clang-format on

extern "C" __global__ void row_lens(const float* x, float* out, index_t num) {
  float registers[4] = {-1, -1, -1, -1};
  kps::ReadData<float, 4, 1, true>(registers, x, num, 4);
  dump(registers, out);
}

extern "C" __global__ void read_tuples(const float* x, const int64* y, double* out, index_t num) {
  using item = tuple<float, int64>;
  item today[4];
  item older[4];
  kps::Init<float, item, 0, 4>(today, -1.0f);
  kps::Init<int64, item, 1, 4>(today, -1, 4);
  kps::Init<float, item, 0, 4>(older, -1.0f);
  kps::Init<int64, item, 1, 4>(older, -1);
  kps::ReadData<float, 4, 1, item, 0, true>(today, x, num);
  kps::ReadData<int64, 4, 1, item, 1, true>(today, y, num, 4);
  kps::ReadData<float, 4, 1, 1, item, 0, true>(older, x, num);
  kps::ReadData<int64, 4, 1, 1, item, 1, true>(older, y, num);
  for (int i = 0; i < 4; ++i) {
    const uint32 at = thread_rank() * 4 + i;
    out[2 * at] = static_cast<double>(get<0>(today[i]));
    out[2 * at + 1] = static_cast<double>(get<1>(today[i]));
    if (get<0>(today[i]) != get<0>(older[i]) || get<1>(today[i]) != get<1>(older[i])) {
      out[2 * at] = -99.0;
    }
  }
}

#define KERNEL_write2d(name, NX, NY, ...)                                                    \
  extern "C" __global__ void name(float* y, index_t size_nx, index_t size_ny,                \
                                  index_t stride_nx, index_t stride_ny) {                    \
    double registers[NX * NY];                                                               \
    for (int i = 0; i < NX * NY; ++i) registers[i] = thread_rank() * 100 + i;                \
    kps::WriteData<double, float, NX, NY __VA_ARGS__>(y, registers, size_nx, size_ny,        \
                                                      stride_nx, stride_ny);                 \
  }
// clang-format off
KERNEL_write2d(write_1_1_full, 1, 1)
KERNEL_write2d(write_1_1_today, 1, 1, COMMA true)
KERNEL_write2d(write_1_4_today, 1, 4, COMMA true)
KERNEL_write2d(write_3_2_today, 3, 2, COMMA true)
KERNEL_write2d(write_3_2_older, 3, 2, COMMA 128, true)
// clang-format on

#define KERNEL_write1d(name, NX, ...)                                             \
  extern "C" __global__ void name(float* y, index_t offset, index_t num) {        \
    float registers[NX];                                                          \
    for (int i = 0; i < NX; ++i) registers[i] = 1.0f + thread_rank() * NX + i;    \
    kps::WriteData<float, NX, __VA_ARGS__>(y + offset, registers, num);           \
  }
// clang-format off
KERNEL_write1d(put_1_full, 1, 1)
KERNEL_write1d(put_3_full, 3, 1, 1)
KERNEL_write1d(put_8_full, 8, 1, false)
KERNEL_write1d(put_1_tail, 1, 1, true)
KERNEL_write1d(put_4_tail, 4, 1, 1, true)
// clang-format on

extern "C" __global__ void put_lens(float* y, index_t num) {
  float registers[2] = {1.0f + 2 * threadIdx.x, 2.0f + 2 * threadIdx.x};
  kps::WriteData<float, 2, 1, true>(y, registers, num, 2);
}

extern "C" __global__ void copies(const float* x, float* y, index_t num) {
  if (thread_rank() == 0) {
    float registers[8];
    kps::details::ReadData(registers, x, num);
    kps::details::WriteData(y, registers, num);
  }
}

extern "C" __global__ void broadcast(const float* x, float* out, const index_t* out_dims,
                                     const index_t* in_dims, int32 rank, index_t total,
                                     uint8 is_wide) {
  kps::details::BroadcastConfig config(out_dims, in_dims, rank);
  if (is_wide != 0) config.is_narrow = false;
  const kpds::details::BroadcastConfig<3>& same = config;
  const index_t block = static_cast<index_t>(blockIdx.x) * blockDim.x * 4;
  float row[4] = {-1, -1, -1, -1};
  float older[4] = {-1, -1, -1, -1};
  float grid[4] = {-1, -1, -1, -1};
  tuple<float, int32> pairs[4];
  kps::Init<float, tuple<float, int32>, 0, 4>(pairs, -1.0f);
  kps::ReadDataBc<float, 4, 1, true>(row, x, block, config, total);
  kps::ReadDataBc<float, 4, 1, 128, 3, true>(older, x, block, same, total);
  kps::ReadDataBc<float, 4, 1, tuple<float, int32>, 0, true>(pairs, x, block, config, total);
  kps::ReadDataBc<float, 2, 2, true>(grid, x, block, config, total, blockDim.x, 2 * blockDim.x);
  for (int i = 0; i < 4; ++i) {
    const index_t at = block + threadIdx.x * 4 + i;
    if (at < total) {
      const bool agree = row[i] == older[i] && row[i] == get<0>(pairs[i]);
      out[at] = agree ? row[i] : -99.0f;
    }
    const index_t strided = block + threadIdx.x + (i % 2) * blockDim.x + (i / 2) * 2 * blockDim.x;
    if (strided < total) out[total + strided] = grid[i];
  }
}

template <class UInt>
AXISFOLD_DEVICE void divide(const UInt* dividend, const UInt* divisor, UInt* quotient,
                            UInt* remainder) {
  const uint32 i = blockIdx.x * blockDim.x + threadIdx.x;
  const kps::details::FastDivModOf<UInt> fast(divisor[i]);
  const auto parts = fast.Divmod(dividend[i]);
  quotient[i] = parts.quotient;
  remainder[i] = parts.remainder;
}
extern "C" __global__ void divide_32(const uint32* a, const uint32* b, uint32* q, uint32* r) {
  divide(a, b, q, r);
}
extern "C" __global__ void divide_64(const uint64* a, const uint64* b, uint64* q, uint64* r) {
  divide(a, b, q, r);
}

extern "C" __global__ void inits(float* out) {
  float filled[3];
  float copied[3] = {-1, -1, -1};
  float indices[3];
  const float source[3] = {10, 20, 30};
  kps::Init<float, 3>(filled, 7, 3);
  kps::Init<float, 3, true>(copied, source, 2);
  kps::InitWithDataIndex<float, 3, 1>(indices, 1000);
  const uint32 at = thread_rank() * 9;
  for (int i = 0; i < 3; ++i) {
    out[at + i] = filled[i];
    out[at + 3 + i] = copied[i];
    out[at + 6 + i] = indices[i];
  }
}

struct every_other {
  AXISFOLD_FN index_t operator()(index_t i) const { return 2 * i; }
};
struct negate {
  AXISFOLD_FN float operator()(float x) const { return -x; }
};

extern "C" __global__ void gather(const float* x, double* out, index_t offset, index_t size_ny,
                                  uint8 last) {
  double registers[3] = {-1, -1, -1};
  double older[3] = {-1, -1, -1};
  double wide[2] = {-1, -1};
  const bool is_last = last != 0;
  const index_t stride = is_last ? blockDim.x : blockDim.y;
  kps::ReadDataReduce<float, double, 1, 3, 1, every_other, negate, true>(
      registers, x, offset, every_other{}, 1, size_ny, 1, stride, negate{}, is_last);
  kps::ReadDataReduce<float, double, 1, 3, 128, 1, every_other, negate, true>(
      older, x, offset, every_other{}, 1, size_ny, 1, stride, negate{}, is_last);
  // Two neighbouring columns, of which the block owns a single one.
  kps::ReadDataReduce<float, double, 2, 1, 1, every_other, negate, true>(
      wide, x, offset, every_other{}, blockDim.x + blockDim.y, size_ny, 1, stride, negate{},
      is_last);
  const uint32 at = thread_rank() * 5;
  for (int i = 0; i < 3; ++i) out[at + i] = registers[i] == older[i] ? registers[i] : -99.0;
  for (int i = 0; i < 2; ++i) out[at + 3 + i] = wide[i];
}
