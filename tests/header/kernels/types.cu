// SPDX-License-Identifier: Apache-2.0
#include "common.cuh"

extern "C" __global__ void half_from_float(const float* x, uint16* half, uint16* brain) {
  const uint32 i = blockIdx.x * blockDim.x + threadIdx.x;
  half[i] = float16(x[i]).bits;
  brain[i] = bfloat16(x[i]).bits;
}

extern "C" __global__ void float_from_half(float* half, float* brain) {
  const uint32 i = blockIdx.x * blockDim.x + threadIdx.x;
  half[i] = float16::from_bits(static_cast<uint16>(i));
  brain[i] = bfloat16::from_bits(static_cast<uint16>(i));
}

template <class T>
AXISFOLD_DEVICE void put_limits(double* out) {
  out[0] = static_cast<double>(limits<T>::lowest());
  out[1] = static_cast<double>(limits<T>::max());
  out[2] = static_cast<double>(limits<T>::bottom());
  out[3] = static_cast<double>(limits<T>::top());
}

extern "C" __global__ void all_limits(double* out) {
  put_limits<int8>(out);
  put_limits<uint8>(out + 4);
  put_limits<int16>(out + 8);
  put_limits<uint16>(out + 12);
  put_limits<int32>(out + 16);
  put_limits<uint32>(out + 20);
  put_limits<float>(out + 24);
  put_limits<double>(out + 28);
  put_limits<float16>(out + 32);
  put_limits<bfloat16>(out + 36);
  put_limits<bool>(out + 40);
  static_assert(limits<int64>::lowest() < 0 && limits<int64>::lowest() == -9223372036854775807ll - 1 &&
                    limits<int64>::max() == 9223372036854775807ll,
                "64-bit limits are exact.");
  out[44] = static_cast<double>(INFINITY);
}

static_assert(is_same_v<accumulator_t<const float16>, float>, "16-bit floats combine in float.");
static_assert(is_same_v<accumulator_t<int32>, int32>, "Integers combine as they are.");
static_assert(is_integral_v<const bool> && !is_integral_v<float>, "Traits ignore const.");
static_assert(is_floating_point_v<bfloat16>, "A bfloat16 is a floating type.");
static_assert(is_trivially_copyable_v<tuple<int32, float16, double>>, "Tuples can be shuffled.");
static_assert(sizeof(tuple<int32, int32>) == 8, "A tuple holds its components and nothing else.");

extern "C" __global__ void tuples(double* out) {
  tuple three(1, 2.5f, 4.0);
  get<0>(three) += 7;
  const auto copy = three;
  static_assert(is_same_v<decltype(three), tuple<int, float, double>>, "Deduction guide.");
  out[0] = get<0>(copy);
  out[1] = static_cast<double>(get<1>(copy));
  out[2] = get<2>(copy);
}
