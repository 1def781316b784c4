// kiln/create.h -- making arrays: filled, counted, copied from the host, borrowed.
#pragma once

#include <kiln/eval.h>

namespace kiln {

/// Every element `value`.
template <class T>
Array<T> full(const Shape& shape, T value, detail::Where w = detail::Where::current()) {
  Array<T> a(shape, w);
  a.update(detail::value_of<dtype_of<T>, T>(value, false), w);
  return a;
}
/// kl::full<T>(shape, value) of another type, which becomes a T as in an assignment: TypeError for integers that T
/// cannot hold, floats are truncated to integers.
template <class T, class N>
  requires(detail::number<N> && !std::is_same_v<N, T>)
Array<T> full(const Shape& shape, N value, detail::Where w = detail::Where::current()) {
  if constexpr (std::is_integral_v<T> && std::is_integral_v<N> && !std::is_same_v<T, bool>) {
    return full<T>(shape, detail::held_by<T>(value, "kl::full", w), w);
  } else {
    Array<T> a(shape, w);
    a.update(detail::value_of<dtype_of<T>, N>(value, false), w);
    return a;
  }
}
template <class T>
Array<T> zeros(const Shape& shape, detail::Where w = detail::Where::current()) {
  return full<T>(shape, T(0), w);
}
template <class T>
Array<T> ones(const Shape& shape, detail::Where w = detail::Where::current()) {
  return full<T>(shape, T(1), w);
}

/// Without an element type there is no array.
template <class T = void>
  requires(std::is_void_v<T>)
Array<float> zeros(const Shape&, ...) {
  static_assert(!std::is_void_v<T>, "kiln: the element type is written in front: kl::zeros<float>({rows, columns})");
  return {};
}
template <class T = void>
  requires(std::is_void_v<T>)
Array<float> ones(const Shape&, ...) {
  static_assert(!std::is_void_v<T>, "kiln: the element type is written in front: kl::ones<float>({rows, columns})");
  return {};
}

/// Nor is a list of numbers a shape.
template <class I, class J, class K, class... N>
  requires(detail::several_integers<I, J> && std::is_arithmetic_v<K>)
Array<I> full(I, J, K, N...) {
  static_assert(sizeof...(N) > 99, "kiln: a shape stands in braces: kl::full({3, 4}, 1.0f)");
  return {};
}
template <class T, class... N>
  requires(detail::several_integers<N...>)
Array<T> zeros(N...) {
  static_assert(!sizeof...(N), "kiln: a shape stands in braces: kl::zeros<float>({3, 4})");
  return {};
}
template <class T, class... N>
  requires(detail::several_integers<N...>)
Array<T> ones(N...) {
  static_assert(!sizeof...(N), "kiln: a shape stands in braces: kl::ones<float>({3, 4})");
  return {};
}

/// Inside kl::jit.
template <class T, class S>
  requires(std::is_same_v<S, TracedShape>)
Sym<T> zeros(const S&) {
  static_assert(detail::no_dtype<S>::value,
                "kiln: nothing is made in the shape of a traced value; a number beside it broadcasts: 0.0f");
  __builtin_unreachable();
}
template <class T, class S>
  requires(std::is_same_v<S, TracedShape>)
Sym<T> ones(const S&) {
  static_assert(detail::no_dtype<S>::value,
                "kiln: nothing is made in the shape of a traced value; a number beside it broadcasts: 1.0f");
  __builtin_unreachable();
}

namespace detail {

/// C-order numbers 0, 1, 2, ... of the elements of `shape`.
inline Expression<Iota> counter(const Shape& shape, Where w) {
  return leaf<Iota>(slot_of(counter_operand(shape.data(), shape.rank(), w)));
}

template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;

/// A number given to kl::arange<T>.
template <class T>
struct Bounding {
  T value;
  Bounding(T v) : value(v) {}
  template <other_number<T> N>
  Bounding(N v, const char* f = __builtin_FILE(), unsigned l = __builtin_LINE())
      : value(held_by<T>(v, "kl::arange", {f, l})) {}
};

}  // namespace detail

/// start, start + step, ... up to but without stop. TypeError for numbers that T cannot hold.
template <class T>
Array<T> arange(detail::Bounding<T> from, detail::Bounding<T> to, detail::Bounding<T> by = T(1),
                detail::Where w = detail::Where::current()) {
  using Wide = detail::Wide<T>;
  const T start = from.value, stop = to.value, step = by.value;
  const std::int64_t n =
      detail::arange_count(static_cast<Wide>(start), static_cast<Wide>(stop), static_cast<Wide>(step), w);
  const auto i = detail::counter({n}, w);
  if constexpr (std::is_integral_v<T>) {
    return Array<T>(cast<T>(i, w) * scalar<T>(step) + scalar<T>(start), w);
  } else {
    return Array<T>(cast<double>(i, w) * static_cast<double>(step) + static_cast<double>(start), w);
  }
}
template <class T>
Array<T> arange(detail::Bounding<T> stop, detail::Where w = detail::Where::current()) {
  return arange<T>(T(0), stop, T(1), w);
}

template <class T = void, class... N>
  requires(std::is_void_v<T>)
Array<float> arange(const N&...) {
  static_assert(!std::is_void_v<T>, "kiln: the element type is written in front: kl::arange<int>(0, n)");
  return {};
}

/// n numbers from start to stop, both included.
template <class T>
Array<T> linspace(T start, T stop, std::int64_t n, detail::Where w = detail::Where::current()) {
  static_assert(is_floating(dtype_of<T>), "kiln: linspace gives floating elements; write linspace(0.f, 1.f, n)");
  const double first = static_cast<double>(start), last = static_cast<double>(stop);
  const double step = n > 1 ? (last - first) / static_cast<double>(n - 1) : 0.0;
  const auto i = detail::counter({n}, w);
  const bool exact_end = n > 1;
  return Array<T>(where(i == (exact_end ? n - 1 : n), last, cast<double>(i, w) * step + first, w), w);
}

/// Ones on the main diagonal of an n by n array.
template <class T>
Array<T> eye(std::int64_t n, detail::Where w = detail::Where::current()) {
  return Array<T>(cast<T>(detail::counter({n, n}, w) % (n + 1) == 0, w), w);
}

namespace detail {

template <class T>
Array<T> copy_in(const T* values, std::int64_t count, const Shape& shape, Where w) {
  check_count(count, shape.data(), shape.rank(), w);
  return Array<T>(detail::from_host(dtype_of<T>, values, shape.data(), shape.rank(), w));
}

template <class C>
concept contiguous_range = std::is_class_v<C> && requires(const C& c) {
  c.data();
  c.size();
} && role_of<C> == Role::none;

}  // namespace detail

/// Copies host memory in C order to the current device; the memory may be freed at once. Takes std::vector, std::span,
/// std::array and their like, arrays of the language, and braces.
template <detail::contiguous_range C>
auto from_host(const C& values, const Shape& shape, detail::Where w = detail::Where::current()) {
  using T = std::remove_cvref_t<decltype(*values.data())>;
  return detail::copy_in<T>(values.data(), static_cast<std::int64_t>(values.size()), shape, w);
}
template <detail::contiguous_range C>
auto from_host(const C& values, detail::Where w = detail::Where::current()) {
  return from_host(values, {values.size()}, w);
}
template <class T>
Array<T> from_host(std::initializer_list<T> values, const Shape& shape, detail::Where w = detail::Where::current()) {
  return detail::copy_in<T>(values.begin(), static_cast<std::int64_t>(values.size()), shape, w);
}
template <class T>
Array<T> from_host(std::initializer_list<T> values, detail::Where w = detail::Where::current()) {
  return from_host(values, {values.size()}, w);
}
/// Rows in braces: kl::from_host({{1.f, 2.f}, {3.f, 4.f}}). ShapeError unless all are as long as the first one.
template <class T>
Array<T> from_host(std::initializer_list<std::initializer_list<T>> rows, detail::Where w = detail::Where::current()) {
  const std::int64_t columns = rows.size() == 0 ? 0 : static_cast<std::int64_t>(rows.begin()->size());
  std::vector<std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>> values;
  for (const std::initializer_list<T>& row : rows) {
    detail::check_count(static_cast<std::int64_t>(row.size()), &columns, 1, w);
    values.insert(values.end(), row.begin(), row.end());
  }
  const Shape shape{rows.size(), columns};
  return Array<T>(detail::from_host(dtype_of<T>, values.data(), shape.data(), shape.rank(), w));
}
template <class T, std::size_t N>
  requires(!std::is_array_v<T>)
Array<T> from_host(const T (&values)[N], detail::Where w = detail::Where::current()) {
  return detail::copy_in<T>(values, static_cast<std::int64_t>(N), Shape{N}, w);
}
template <class T>
Array<T> from_host(const T* values, const Shape& shape, detail::Where w = detail::Where::current()) {
  return Array<T>(detail::from_host(dtype_of<T>, values, shape.data(), shape.rank(), w));
}
inline Array<bool> from_host(const std::vector<bool>& values, const Shape& shape,
                             detail::Where w = detail::Where::current()) {
  const std::vector<unsigned char> bytes(values.begin(), values.end());
  detail::check_count(static_cast<std::int64_t>(bytes.size()), shape.data(), shape.rank(), w);
  return Array<bool>(detail::from_host(DType::b1, bytes.data(), shape.data(), shape.rank(), w));
}
inline Array<bool> from_host(const std::vector<bool>& values, detail::Where w = detail::Where::current()) {
  return from_host(values, {values.size()}, w);
}

/// Nor is anything else host memory.
template <class X>
  requires(!detail::contiguous_range<X> && !std::is_array_v<X> && !std::is_pointer_v<X>)
Array<float> from_host(const X&, const Shape& = {}) {
  static_assert(!detail::number<X>, "kiln: kl::from_host copies many values; one fills an array: kl::full({n}, value)");
  static_assert(detail::number<X>,
                "kiln: kl::from_host copies values that lie side by side: std::vector, std::span, std::array, {1, 2}");
  return {};
}

/// Refers to the caller's memory on `device`, which must outlive the view. Strides are in elements and may be 0 or
/// negative.
template <class T>
View<T> view(T* data, const Shape& shape, const Shape& strides, Device device = Device::current(),
             detail::Where w = detail::Where::current()) {
  using U = std::remove_const_t<T>;
  if (strides.rank() != shape.rank()) detail::stride_mismatch(shape.rank(), strides.rank(), w);
  return View<T>(detail::borrow(dtype_of<U>, const_cast<U*>(data), shape.data(), shape.rank(), strides.data(),
                                device.kind_number(), device.index(), w));
}
/// The same in C order.
template <class T>
View<T> view(T* data, const Shape& shape, Device device = Device::current(),
             detail::Where w = detail::Where::current()) {
  using U = std::remove_const_t<T>;
  return View<T>(detail::borrow(dtype_of<U>, const_cast<U*>(data), shape.data(), shape.rank(), nullptr,
                                device.kind_number(), device.index(), w));
}

}  // namespace kiln
