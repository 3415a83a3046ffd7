// SPDX-License-Identifier: Apache-2.0
// Reduction of an axis that is not the last: the published higher-dim kernel, with its gaps closed.
#pragma once

#include <axisfold/kps/functors.cuh>
#include <axisfold/kps/init.cuh>
#include <axisfold/kps/read.cuh>
#include <axisfold/kps/reduce.cuh>
#include <axisfold/kps/write.cuh>
#include <axisfold/kps/elementwise.cuh>

namespace axisfold {
namespace kps {
namespace details {

template <class Tx, class Ty, class MPType, int NY, bool IsBoundary, class ReduceOp,
          class TransformOp, class FinalizeOp>
AXISFOLD_DEVICE void higher_dim_tile(const Tx* x, Ty* y, const ReduceOp& reducer,
                                     const TransformOp& transform, const FinalizeOp& finalize,
                                     MPType init, index_t rows, index_t left_num, index_t columns) {
  MPType result[NY];
  Init<MPType, NY>(result, reducer.initial());
  result[0] = init;
  index_t row = 0;
  // Whole groups of NY rows: NY independent loads, each into an accumulator of its own.
  for (; row + NY <= rows; row += NY) {
    Tx loaded[NY] = {};
    MPType lifted[NY];
    kps::ReadData<Tx, Tx, 1, NY, IsBoundary>(loaded, x + row * left_num, columns, NY * left_num, 1,
                                             left_num);
    ElementwiseUnary<Tx, MPType, 1, NY>(lifted, loaded, transform);
    if (!IsBoundary || threadIdx.x < columns) {
      Reduce<MPType, 1, NY, ReduceOp, kLocalMode>(result, lifted, reducer, false);
    }
  }
  // The rows that no group holds, one at a time.
  for (; row < rows; ++row) {
    Tx loaded = {};
    MPType lifted;
    kps::ReadData<Tx, Tx, 1, 1, IsBoundary>(&loaded, x + row * left_num, columns, left_num, 1,
                                            left_num);
    ElementwiseUnary<Tx, MPType, 1, 1>(&lifted, &loaded, transform);
    if (!IsBoundary || threadIdx.x < columns) {
      Reduce<MPType, 1, 1, ReduceOp, kLocalMode>(result, &lifted, reducer, false);
    }
  }
  MPType total = result[0];
#pragma unroll
  for (int i = 1; i < NY; ++i) total = static_cast<MPType>(reducer(total, result[i]));
  const Ty value = static_cast<Ty>(finalize(total));
  kps::WriteData<Ty, 1, 1, IsBoundary>(y, &value, columns);
}

}  // namespace details

/// Reduces the middle axis of x[outer, reduce_num, left_num] (in C order) into y[outer, gridDim.y,
/// left_num]: each block takes `blockDim.x` columns and `block_rows` rows.
///
/// Axis 0 of an NHWC array has outer = 1, reduce_num = N and left_num = H*W*C; axis 1 has outer =
/// N, reduce_num = H and left_num = W*C; axis 2 has outer = N*H, reduce_num = W and left_num = C.
///
/// With gridDim.y = 1 the result is final. Otherwise make Ty the accumulator type, pass
/// IdentityFunctor as `finalize`, and reduce y again with reduce_num = gridDim.y: partial results
/// in the output type would round or overflow. A mean is finalised once, by DivideFunctor in the
/// last pass.
///
/// @param transform  maps an element to MPType
/// @param finalize   maps the accumulated value to Ty
/// @param init       combined in once for each block (and for each thread): an identity
/// @param block_rows rows of a block; ceil(reduce_num / gridDim.y) covers the axis
///
/// Preconditions: a one-dimensional block; ReduceOp has initial(). Any outer works: blocks stride
/// over it, because gridDim.z ends at 65535.
/// Cost: one read of x with NY loads in flight for each thread.
template <class Tx, class Ty, class MPType, int NY = 4, class ReduceOp, class TransformOp,
          class FinalizeOp>
AXISFOLD_DEVICE void HigherDimReduce(const Tx* x, Ty* y, ReduceOp reducer, TransformOp transform,
                                     FinalizeOp finalize, type_identity_t<MPType> init,
                                     index_t outer, index_t reduce_num, index_t left_num,
                                     index_t block_rows) {
  static_assert(NY >= 1 && NY <= 16,
                "HigherDimReduce: NY must be between 1 and 16 rows in flight.");
  AXISFOLD_REQUIRE(blockDim.y * blockDim.z == 1, "HigherDimReduce works on a 1-D block.");
  const index_t column = static_cast<index_t>(blockIdx.x) * blockDim.x;
  const index_t columns = left_num - column;
  const index_t first_row = static_cast<index_t>(blockIdx.y) * block_rows;
  // A block past the last row still writes its partial result, the initial value.
  const index_t rows_after = reduce_num > first_row ? reduce_num - first_row : 0;
  const index_t rows = rows_after < block_rows ? rows_after : block_rows;
  for (index_t z = blockIdx.z; z < outer; z += gridDim.z) {
    const Tx* const input = x + (z * reduce_num + first_row) * left_num + column;
    Ty* const output = y + (z * gridDim.y + blockIdx.y) * left_num + column;
    if (columns >= static_cast<index_t>(blockDim.x)) {
      details::higher_dim_tile<Tx, Ty, MPType, NY, false>(input, output, reducer, transform,
                                                          finalize, init, rows, left_num, columns);
    } else {
      details::higher_dim_tile<Tx, Ty, MPType, NY, true>(input, output, reducer, transform,
                                                         finalize, init, rows, left_num, columns);
    }
  }
}

}  // namespace kps
}  // namespace axisfold
