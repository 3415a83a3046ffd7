// SPDX-License-Identifier: Apache-2.0
// One function template for two generations of template argument lists.
#pragma once

#include <axisfold/type_traits.cuh>

namespace axisfold {
namespace kps {
namespace details {

/// Reads the arguments after `NX, NY`.
///
/// Today's list ends `NX, NY, IsBoundary`; the older one `NX, NY, BlockSize, IsBoundary`, in some
/// functions with a `Rank` between. As plain overloads the two collide: in `ReadData<T, T, 1, 2,
/// true>` the `true` also converts to a block size. The primitives therefore take `auto P, auto...
/// R` and this class looks at the *type* of P: bool means today's list, an integer the older one.
///
/// `Integers` is how many integers the older list may hold before its IsBoundary.
template <int Integers, auto P, auto... R>
struct template_list {
  using first = remove_cv_t<decltype(P)>;
  static constexpr bool is_older = !is_same_v<first, bool>;
  static_assert(is_integral_v<first>,
                "The argument after NX, NY is IsBoundary (bool) or, in the older list, BlockSize.");
  static_assert(is_older || sizeof...(R) == 0,
                "In today's list IsBoundary is the last template argument.");
  static_assert(sizeof...(R) <= Integers,
                "Too many template arguments: the older list ends BlockSize, IsBoundary.");

  static AXISFOLD_FN constexpr bool boundary() {
    if constexpr (!is_older) {
      return P;
    } else if constexpr (sizeof...(R) == 0) {
      return false;
    } else {
      return last(R...);
    }
  }

 private:
  template <class T>
  static AXISFOLD_FN constexpr bool last(T value) {
    // A trailing integer is a rank whose IsBoundary was left out.
    return is_same_v<T, bool> && static_cast<bool>(value);
  }
  template <class T, class... More>
  static AXISFOLD_FN constexpr bool last(T, More... more) {
    static_assert(!is_same_v<T, bool>, "IsBoundary is the last template argument.");
    return last(more...);
  }
};

template <int NX, int NY>
AXISFOLD_FN constexpr void check_shape() {
  static_assert(NX >= 1 && NY >= 1,
                "NX and NY count a thread's columns and rows: at least 1 each.");
}

template <int NX, int NY>
AXISFOLD_FN constexpr void check_one_row() {
  check_shape<NX, NY>();
  static_assert(NY == 1, "The contiguous form handles one row for each thread: NY must be 1.");
}

}  // namespace details
}  // namespace kps
}  // namespace axisfold
