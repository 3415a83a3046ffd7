// SPDX-License-Identifier: Apache-2.0
// What the published higher-dim reduce kernels leave undefined. Include it before their text and
// kps_prelude_end.cuh after it.
//
// The kernels use names that their own pages never define, and one parameter under two names. These
// macros resolve to names *inside* the kernels, which is why they are macros and why they end with
// the text. No include guard: each text of a file has its own prelude and end.

#include <axisfold/kps.cuh>

namespace kps = axisfold::kps;
namespace kpds = axisfold::kpds;

// The pages' own IdentityFunctor lacks the default constructor that their kernel calls, and their
// AddFunctor has an initial() that device code cannot call. Texts that bring functors of these
// names define AXISFOLD_PRELUDE_OWN_FUNCTORS.
#if !defined(AXISFOLD_PRELUDE_OWN_FUNCTORS) && !defined(AXISFOLD_PRELUDE_FUNCTORS)
#define AXISFOLD_PRELUDE_FUNCTORS
template <class Tx, class Ty = Tx>
using IdentityFunctor = axisfold::kps::IdentityFunctor<Tx, Ty>;
template <class Tx, class Ty = Tx>
using AddFunctor = axisfold::kps::AddFunctor<Tx, Ty>;
#endif

#if !defined(HOSTDEVICE)
#define HOSTDEVICE __host__ __device__
#define AXISFOLD_PRELUDE_HOSTDEVICE
#endif

// The transform must cover exactly the rows that were read. Both texts call that number NY.
#define REDUCE_VEC_SIZE NY
#define REDUCE_VEC_num NY

// The English text names the parameter block_num and then reads block_size; the Chinese one uses
// block_size throughout. Renaming every occurrence is right for both.
#define block_size block_num
