/*
 * argmax: one C11 function without dependencies, written by axisfold.
 *
 *   A         input, float32[n, m], strides stride, stride_1 in elements
 *   B_v0      output, int32[n], strides stride_2 in elements
 *   B_v1      output, float32[n], strides stride_3 in elements
 *   n         extent 0 of A, extent 0 of B_v0, extent 0 of B_v1
 *   m         extent 1 of A
 *   stride    stride 0 of A
 *   stride_1  stride 1 of A
 *   stride_2  stride 0 of B_v0
 *   stride_3  stride 0 of B_v1
 *
 * Returns 0, or 1 if memory could not be allocated.  Outputs share no memory with other
 * arguments, and no two of their elements are in one place.
 *
 *   cc -std=c11 -O3 -ffp-contract=off -c argmax.c        (and -lm where it is linked)
 *
 * -ffp-contract=off keeps products and sums apart: fused, they are rounded once and not
 * twice, and the result depends on the machine.  -ffast-math breaks NaNs, infinities,
 * signed zeros and the order of sums.  Floats are IEEE 754's and rounded to nearest, signed
 * integers two's complement.
 */
#include <stdint.h>

int32_t argmax(const float *restrict A, int32_t *restrict B_v0, float *restrict B_v1, int64_t n,
        int64_t m, int64_t stride, int64_t stride_1, int64_t stride_2, int64_t stride_3) {
    for (int64_t i = 0; i < n; ++i) {
        B_v0[i * stride_2] = -1;
        B_v1[i * stride_3] = -0x1.fffffep+127f;
        for (int64_t k = 0; k < m; ++k) {
            const float B_v1_value = B_v1[i * stride_3];
            const float A_value = A[i * stride + k * stride_1];
            const int32_t B_v0_value = B_v0[i * stride_2];
            const uint8_t test = B_v1_value > A_value
                || (B_v1_value == A_value && B_v0_value < (int32_t)k);
            const int32_t B_v0_new = test ? B_v0_value : (int32_t)k;
            const float B_v1_new = test ? B_v1_value : A_value;
            B_v0[i * stride_2] = B_v0_new;
            B_v1[i * stride_3] = B_v1_new;
        }
    }
    return 0;
}
