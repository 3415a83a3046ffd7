/*
 * row_sum_rfactor: one C11 function without dependencies, written by axisfold.
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
 *   cc -std=c11 -O3 -ffp-contract=off -c row_sum_rfactor.c        (and -lm where it is linked)
 *
 * -ffp-contract=off keeps products and sums apart: fused, they are rounded once and not
 * twice, and the result depends on the machine.  -ffast-math breaks NaNs, infinities,
 * signed zeros and the order of sums.  Floats are IEEE 754's and rounded to nearest, signed
 * integers two's complement.
 */
#include <stdint.h>
#include <stdlib.h>

/* Memory for an array, or NULL if there is not that much. */
static void *allocate(size_t bytes, int axes, const int64_t *shape) {
    for (int axis = 0; axis < axes; ++axis) {
        const uint64_t extent = shape[axis] > 0 ? (uint64_t)shape[axis] : 0;
        if (extent != 0 && bytes > SIZE_MAX / extent) {
            return NULL;
        }
        bytes *= (size_t)extent;
    }
    return malloc(bytes != 0 ? bytes : 1);
}

int32_t row_sum_rfactor(const float *restrict A, float *restrict B, int64_t n, int64_t m,
        int64_t stride, int64_t stride_1, int64_t stride_2) {
    float *B_rf = allocate(sizeof(float), 2, (const int64_t[]){16, n});
    if (B_rf == NULL) {
        return 1;
    }
    /* B.rf */
    for (int64_t k_inner = 0; k_inner < 16; ++k_inner) {
        for (int64_t i = 0; i < n; ++i) {
            B_rf[k_inner * n + i] = 0.0f;
            const int64_t k_outer_end = (m - k_inner + 15) / 16;
            for (int64_t k_outer = 0; k_outer < k_outer_end; ++k_outer) {
                B_rf[k_inner * n + i] = B_rf[k_inner * n + i]
                    + A[i * stride + (k_outer * 16 + k_inner) * stride_1];
            }
        }
    }
    /* B */
    for (int64_t ax0 = 0; ax0 < n; ++ax0) {
        B[ax0 * stride_2] = 0.0f;
        for (int64_t k_inner_v = 0; k_inner_v < 16; ++k_inner_v) {
            B[ax0 * stride_2] = B[ax0 * stride_2] + B_rf[k_inner_v * n + ax0];
        }
    }
    free(B_rf);
    return 0;
}
