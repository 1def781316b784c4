// kiln/detail/array_mistakes.h -- arrays without an element type and the exchange of views: refused in one sentence.
#pragma once

#include <kiln/array.h>

namespace kiln {

/// kl::Array a({2, 3}): without an element type there is no array.
template <>
class Array<void> {
 public:
  template <class X>
  explicit Array(const X&) {
    static_assert(detail::no_dtype<X>::value, "kiln: the element type is written in front: kl::Array<float> a({2, 3})");
  }
  template <class X>
  explicit Array(std::initializer_list<X>) {
    static_assert(detail::no_dtype<X>::value, "kiln: the element type is written in front: kl::Array<float> a({2, 3})");
  }
};
template <class I>
  requires(std::is_arithmetic_v<I>)
Array(std::initializer_list<I>) -> Array<void>;
template <class I>
  requires(std::is_arithmetic_v<I> || std::is_same_v<I, Shape>)
Array(I) -> Array<void>;

/// Views are not exchanged: to assign to one writes elements. Constrained, so that this one is taken where `std::swap`
/// below could be, too; of views alone, for the search for names brings it to containers of arrays as well.
template <class T>
  requires(sizeof(View<T>) > 0)
void swap(View<T>&, View<T>&) {
  static_assert(detail::no_dtype<T>::value,
                "kiln: views are not exchanged, for assigning to one writes elements; to exchange those: kl::Array "
                "kept = kl::eval(v); v = w; w = kept");
}

}  // namespace kiln

// NOLINTBEGIN(cert-dcl58-cpp,bugprone-std-namespace-modification)
namespace std {
template <class T>
void swap(kiln::View<T>&, kiln::View<T>&) {
  static_assert(kiln::detail::no_dtype<T>::value,
                "kiln: views are not exchanged, for assigning to one writes elements; to exchange those: kl::Array "
                "kept = kl::eval(v); v = w; w = kept");
}
}  // namespace std
// NOLINTEND(cert-dcl58-cpp,bugprone-std-namespace-modification)
