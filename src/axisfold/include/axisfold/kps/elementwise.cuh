// SPDX-License-Identifier: Apache-2.0
// Elementwise functions from registers to registers. Each has today's template list and the older
// one, which carries a BlockSize after NY; the two differ in the kind of an argument, so they are
// plain overloads.
#pragma once

#include <axisfold/type_traits.cuh>

namespace axisfold {
namespace kps {

/// out[i] = compute(in[i]) for NX * NY registers.
template <class InT, class OutT, int NX, int NY, class OpFunc>
AXISFOLD_DEVICE void ElementwiseUnary(OutT* out, const InT* in, OpFunc compute) {
#pragma unroll
  for (int i = 0; i < NX * NY; ++i) out[i] = static_cast<OutT>(compute(in[i]));
}
template <class InT, class OutT, int NX, int NY, int BlockSize, class OpFunc>
AXISFOLD_DEVICE void ElementwiseUnary(OutT* out, const InT* in, OpFunc compute) {
  ElementwiseUnary<InT, OutT, NX, NY, OpFunc>(out, in, compute);
}

/// out[i] = compute(in1[i], in2[i]) for NX * NY registers.
template <class InT, class OutT, int NX, int NY, class OpFunc>
AXISFOLD_DEVICE void ElementwiseBinary(OutT* out, const InT* in1, const InT* in2, OpFunc compute) {
#pragma unroll
  for (int i = 0; i < NX * NY; ++i) out[i] = static_cast<OutT>(compute(in1[i], in2[i]));
}
template <class InT, class OutT, int NX, int NY, class OpFunc>
AXISFOLD_DEVICE void ElementwiseBinary(OutT* out, const InT* in1, const InT* in2, OpFunc compute,
                                       int read_lens) {
  static_cast<void>(read_lens);
  ElementwiseBinary<InT, OutT, NX, NY, OpFunc>(out, in1, in2, compute);
}
template <class InT, class OutT, int NX, int NY, int BlockSize, class OpFunc>
AXISFOLD_DEVICE void ElementwiseBinary(OutT* out, const InT* in1, const InT* in2, OpFunc compute) {
  ElementwiseBinary<InT, OutT, NX, NY, OpFunc>(out, in1, in2, compute);
}

/// out[i] = compute(in1[i], in2[i], in3[i]) for NX * NY registers.
template <class InT, class OutT, int NX, int NY, class OpFunc>
AXISFOLD_DEVICE void ElementwiseTernary(OutT* out, const InT* in1, const InT* in2, const InT* in3,
                                        OpFunc compute) {
#pragma unroll
  for (int i = 0; i < NX * NY; ++i) out[i] = static_cast<OutT>(compute(in1[i], in2[i], in3[i]));
}
template <class InT, class OutT, int NX, int NY, int BlockSize, class OpFunc>
AXISFOLD_DEVICE void ElementwiseTernary(OutT* out, const InT* in1, const InT* in2, const InT* in3,
                                        OpFunc compute) {
  ElementwiseTernary<InT, OutT, NX, NY, OpFunc>(out, in1, in2, in3, compute);
}

/// out[i] = compute(args) with args[j] = ins[j][i], for `Arity` inputs of NX * NY registers.
template <class InT, class OutT, int NX, int NY, int Arity, class OpFunc>
AXISFOLD_DEVICE void ElementwiseAny(OutT* out, InT (*ins)[NX * NY], OpFunc compute) {
  static_assert(Arity >= 1, "ElementwiseAny needs at least one input.");
  remove_cv_t<InT> args[Arity];
#pragma unroll
  for (int i = 0; i < NX * NY; ++i) {
#pragma unroll
    for (int j = 0; j < Arity; ++j) args[j] = ins[j][i];
    out[i] = static_cast<OutT>(compute(args));
  }
}
template <class InT, class OutT, int NX, int NY, int BlockSize, int Arity, class OpFunc>
AXISFOLD_DEVICE void ElementwiseAny(OutT* out, InT (*ins)[NX * NY], OpFunc compute) {
  ElementwiseAny<InT, OutT, NX, NY, Arity, OpFunc>(out, ins, compute);
}

/// Combines one row of NX registers with each of NY rows:
/// out[y * NX + x] = compute(in1[x], in2[y * NX + x]).
template <class InT, class OutT, int NX, int NY, class OpFunc>
AXISFOLD_DEVICE void CycleBinary(OutT* out, const InT* in1, const InT* in2, OpFunc compute) {
#pragma unroll
  for (int y = 0; y < NY; ++y) {
#pragma unroll
    for (int x = 0; x < NX; ++x) {
      out[y * NX + x] = static_cast<OutT>(compute(in1[x], in2[y * NX + x]));
    }
  }
}
template <class InT, class OutT, int NX, int NY, int BlockSize, class OpFunc>
AXISFOLD_DEVICE void CycleBinary(OutT* out, const InT* in1, const InT* in2, OpFunc compute) {
  CycleBinary<InT, OutT, NX, NY, OpFunc>(out, in1, in2, compute);
}

/// out[i] = compute() for NX * NY registers.
template <class InT, class OutT, int NX, int NY, class OpFunc>
AXISFOLD_DEVICE void ElementwiseConstant(OutT* out, OpFunc compute) {
#pragma unroll
  for (int i = 0; i < NX * NY; ++i) out[i] = static_cast<OutT>(compute());
}
template <class InT, class OutT, int NX, int NY, int BlockSize, class OpFunc>
AXISFOLD_DEVICE void ElementwiseConstant(OutT* out, OpFunc compute) {
  ElementwiseConstant<InT, OutT, NX, NY, OpFunc>(out, compute);
}

}  // namespace kps
}  // namespace axisfold
