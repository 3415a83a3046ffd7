// SPDX-License-Identifier: Apache-2.0
// The functors of the kernel primitives. A reducer has `initial()`, a true identity, and combines;
// a transformer maps one value and can be built from a count or from nothing.
#pragma once

#include <axisfold/operators.cuh>

namespace axisfold {
namespace kps {
namespace details {

/// The type in which T is computed: float for 16-bit floats, T itself otherwise.
template <class T>
struct MPTypeTrait {
  using Type = accumulator_t<T>;
};

// The quotient of an integer is no integer: 1 / n would truncate to zero.
template <class T>
using quotient_t = conditional_t<is_integral_v<T>, double, T>;

}  // namespace details

// --- transformers --------------------------------------------------------------------------------

/// The value itself, cast to Ty.
template <class Tx, class Ty = Tx>
struct IdentityFunctor {
  IdentityFunctor() = default;
  AXISFOLD_FN explicit IdentityFunctor(int) {}
  AXISFOLD_FN Ty operator()(const Tx& x) const { return static_cast<Ty>(x); }
};

/// Division by a count, in the type that Tx is computed in; in double when Tx is an integer, and
/// then the default result type is double as well. The divisor may exceed 2^31.
template <class Tx, class Ty = details::quotient_t<Tx>>
struct DivideFunctor {
 private:
  using compute = conditional_t<is_integral_v<Tx>, double, accumulator_t<Tx>>;

 public:
  AXISFOLD_FN DivideFunctor() : inverse_(static_cast<compute>(1)) {}
  AXISFOLD_FN explicit DivideFunctor(index_t n)
      : inverse_(static_cast<compute>(1.0 / static_cast<double>(n))) {}
  AXISFOLD_FN Ty operator()(const Tx& x) const {
    return static_cast<Ty>(static_cast<compute>(x) * inverse_);
  }
  AXISFOLD_FN Ty operator()(const Tx* x) const { return (*this)(x[0]); }

 private:
  compute inverse_;
};

/// Additive inverse. The name is PaddlePaddle's.
template <class Tx, class Ty = Tx>
struct InverseFunctor {
  InverseFunctor() = default;
  AXISFOLD_FN explicit InverseFunctor(int) {}
  AXISFOLD_FN Ty operator()(const Tx& x) const { return static_cast<Ty>(-x); }
};

/// Exponential, in float for 16-bit floats and in double for integers.
template <class Tx, class Ty = details::quotient_t<Tx>>
struct ExpFunctor {
  ExpFunctor() = default;
  AXISFOLD_FN explicit ExpFunctor(int) {}
  AXISFOLD_FN Ty operator()(const Tx& x) const {
    if constexpr (is_same_v<accumulator_t<Tx>, float>) {
      return static_cast<Ty>(expf(static_cast<float>(x)));
    } else {
      return static_cast<Ty>(exp(static_cast<double>(x)));
    }
  }
};

/// Square, in the wider of result type and computing type: a square overflows early.
template <class Tx, class Ty = Tx>
struct SquareFunctor {
  SquareFunctor() = default;
  AXISFOLD_FN explicit SquareFunctor(int) {}
  AXISFOLD_FN Ty operator()(const Tx& x) const {
    using wide = accumulator_t<Tx>;
    if constexpr (sizeof(Ty) > sizeof(wide)) {
      return static_cast<Ty>(x) * static_cast<Ty>(x);
    } else {
      return static_cast<Ty>(static_cast<wide>(x) * static_cast<wide>(x));
    }
  }
};

// --- reducers ------------------------------------------------------------------------------------

// The older texts write AddFunctor<Tx, Ty>, today's headers AddFunctor<T>. The combination happens
// in Ty, as there; name the accumulator type to keep its precision.

/// Sum, in Ty.
template <class Tx, class Ty = Tx>
struct AddFunctor {
  static constexpr bool is_commutative = true;
  AXISFOLD_FN Ty initial() const { return plus<Ty>::identity(); }
  AXISFOLD_FN Ty operator()(const Ty& a, const Ty& b) const { return plus<Ty>{}(a, b); }
};

/// Product, in Ty.
template <class Tx, class Ty = Tx>
struct MulFunctor {
  static constexpr bool is_commutative = true;
  AXISFOLD_FN Ty initial() const { return multiplies<Ty>::identity(); }
  AXISFOLD_FN Ty operator()(const Ty& a, const Ty& b) const { return multiplies<Ty>{}(a, b); }
};

/// NaN wins. Starts from plus infinity: the largest finite number would survive a row of
/// infinities.
template <class Tx, class Ty = Tx>
struct MinFunctor {
  static constexpr bool is_commutative = true;
  AXISFOLD_FN Ty initial() const { return minimum<Ty>::identity(); }
  AXISFOLD_FN Ty operator()(const Ty& a, const Ty& b) const { return minimum<Ty>{}(a, b); }
};

/// NaN wins. Starts from minus infinity; for bool from false.
template <class Tx, class Ty = Tx>
struct MaxFunctor {
  static constexpr bool is_commutative = true;
  AXISFOLD_FN Ty initial() const { return maximum<Ty>::identity(); }
  AXISFOLD_FN Ty operator()(const Ty& a, const Ty& b) const { return maximum<Ty>{}(a, b); }
};

/// True when an operand is not zero.
template <class Tx, class Ty = Tx>
struct LogicalOrFunctor {
  static constexpr bool is_commutative = true;
  AXISFOLD_FN Ty initial() const { return logical_or<Ty>::identity(); }
  AXISFOLD_FN Ty operator()(const Ty& a, const Ty& b) const { return logical_or<Ty>{}(a, b); }
};

/// True when no operand is zero.
template <class Tx, class Ty = Tx>
struct LogicalAndFunctor {
  static constexpr bool is_commutative = true;
  AXISFOLD_FN Ty initial() const { return logical_and<Ty>::identity(); }
  AXISFOLD_FN Ty operator()(const Ty& a, const Ty& b) const { return logical_and<Ty>{}(a, b); }
};

// --- elementwise binary functors -----------------------------------------------------------------

/// Difference. Neither associative nor commutative: for ElementwiseBinary, not for a parallel
/// Reduce.
template <class Tx, class Ty = Tx>
struct SubFunctor {
  static constexpr bool is_commutative = false;
  AXISFOLD_FN Ty initial() const { return static_cast<Ty>(0); }
  AXISFOLD_FN Ty operator()(const Ty& a, const Ty& b) const { return static_cast<Ty>(a - b); }
};

/// Quotient; of integers, rounded towards zero as in C++.
template <class Tx, class Ty = Tx>
struct DivFunctor {
  static constexpr bool is_commutative = false;
  AXISFOLD_FN Ty initial() const { return static_cast<Ty>(1); }
  AXISFOLD_FN Ty operator()(const Ty& a, const Ty& b) const { return static_cast<Ty>(a / b); }
};

/// Quotient rounded down, as the name says and as NumPy and Python do; PaddlePaddle's rounds to
/// zero.
template <class Tx, class Ty = Tx>
struct FloorDivFunctor {
  static constexpr bool is_commutative = false;
  AXISFOLD_FN Ty initial() const { return static_cast<Ty>(1); }
  AXISFOLD_FN Ty operator()(const Ty& a, const Ty& b) const {
    if constexpr (is_floating_point_v<Ty>) {
      // From the remainder, which is exact: floor(a / b) is wrong where a / b rounds up to an
      // integer.
      using wide = conditional_t<is_same_v<accumulator_t<Ty>, float>, float, double>;
      const wide x = static_cast<wide>(a);
      const wide y = static_cast<wide>(b);
      if (y == 0) return static_cast<Ty>(x / y);
      wide rest = fmod(x, y);
      if (rest != 0 && (rest < 0) != (y < 0)) rest += y;
      const wide exact = (x - rest) / y;
      const wide down = floor(exact);
      return static_cast<Ty>(exact - down > static_cast<wide>(0.5) ? down + 1 : down);
    } else {
      const Ty quotient = static_cast<Ty>(a / b);
      const bool is_exact = static_cast<Ty>(quotient * b) == a;
      return !is_exact && (a < 0) != (b < 0) ? static_cast<Ty>(quotient - 1) : quotient;
    }
  }
};

}  // namespace kps
}  // namespace axisfold
