// SPDX-License-Identifier: Apache-2.0
// A tuple for reduction states, trivially copyable when its components are, so it can be shuffled
// and kept in shared memory.
#pragma once

#include <axisfold/type_traits.cuh>

namespace axisfold {

template <int... Indices>
struct index_list {};

namespace detail {

template <int Count, int... Indices>
struct make_index_list : make_index_list<Count - 1, Count - 1, Indices...> {};
template <int... Indices>
struct make_index_list<0, Indices...> {
  using type = index_list<Indices...>;
};

// The index makes two components of one type distinct base classes.
template <int Index, class T>
struct tuple_leaf {
  T value;
};

template <class Indices, class... Ts>
struct tuple_leaves;
template <int... Indices, class... Ts>
struct tuple_leaves<index_list<Indices...>, Ts...> : tuple_leaf<Indices, Ts>... {
  tuple_leaves() = default;
  AXISFOLD_FN constexpr explicit tuple_leaves(const Ts&... values)
      : tuple_leaf<Indices, Ts>{values}... {}
};

}  // namespace detail

/// The integers 0 … Count-1 as a type, for pack expansion.
template <int Count>
using make_index_list_t = typename detail::make_index_list<Count>::type;

/// A fixed list of values of different types. Default construction leaves the values
/// uninitialised, as for a plain struct: `__shared__` allows nothing else.
template <class... Ts>
struct tuple : detail::tuple_leaves<make_index_list_t<sizeof...(Ts)>, Ts...> {
  static_assert(sizeof...(Ts) > 0, "axisfold::tuple needs at least one component.");
  using base = detail::tuple_leaves<make_index_list_t<sizeof...(Ts)>, Ts...>;
  tuple() = default;
  AXISFOLD_FN constexpr tuple(const Ts&... values) : base(values...) {}
};

template <class... Ts>
tuple(Ts...) -> tuple<Ts...>;

/// Component `Index` of a tuple.
template <int Index, class T>
AXISFOLD_FN constexpr T& get(detail::tuple_leaf<Index, T>& leaf) {
  return leaf.value;
}
template <int Index, class T>
AXISFOLD_FN constexpr const T& get(const detail::tuple_leaf<Index, T>& leaf) {
  return leaf.value;
}

/// A tuple of copies of the values.
template <class... Ts>
AXISFOLD_FN constexpr tuple<Ts...> make_tuple(const Ts&... values) {
  return tuple<Ts...>(values...);
}

}  // namespace axisfold
