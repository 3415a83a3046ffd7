/*
 * row_sum_vectorized: one C11 function without dependencies, written by axisfold.
 *
 *   A         input, float32[n, m], strides stride, stride_1 in elements
 *   B         output, float64[n], strides stride_2 in elements
 *   n         extent 0 of A, extent 0 of B
 *   m         extent 1 of A
 *   stride    stride 0 of A
 *   stride_1  stride 1 of A
 *   stride_2  stride 0 of B
 *
 * Returns 0, or 1 if memory could not be allocated.  Outputs share no memory with other
 * arguments, and no two of their elements are in one place.
 *
 *   cc -std=c11 -O3 -ffp-contract=off -c row_sum_vectorized.c        (and -lm where it is linked)
 *
 * -ffp-contract=off keeps products and sums apart: fused, they are rounded once and not
 * twice, and the result depends on the machine.  -ffast-math breaks NaNs, infinities,
 * signed zeros and the order of sums.  Floats are IEEE 754's and rounded to nearest, signed
 * integers two's complement.
 */
#include <stdint.h>

int32_t row_sum_vectorized(const float *restrict A, double *restrict B, int64_t n, int64_t m,
        int64_t stride, int64_t stride_1, int64_t stride_2) {
    for (int64_t ax0 = 0; ax0 < n; ++ax0) {
        double B_rf[8];
        for (int64_t lane = 0; lane < 8; ++lane) {
            B_rf[lane] = 0.0;
        }
        for (int64_t k_outer = 0; k_outer < m / 16; ++k_outer) {
            for (int64_t lane = 0; lane < 8; ++lane) {
                B_rf[lane] = B_rf[lane]
                    + (double)A[k_outer * 16 * stride_1 + ax0 * stride + lane * stride_1];
            }
            for (int64_t lane = 0; lane < 8; ++lane) {
                B_rf[lane] = B_rf[lane]
                    + (double)A[(8 + k_outer * 16) * stride_1 + ax0 * stride + lane * stride_1];
            }
        }
        const int64_t k_outer_end = (m + 15) / 16;
        for (int64_t k_outer = m / 16; k_outer < k_outer_end; ++k_outer) {
            for (int64_t k_inner_outer = 0; k_inner_outer < 2; ++k_inner_outer) {
                if (k_inner_outer * 8 + k_outer * 16 + 7 < m) {
                    for (int64_t lane = 0; lane < 8; ++lane) {
                        B_rf[lane] = B_rf[lane]
                            + (double)A[(k_inner_outer * 8 + k_outer * 16) * stride_1
                            + ax0 * stride + lane * stride_1];
                    }
                } else {
                    if (k_inner_outer * 8 + k_outer * 16 < m) {
                        for (int64_t lane = 0; lane < 8; ++lane) {
                            if (k_inner_outer * 8 + k_outer * 16 + lane < m) {
                                B_rf[lane] = B_rf[lane]
                                    + (double)A[(k_inner_outer * 8 + k_outer * 16) * stride_1
                                    + ax0 * stride + lane * stride_1];
                            }
                        }
                    }
                }
            }
        }
        B[ax0 * stride_2] = 0.0;
        B[ax0 * stride_2] = B[ax0 * stride_2] + B_rf[0];
        B[ax0 * stride_2] = B[ax0 * stride_2] + B_rf[1];
        B[ax0 * stride_2] = B[ax0 * stride_2] + B_rf[2];
        B[ax0 * stride_2] = B[ax0 * stride_2] + B_rf[3];
        B[ax0 * stride_2] = B[ax0 * stride_2] + B_rf[4];
        B[ax0 * stride_2] = B[ax0 * stride_2] + B_rf[5];
        B[ax0 * stride_2] = B[ax0 * stride_2] + B_rf[6];
        B[ax0 * stride_2] = B[ax0 * stride_2] + B_rf[7];
    }
    return 0;
}
