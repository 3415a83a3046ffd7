// SPDX-License-Identifier: Apache-2.0
// Host side of the examples for nvcc: device arrays, test data and a verdict. Python users have
// run.py instead.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace example {

inline void require(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(status));
  std::exit(1);
}

/// An array on the device that frees itself.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) {
    require(cudaMalloc(&data_, (count > 0 ? count : 1) * sizeof(T)));
    require(cudaMemset(data_, 0, count * sizeof(T)));
  }
  explicit DeviceArray(const std::vector<T>& host) : DeviceArray(host.size()) {
    require(cudaMemcpy(data_, host.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }

  T* get() const { return data_; }
  std::vector<T> host() const {
    std::vector<T> values(count_);
    require(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

/// Small integers as floats: their sums are exact, so a lost element cannot hide in rounding.
inline std::vector<float> numbers(std::size_t count) {
  std::vector<float> values(count);
  unsigned state = 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 28);
  }
  return values;
}

inline double sum(const std::vector<float>& values) {
  double total = 0;
  for (const float value : values) total += static_cast<double>(value);
  return total;
}

/// Prints the comparison and returns the exit status of the program.
inline int verdict(const char* what, double got, double expected, double tolerance = 0) {
  require(cudaDeviceSynchronize());
  const bool is_right = std::fabs(got - expected) <= tolerance;
  std::printf("%s: %.9g, expected %.9g: %s\n", what, got, expected, is_right ? "right" : "WRONG");
  return is_right ? 0 : 1;
}

}  // namespace example
