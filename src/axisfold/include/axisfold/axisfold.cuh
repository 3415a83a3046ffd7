// SPDX-License-Identifier: Apache-2.0
// The whole library: reductions over warps, blocks, clusters and grids, PyTorch's spelling and the
// kernel primitives of PaddlePaddle. Each part may be included by itself.
#pragma once

#include <axisfold/block_groups.cuh>
#include <axisfold/cluster_reduce.cuh>
#include <axisfold/grid_fold.cuh>
#include <axisfold/kps.cuh>
#include <axisfold/last_block.cuh>
#include <axisfold/states.cuh>
#include <axisfold/torch.cuh>
