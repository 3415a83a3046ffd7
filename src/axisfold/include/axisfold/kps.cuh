// SPDX-License-Identifier: Apache-2.0
// The kernel primitives of PaddlePaddle, written anew: block-level reads, computations and writes.
// Programs say `namespace kps = axisfold::kps;`, older texts `namespace kpds = axisfold::kpds;`.
#pragma once

#include <axisfold/kps/broadcast.cuh>
#include <axisfold/kps/elementwise.cuh>
#include <axisfold/kps/functors.cuh>
#include <axisfold/kps/higher_dim.cuh>
#include <axisfold/kps/init.cuh>
#include <axisfold/kps/read.cuh>
#include <axisfold/kps/read_broadcast.cuh>
#include <axisfold/kps/read_reduce.cuh>
#include <axisfold/kps/reduce.cuh>
#include <axisfold/kps/scan.cuh>
#include <axisfold/kps/sort.cuh>
#include <axisfold/kps/write.cuh>

namespace axisfold {

/// The name that the older texts use.
namespace kpds {
using namespace kps;  // NOLINT: an alias would not let `details` differ below

namespace details {
using namespace kps::details;
/// Older broadcast configurations carried their rank as a template argument.
template <int Rank>
using BroadcastConfig = kps::details::BroadcastConfig;
}  // namespace details
}  // namespace kpds

}  // namespace axisfold
