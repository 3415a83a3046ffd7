// SPDX-License-Identifier: Apache-2.0
// Binary operators with their identities. `identity()` is a true identity: combining it with x
// gives x for every x, infinities included.
#pragma once

#include <axisfold/nvcc_half.cuh>
#include <axisfold/tuple.cuh>

namespace axisfold {

/// True for NaN; false for every integer.
template <class T>
AXISFOLD_FN bool is_nan(const T& value) {
  if constexpr (is_floating_point_v<T>) {
    const accumulator_t<T> wide = static_cast<accumulator_t<T>>(value);
    return wide != wide;
  } else {
    return false;
  }
}

namespace detail {

template <class T>
AXISFOLD_FN bool sign_bit(const T& value) {
  if constexpr (sizeof(T) == 2) {
    return (__builtin_bit_cast(uint16, value) >> 15) != 0;
  } else if constexpr (sizeof(T) == 4) {
    return (__builtin_bit_cast(uint32, value) >> 31) != 0;
  } else {
    return (__builtin_bit_cast(uint64, value) >> 63) != 0;
  }
}

// Total on numbers, with -0 before +0, so that the result of a reduction cannot depend on its
// order.
template <class T>
AXISFOLD_FN bool ordered_before(const T& a, const T& b) {
  if constexpr (is_floating_point_v<T>) {
    using wide = accumulator_t<T>;
    const wide x = static_cast<wide>(a);
    const wide y = static_cast<wide>(b);
    return x < y || (x == y && sign_bit(a) && !sign_bit(b));
  } else {
    return a < b;
  }
}

}  // namespace detail

/// Sum.
template <class T>
struct plus {
  static constexpr bool is_commutative = true;
  AXISFOLD_FN T operator()(const T& a, const T& b) const { return static_cast<T>(a + b); }
  static AXISFOLD_FN constexpr T identity() { return static_cast<T>(0); }
};

/// Product.
template <class T>
struct multiplies {
  static constexpr bool is_commutative = true;
  AXISFOLD_FN T operator()(const T& a, const T& b) const { return static_cast<T>(a * b); }
  static AXISFOLD_FN constexpr T identity() { return static_cast<T>(1); }
};

/// Minimum in which NaN wins and -0 is below +0, in every order of combination.
template <class T>
struct minimum {
  static constexpr bool is_commutative = true;
  AXISFOLD_FN T operator()(const T& a, const T& b) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (is_same_v<T, float>) return ptx::min_nan(a, b);
#endif
    if (is_nan(a)) return a;
    return is_nan(b) || detail::ordered_before(b, a) ? b : a;
  }
  static AXISFOLD_FN constexpr T identity() { return limits<T>::top(); }
};

/// Maximum in which NaN wins and +0 is above -0, in every order of combination.
template <class T>
struct maximum {
  static constexpr bool is_commutative = true;
  AXISFOLD_FN T operator()(const T& a, const T& b) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (is_same_v<T, float>) return ptx::max_nan(a, b);
#endif
    if (is_nan(a)) return a;
    return is_nan(b) || detail::ordered_before(a, b) ? b : a;
  }
  static AXISFOLD_FN constexpr T identity() { return limits<T>::bottom(); }
};

/// Conjunction. Operands are tested against zero, so a NaN counts as true, as in NumPy.
template <class T>
struct logical_and {
  static constexpr bool is_commutative = true;
  AXISFOLD_FN T operator()(const T& a, const T& b) const {
    return static_cast<T>(static_cast<bool>(a) && static_cast<bool>(b));
  }
  static AXISFOLD_FN constexpr T identity() { return static_cast<T>(true); }
};

/// Disjunction, with operands tested as in logical_and.
template <class T>
struct logical_or {
  static constexpr bool is_commutative = true;
  AXISFOLD_FN T operator()(const T& a, const T& b) const {
    return static_cast<T>(static_cast<bool>(a) || static_cast<bool>(b));
  }
  static AXISFOLD_FN constexpr T identity() { return static_cast<T>(false); }
};

/// Bitwise conjunction; the identity has all bits set.
template <class T>
struct bitwise_and {
  static_assert(is_integral_v<T>, "bitwise_and combines integers only.");
  static constexpr bool is_commutative = true;
  AXISFOLD_FN T operator()(const T& a, const T& b) const { return static_cast<T>(a & b); }
  static AXISFOLD_FN constexpr T identity() { return static_cast<T>(~static_cast<T>(0)); }
};

/// Bitwise disjunction.
template <class T>
struct bitwise_or {
  static_assert(is_integral_v<T>, "bitwise_or combines integers only.");
  static constexpr bool is_commutative = true;
  AXISFOLD_FN T operator()(const T& a, const T& b) const { return static_cast<T>(a | b); }
  static AXISFOLD_FN constexpr T identity() { return static_cast<T>(0); }
};

/// Bitwise parity.
template <class T>
struct bitwise_xor {
  static_assert(is_integral_v<T>, "bitwise_xor combines integers only.");
  static constexpr bool is_commutative = true;
  AXISFOLD_FN T operator()(const T& a, const T& b) const { return static_cast<T>(a ^ b); }
  static AXISFOLD_FN constexpr T identity() { return static_cast<T>(0); }
};

/// Several reductions at once: operator i combines component i of two tuples. Every component is
/// computed from the old operands, before any is stored.
template <class... Ops>
struct componentwise {
  static constexpr bool is_commutative = !(declares_noncommutative_v<Ops> || ...);
  template <class... Ts>
  AXISFOLD_FN tuple<Ts...> operator()(const tuple<Ts...>& a, const tuple<Ts...>& b) const {
    static_assert(sizeof...(Ts) == sizeof...(Ops),
                  "componentwise needs one operator for each component of the tuple.");
    return combine(a, b, make_index_list_t<sizeof...(Ts)>{});
  }
  static AXISFOLD_FN auto identity() { return make_tuple(Ops::identity()...); }

 private:
  template <class... Ts, int... I>
  static AXISFOLD_FN tuple<Ts...> combine(const tuple<Ts...>& a, const tuple<Ts...>& b,
                                          index_list<I...>) {
    return tuple<Ts...>(Ops{}(get<I>(a), get<I>(b))...);
  }
};

}  // namespace axisfold
