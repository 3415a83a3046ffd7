/* row_sums, written by axisfold; compile with -std=c++17 -fmad=false */
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

static __device__ __forceinline__ int min_i32(int a, int b) {
    return a < b ? a : b;
}

extern "C" __global__ void __launch_bounds__(96)
row_sums(const u8 *__restrict__ A, float *B, i64 m) {
    extern __shared__ __align__(16) unsigned char shared[];
    const int i = blockIdx.x;
    const int k_inner = threadIdx.x;
    float B_rf[16];
    float B_sum;
    float o;
    float *const B_warps = reinterpret_cast<float *>(shared);
    /* B.rf */
    #pragma unroll
    for (int lane = 0; lane < 16; ++lane) {
        B_rf[lane] = 0.0f;
    }
    const i64 k_outer_end = (m + 1535) / 1536;
    for (i64 k_outer = 0; k_outer < k_outer_end; ++k_outer) {
        /* tail */
        if ((k_outer * 96 + k_inner) * 16 < m) {
            __align__(16) u8 A_value[16];
            const i64 A_index = i * m + (k_outer * 96 + k_inner) * 16;
            *reinterpret_cast<uint4 *>(&A_value[0]) = *reinterpret_cast<const uint4 *>(&A[A_index]);
            #pragma unroll
            for (int lane = 0; lane < 16; ++lane) {
                B_rf[lane] = B_rf[lane] + (float)(A_value[lane] != 0);
            }
        }
    }
    B_sum = B_rf[0];
    /* B.sum over lane */
    #pragma unroll
    for (int lane = 0; lane < 15; ++lane) {
        B_sum = B_sum + B_rf[lane + 1];
    }
    o = __shfl_down_sync(0xffffffffu, B_sum, 16, 32);
    B_sum = B_sum + o;
    o = __shfl_down_sync(0xffffffffu, B_sum, 8, 32);
    B_sum = B_sum + o;
    o = __shfl_down_sync(0xffffffffu, B_sum, 4, 32);
    B_sum = B_sum + o;
    o = __shfl_down_sync(0xffffffffu, B_sum, 2, 32);
    B_sum = B_sum + o;
    o = __shfl_down_sync(0xffffffffu, B_sum, 1, 32);
    B_sum = B_sum + o;
    /* B.warps */
    if (k_inner % 32 == 0) {
        B_warps[k_inner / 32] = B_sum;
    }
    __syncthreads();
    B_sum = k_inner < 3 ? B_warps[min_i32(k_inner, 2)] : 0.0f;
    o = __shfl_down_sync(0xffffffffu, B_sum, 16, 32);
    B_sum = B_sum + o;
    o = __shfl_down_sync(0xffffffffu, B_sum, 8, 32);
    B_sum = B_sum + o;
    o = __shfl_down_sync(0xffffffffu, B_sum, 4, 32);
    B_sum = B_sum + o;
    o = __shfl_down_sync(0xffffffffu, B_sum, 2, 32);
    B_sum = B_sum + o;
    o = __shfl_down_sync(0xffffffffu, B_sum, 1, 32);
    B_sum = B_sum + o;
    /* B */
    if (k_inner == 0) {
        B[i] = B_sum;
    }
}
