// SPDX-License-Identifier: Apache-2.0
// Takes back the macros of seed_prelude.cuh. No include guard: it may close several texts.

#undef REDUCE_VEC_SIZE
#undef REDUCE_VEC_num
#undef block_size
#if defined(AXISFOLD_SEED_HOSTDEVICE)
#undef HOSTDEVICE
#undef AXISFOLD_SEED_HOSTDEVICE
#endif
