/* argmax_of_rows, written by axisfold; compile with -std=c++17 -fmad=false */
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

#define INFINITY_F32 __int_as_float(0x7f800000)

/* The value of a float16. */
static __device__ __forceinline__ float f16_value(u16 bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

extern "C" __global__ void __launch_bounds__(128)
argmax_of_rows(const u16 *__restrict__ A, i64 *B, i64 n, i64 m) {
    const int i_outer = blockIdx.x;
    const int k_inner = threadIdx.x;
    const int i_inner = threadIdx.y;
    i64 T_at;
    float T_value;
    i64 T_at_other;
    float T_value_other;
    T_at = 0;
    T_value = -INFINITY_F32;
    /* T.at, T.value */
    if ((i64)i_outer * 4 + i_inner < n) {
        const i64 k_outer_end = (m + 31) / 32;
        for (i64 k_outer = 0; k_outer < k_outer_end; ++k_outer) {
            if (k_outer * 32 + k_inner < m) {
                const float A_value =
                    f16_value(A[((i64)i_outer * 4 + i_inner) * m + k_outer * 32 + k_inner]);
                const bool test = T_value > A_value
                    || (T_value == A_value && T_at < k_outer * 32 + k_inner);
                const i64 p = test ? T_at : k_outer * 32 + k_inner;
                const float v = test ? T_value : A_value;
                T_at = p;
                T_value = v;
            }
        }
    }
    T_at_other = __shfl_xor_sync(0xffffffffu, T_at, 16, 32);
    T_value_other = __shfl_xor_sync(0xffffffffu, T_value, 16, 32);
    const bool test = (T_value > T_value_other)
        | ((T_value == T_value_other) & (T_at < T_at_other));
    const i64 p = test ? T_at : T_at_other;
    const float v = test ? T_value : T_value_other;
    T_at = p;
    T_value = v;
    T_at_other = __shfl_xor_sync(0xffffffffu, T_at, 8, 32);
    T_value_other = __shfl_xor_sync(0xffffffffu, T_value, 8, 32);
    const bool test_1 = (T_value > T_value_other)
        | ((T_value == T_value_other) & (T_at < T_at_other));
    const i64 p_1 = test_1 ? T_at : T_at_other;
    const float v_1 = test_1 ? T_value : T_value_other;
    T_at = p_1;
    T_value = v_1;
    T_at_other = __shfl_xor_sync(0xffffffffu, T_at, 4, 32);
    T_value_other = __shfl_xor_sync(0xffffffffu, T_value, 4, 32);
    const bool test_2 = (T_value > T_value_other)
        | ((T_value == T_value_other) & (T_at < T_at_other));
    const i64 p_2 = test_2 ? T_at : T_at_other;
    const float v_2 = test_2 ? T_value : T_value_other;
    T_at = p_2;
    T_value = v_2;
    T_at_other = __shfl_xor_sync(0xffffffffu, T_at, 2, 32);
    T_value_other = __shfl_xor_sync(0xffffffffu, T_value, 2, 32);
    const bool test_3 = (T_value > T_value_other)
        | ((T_value == T_value_other) & (T_at < T_at_other));
    const i64 p_3 = test_3 ? T_at : T_at_other;
    const float v_3 = test_3 ? T_value : T_value_other;
    T_at = p_3;
    T_value = v_3;
    T_at_other = __shfl_xor_sync(0xffffffffu, T_at, 1, 32);
    T_value_other = __shfl_xor_sync(0xffffffffu, T_value, 1, 32);
    const bool test_4 = (T_value > T_value_other)
        | ((T_value == T_value_other) & (T_at < T_at_other));
    const i64 p_4 = test_4 ? T_at : T_at_other;
    const float v_4 = test_4 ? T_value : T_value_other;
    T_at = p_4;
    T_value = v_4;
    /* B */
    if ((i64)i_outer * 4 + i_inner < n && k_inner == 0) {
        B[(i64)i_outer * 4 + i_inner] = T_at;
    }
}
