// SPDX-License-Identifier: Apache-2.0
// Under nvcc the library takes CUDA's 16-bit floats and the standard library's tuples.
#include <axisfold/axisfold.cuh>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstdio>
#include <tuple>
#include <vector>

namespace kps = axisfold::kps;

static_assert(axisfold::is_same_v<axisfold::accumulator_t<__half>, float>, "halves add in float");
static_assert(axisfold::is_floating_point_v<__nv_bfloat16>, "a bfloat16 is a floating type");
static_assert(sizeof(std::int64_t) == sizeof(axisfold::index_t), "indices have 64 bits");

// Maximum of halves, sum of bfloat16 in float, and a pair of inputs in one std::tuple.
__global__ void standard_types(const __half* x, const __nv_bfloat16* y, const std::int64_t* z,
                               float* out) {
  using pair = std::tuple<__half, std::int64_t>;
  __half half[1];
  pair both[1];
  kps::ReadData<__half, 1, 1, false>(half, x, blockDim.x);
  kps::ReadData<__half, 1, 1, pair, 0, false>(both, x, blockDim.x);
  kps::ReadData<std::int64_t, 1, 1, pair, 1, false>(both, z, blockDim.x);
  float brain[1];
  kps::ReadData<__nv_bfloat16, float, 1, 1>(brain, y, blockDim.x, 1, 1, 1);
  const __half top = axisfold::block_reduce(half[0], axisfold::maximum<__half>{});
  const float sum = axisfold::block_reduce(brain[0], axisfold::plus<float>{});
  const auto whole = static_cast<double>(std::get<1>(both[0]));
  const double total = axisfold::block_reduce(
      whole + static_cast<double>(__half2float(std::get<0>(both[0]))), axisfold::plus<double>{});
  if (threadIdx.x == 0) {
    out[0] = __half2float(top);
    out[1] = sum;
    out[2] = static_cast<float>(total);
  }
}

int main() {
  constexpr int count = 100;
  __half* x;
  __nv_bfloat16* y;
  std::int64_t* z;
  float* out;
  cudaMallocManaged(&x, count * sizeof *x);
  cudaMallocManaged(&y, count * sizeof *y);
  cudaMallocManaged(&z, count * sizeof *z);
  cudaMallocManaged(&out, 3 * sizeof *out);
  for (int i = 0; i < count; ++i) {
    x[i] = __float2half(static_cast<float>(i - 200));
    y[i] = __float2bfloat16(static_cast<float>(i));
    z[i] = i;
  }
  // Broadcast shapes come from host containers.
  const std::vector<axisfold::index_t> dims = {3, 4};
  const kps::details::BroadcastConfig config(dims, dims, 2);
  standard_types<<<1, count>>>(x, y, z, out);
  const bool is_done = cudaDeviceSynchronize() == cudaSuccess;
  const bool is_right = out[0] == -101.0f && out[1] == 4950.0f && out[2] == -10100.0f;
  std::printf("%g %g %g %s\n", out[0], out[1], out[2], is_done && is_right ? "right" : "WRONG");
  return is_done && is_right && config.rank == 2 ? 0 : 1;
}
