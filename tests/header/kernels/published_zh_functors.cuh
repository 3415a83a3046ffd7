// SPDX-License-Identifier: Apache-2.0
// The functors of PaddlePaddle's documentation page on kernel primitives, Chinese text, as printed there
// (Apache-2.0). Test data: not to be corrected. No include guard: the test includes it twice.

template <typename T>
struct DivideFunctor {
  HOSTDEVICE explicit inline DivideFunctor(int n) : n_inv((T)(1.0 / n)) {}

  HOSTDEVICE inline T operator()(const T* x) const { return x[0] * n_inv; }

  HOSTDEVICE inline T operator()(const T& x) const { return x * n_inv; }

  private:
    T n_inv;
};

template <typename Tx, typename Ty = Tx>
struct CustomMean {
  using Transformer = kpds::DivideFunctor<Tx>;

  inline Ty initial() { return static_cast<Ty>(0.0f); }

  __device__ __forceinline__ Ty operator()(const Ty &a, const Ty &b) const {
     return b + a;
  }
};
