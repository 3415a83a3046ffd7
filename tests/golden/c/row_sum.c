/*
 * row_sum: one C11 function without dependencies, written by axisfold.
 *
 *   A         input, float32[n, m], strides stride, stride_1 in elements
 *   B         output, float32[n], strides stride_2 in elements
 *   n         extent 0 of A, extent 0 of B
 *   m         extent 1 of A
 *   stride    stride 0 of A
 *   stride_1  stride 1 of A
 *   stride_2  stride 0 of B
 *
 * Returns 0, or 1 if memory could not be allocated.  Outputs share no memory with other
 * arguments, and no two of their elements are in one place.
 *
 *   cc -std=c11 -O3 -ffp-contract=off -c row_sum.c        (and -lm where it is linked)
 *
 * -ffp-contract=off keeps products and sums apart: fused, they are rounded once and not
 * twice, and the result depends on the machine.  -ffast-math breaks NaNs, infinities,
 * signed zeros and the order of sums.  Floats are IEEE 754's and rounded to nearest, signed
 * integers two's complement.
 */
#include <stdint.h>

int32_t row_sum(const float *restrict A, float *restrict B, int64_t n, int64_t m, int64_t stride,
        int64_t stride_1, int64_t stride_2) {
    for (int64_t i = 0; i < n; ++i) {
        B[i * stride_2] = 0.0f;
        for (int64_t k = 0; k < m; ++k) {
            B[i * stride_2] = B[i * stride_2] + A[i * stride + k * stride_1];
        }
    }
    return 0;
}
