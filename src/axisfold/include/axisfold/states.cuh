// SPDX-License-Identifier: Apache-2.0
// Reduction states of several fields: value with index, moments, log-sum-exp.
#pragma once

#include <axisfold/operators.cuh>

namespace axisfold {

/// A value and where it stood.
template <class T, class Index = index_t>
struct indexed {
  T value;
  Index index;
};

namespace detail {

// `Wins(a, b)`: a is strictly better than b. Equal values, and equal NaNs, leave the decision to
// the index, so the first one wins in any order of combination.
template <class T, class Index, bool Greatest>
struct arg_extreme {
  static constexpr bool is_commutative = true;
  AXISFOLD_FN indexed<T, Index> operator()(const indexed<T, Index>& a,
                                           const indexed<T, Index>& b) const {
    const bool a_nan = is_nan(a.value);
    const bool b_nan = is_nan(b.value);
    if (a_nan != b_nan) return a_nan ? a : b;
    if (!a_nan) {
      // Plain comparison: -0 and +0 tie here, as in NumPy's argmax.
      if (a.value > b.value) return Greatest ? a : b;
      if (a.value < b.value) return Greatest ? b : a;
    }
    return b.index < a.index ? b : a;
  }
  /// Loses every tie, hence an identity even among infinities.
  static AXISFOLD_FN constexpr indexed<T, Index> identity() {
    return {Greatest ? limits<T>::bottom() : limits<T>::top(), limits<Index>::max()};
  }
};

}  // namespace detail

/// Greatest value with its index: the first NaN if there is one, else the first greatest value.
template <class T, class Index = index_t>
struct arg_max : detail::arg_extreme<T, Index, true> {};

/// Smallest value with its index: the first NaN if there is one, else the first smallest value.
template <class T, class Index = index_t>
struct arg_min : detail::arg_extreme<T, Index, false> {};

/// Count, mean and sum of squared deviations of a set of numbers.
template <class T>
struct moments {
  static_assert(is_floating_point_v<T>, "moments needs a floating type for mean and m2.");
  T count;
  T mean;
  T m2;
  /// The moments of a single value.
  static AXISFOLD_FN moments of(T value) { return {static_cast<T>(1), value, static_cast<T>(0)}; }
};

/// Union of two sets. Source: Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm
/// for computing sample variances", 1979.
template <class T>
struct merge_moments {
  static constexpr bool is_commutative = true;
  AXISFOLD_FN moments<T> operator()(const moments<T>& a, const moments<T>& b) const {
    // The formula divides by the joint count; an empty side must also not spread its mean of zero.
    if (a.count == static_cast<T>(0)) return b;
    if (b.count == static_cast<T>(0)) return a;
    const T count = a.count + b.count;
    const T delta = b.mean - a.mean;
    const T weight = b.count / count;
    return {count, a.mean + delta * weight, a.m2 + b.m2 + delta * delta * a.count * weight};
  }
  static AXISFOLD_FN constexpr moments<T> identity() {
    return {static_cast<T>(0), static_cast<T>(0), static_cast<T>(0)};
  }
};

/// The sum of exponentials, scaled: it stands for exp(maximum) * sum.
template <class T>
struct scaled_exp_sum {
  static_assert(is_same_v<T, float> || is_same_v<T, double>,
                "scaled_exp_sum works in float or double; widen 16-bit values first.");
  T maximum;
  T sum;
  static AXISFOLD_FN scaled_exp_sum of(T value) { return {value, static_cast<T>(1)}; }
};

/// One-pass softmax denominator.
/// Source: Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018.
template <class T>
struct merge_exp_sum {
  static constexpr bool is_commutative = true;
  AXISFOLD_FN scaled_exp_sum<T> operator()(const scaled_exp_sum<T>& a,
                                           const scaled_exp_sum<T>& b) const {
    const T top = axisfold::maximum<T>{}(a.maximum, b.maximum);
    return {top, a.sum * factor(a.maximum, top) + b.sum * factor(b.maximum, top)};
  }
  static AXISFOLD_FN constexpr scaled_exp_sum<T> identity() {
    return {limits<T>::bottom(), static_cast<T>(0)};
  }

 private:
  static AXISFOLD_FN T factor(T from, T to) {
    // Equal infinities would make inf - inf, a NaN out of data that has none.
    if (from == to) return static_cast<T>(1);
    if constexpr (is_same_v<T, float>) {
      return expf(from - to);
    } else {
      return exp(from - to);
    }
  }
};

}  // namespace axisfold
