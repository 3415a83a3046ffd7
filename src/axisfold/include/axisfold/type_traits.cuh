// SPDX-License-Identifier: Apache-2.0
// The few type traits that the library needs. NVRTC brings no <type_traits>; users who have the
// standard one may mix both, as these live in namespace axisfold.
#pragma once

#include <axisfold/integers.cuh>

namespace axisfold {

template <bool Value>
struct bool_constant {
  static constexpr bool value = Value;
};
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;

template <class T>
struct type_identity {
  using type = T;
};
/// A parameter type that takes no part in template argument deduction.
template <class T>
using type_identity_t = typename type_identity<T>::type;

template <class A, class B>
struct is_same : false_type {};
template <class T>
struct is_same<T, T> : true_type {};
template <class A, class B>
inline constexpr bool is_same_v = is_same<A, B>::value;

template <bool Condition, class Then, class Else>
struct conditional {
  using type = Then;
};
template <class Then, class Else>
struct conditional<false, Then, Else> {
  using type = Else;
};
template <bool Condition, class Then, class Else>
using conditional_t = typename conditional<Condition, Then, Else>::type;

template <bool Condition, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
  using type = T;
};
template <bool Condition, class T = void>
using enable_if_t = typename enable_if<Condition, T>::type;

template <class...>
using void_t = void;

template <class T>
struct remove_cv {
  using type = T;
};
template <class T>
struct remove_cv<const T> {
  using type = T;
};
template <class T>
struct remove_cv<volatile T> {
  using type = T;
};
template <class T>
struct remove_cv<const volatile T> {
  using type = T;
};
template <class T>
using remove_cv_t = typename remove_cv<T>::type;

/// True for the floating types of the language. Half types add themselves (float16.cuh,
/// nvcc_half.cuh).
template <class T>
struct is_floating_point : bool_constant<is_same_v<T, float> || is_same_v<T, double>> {};
template <class T>
inline constexpr bool is_floating_point_v = is_floating_point<remove_cv_t<T>>::value;

/// True for bool, char and the signed and unsigned integers.
template <class T>
struct is_integral : false_type {};
// clang-format off
template <> struct is_integral<bool> : true_type {};
template <> struct is_integral<char> : true_type {};
template <> struct is_integral<signed char> : true_type {};
template <> struct is_integral<unsigned char> : true_type {};
template <> struct is_integral<short> : true_type {};
template <> struct is_integral<unsigned short> : true_type {};
template <> struct is_integral<int> : true_type {};
template <> struct is_integral<unsigned int> : true_type {};
template <> struct is_integral<long> : true_type {};
template <> struct is_integral<unsigned long> : true_type {};
template <> struct is_integral<long long> : true_type {};
template <> struct is_integral<unsigned long long> : true_type {};
// clang-format on
template <class T>
inline constexpr bool is_integral_v = is_integral<remove_cv_t<T>>::value;

/// Shuffles and shared memory move bytes; only such types survive that.
template <class T>
inline constexpr bool is_trivially_copyable_v = __is_trivially_copyable(T);

/// A `false` that depends on T, for static_assert in a template that must not be used.
template <class T>
inline constexpr bool always_false_v = false;

/// Reads the member constant `is_commutative` of an operator. An operator without one is taken at
/// the caller's word: the default order policy then reorders its operands.
template <class Op, class = void>
struct declares_noncommutative : false_type {};
template <class Op>
struct declares_noncommutative<Op, void_t<decltype(Op::is_commutative)>>
    : bool_constant<!Op::is_commutative> {};
template <class Op>
inline constexpr bool declares_noncommutative_v = declares_noncommutative<Op>::value;

}  // namespace axisfold
