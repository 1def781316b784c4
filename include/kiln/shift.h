// kiln/shift.h -- displaced reads: kl::shift, and what it reads beyond the borders.
#pragma once

#include <kiln/sym.h>

namespace kiln {

/// What kl::shift reads beyond the ends of an axis.
struct Boundary {
  detail::Beyond beyond;
};
template <class C>
struct ConstantBoundary {
  C value;
};

/// The nearest element: a a | a b c d | d d (scipy's nearest, NumPy's edge).
inline constexpr Boundary clamp{detail::Beyond::clamp};
/// The axis repeats: c d | a b c d | a b (numpy.roll).
inline constexpr Boundary wrap{detail::Beyond::wrap};
/// Mirrored at the first and last element, which are not repeated: c b | a b c d | c b (NumPy's and PyTorch's reflect,
/// scipy's mirror, OpenCV's REFLECT_101).
inline constexpr Boundary reflect{detail::Beyond::reflect};
/// Mirrored beside the first and last element, which are repeated: b a | a b c d | d c (NumPy's symmetric, scipy's
/// reflect).
inline constexpr Boundary symmetric{detail::Beyond::symmetric};
/// 0, or false.
inline constexpr ConstantBoundary<Const<bool>> zero{false};
/// The number `value`, a run-time parameter; it takes the array's type.
template <class C>
constexpr ConstantBoundary<C> constant(C value) {
  return {value};
}

namespace detail {

template <class B>
inline constexpr bool is_boundary = false;
template <>
inline constexpr bool is_boundary<Boundary> = true;
template <class C>
inline constexpr bool is_boundary<ConstantBoundary<C>> = true;

/// A constant must not need another type than the array has.
template <DType T, class C>
constexpr void require_fill() {
  static_assert(role_of<C> != Role::none && Operand<C>::type.weak, "kiln: kl::constant takes a number");
  static_assert(kind_of(Operand<C>::type.type) <= kind_of(T),
                "kiln: the kl::constant of a shift takes the array's type, which cannot hold this kind of number; "
                "convert the array with .astype<T>() first");
}

template <class X, class B>
auto shift(const X& x, const Shape& by, const B& boundary, Where w) {
  constexpr OperandType type = Operand<X>::type;
  static_assert(!type.weak, "kiln: kl::shift moves the elements of an array; a number has none");
  const auto count = static_cast<unsigned>(by.rank());
  if constexpr (std::is_same_v<B, Boundary>) {
    if constexpr (role_of<X> == Role::traced) {
      const NodeId node = x.node_as(type.type, w);
      return X(x.recorder(), record_shift(x.recorder(), node, nullptr, boundary.beyond, by.data(), count, w));
    } else {
      const auto e = expression_of(x, false);
      return leaf<Shared<type.type>>(shifted_fragment(e.parts(), nullptr, boundary.beyond, by.data(), count, w));
    }
  } else {
    using C = decltype(boundary.value);
    require_fill<type.type, C>();
    if constexpr (role_of<X> == Role::traced) {
      const NodeId node = x.node_as(type.type, w),
                   fill = kiln::detail::node_as(x.recorder(), boundary.value, type.type, w);
      return X(x.recorder(), record_shift(x.recorder(), node, &fill, Beyond::fill, by.data(), count, w));
    } else {
      const auto e = expression_of(x, false);
      const Slot number = number_slot(boundary.value);
      const Parts fill{code_of<typename Operand<C>::template Structure<type.type>>.items, &number, 1};
      return leaf<Shared<type.type>>(shifted_fragment(e.parts(), &fill, Beyond::fill, by.data(), count, w));
    }
  }
}

}  // namespace detail

/// The elements moved by `by`, one displacement per axis: result[i, j] = x[i - by[0], j - by[1]], as numpy.roll and
/// scipy.ndimage.shift do. What lies beyond the borders is said by `boundary`: kl::clamp, kl::wrap, kl::reflect,
/// kl::symmetric, kl::zero or kl::constant(v). Displacements may exceed the extent. The result has the shape and type
/// of x, an array, view, expression or traced value; several shifts of one array in an expression are one kernel, which
/// reads each element of memory once. Other displacements are other plans, but mostly the same kernel.
/// ShapeError unless there is one displacement per axis. Evaluated where the expression is, in the current stream.
template <class X, class B>
  requires(detail::any_operand<X> && detail::is_boundary<B>)
auto shift(const X& x, const Shape& by, const B& boundary, detail::Where w = detail::Where::current()) {
  return detail::shift(x, by, boundary, w);
}
/// Along the one axis of a vector.
template <class X, class I, class B>
  requires(detail::any_operand<X> && detail::is_boundary<B> && std::is_convertible_v<I, detail::Extent> &&
           !std::is_convertible_v<I, Shape>)
auto shift(const X& x, I by, const B& boundary, detail::Where w = detail::Where::current()) {
  return detail::shift(x, Shape{by}, boundary, w);
}

}  // namespace kiln
