// SPDX-License-Identifier: Apache-2.0
// Takes back the macros of kps_prelude.cuh. No include guard, like there.

#undef REDUCE_VEC_SIZE
#undef REDUCE_VEC_num
#undef block_size
#if defined(AXISFOLD_PRELUDE_HOSTDEVICE)
#undef HOSTDEVICE
#undef AXISFOLD_PRELUDE_HOSTDEVICE
#endif
