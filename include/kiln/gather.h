// kiln/gather.h -- reading by index: kl::take, kl::take_along_axis, kl::one_hot.
//
// Takes are expressions: the indices, what is made of the elements, and reductions over them share one kernel, so that
// kl::sum(kl::take(table, ids, 0), 1) reads each row of the table once and stores sums only.
//
//   source    an array or view of any dtype and strides is read where it lies. Another expression, and a view that has
//             to be copied to be numbered without an axis, is computed first (explain() says so)
//   indices   integers of any type and rank, or an expression of such; negative ones count from the end
//   outside   an index that is not in [-n, n) never reads other memory. There is no element: the result is NaN (in
//             both parts of complex numbers), 0 for integers, false for bool; kl::OutOfRange chooses other meanings.
//             A kernel cannot throw, and both devices agree
//   overlap   x = kl::take(x, i) reads all before it writes, as every assignment does
//   errors    ShapeError at evaluation (in kl::jit: at the first call) for an axis that the source does not have, more
//             than 8 axes, elements of an empty axis, shapes that do not agree in take_along_axis
#pragma once

#include <kiln/functions.h>

namespace kiln {

/// What an index outside [-n, n) of an axis of n elements means.
enum class OutOfRange : std::uint8_t {
  missing,  ///< there is no element: NaN, 0 or false
  clip,     ///< NumPy's 'clip': the first element for every negative index, the last one for too large ones
  wrap      ///< NumPy's 'wrap': modulo n, for every index
};

namespace detail {

/// An axis of a take: part of the kernel.
struct TakeAxis {
  std::int64_t value;
  template <class I>
    requires(std::is_integral_v<I> && !std::is_same_v<I, bool>)
  constexpr TakeAxis(I axis) : value(static_cast<std::int64_t>(axis)) {}
  template <class I>
  constexpr TakeAxis(Const<I> axis) : TakeAxis(axis.value) {}
  template <class C>
  TakeAxis(const WeakSym<C>&) : value(0) {
    static_assert(no_dtype<C>::value,
                  "kiln: an axis is part of the kernel, not a run-time number; declare the parameter kl::Const<int>");
  }
};

constexpr std::uint64_t flags_of(OutOfRange mode) {
  return mode == OutOfRange::clip ? TakeCall::clip : mode == OutOfRange::wrap ? TakeCall::wrap : 0;
}

template <class X, class I>
auto take_as(Where where, const TakeCall& call, const X& x, const I& indices) {
  using A = Operand<X>;
  using B = Operand<I>;
  static_assert(A::role == Role::array || A::role == Role::traced,
                "kiln: elements are taken from an array, an expression or a traced value");
  static_assert(B::role != Role::none && is_integer(B::type.type), "kiln: indices are integers");
  static_assert((A::role == Role::array) ? B::role != Role::traced : B::role != Role::array,
                "kiln: an array inside a kl::jit lambda; pass arrays to the compiled function as arguments");
  constexpr DType index_type = B::type.weak ? DType::i64 : B::type.type;
  if constexpr (A::role == Role::traced) {
    Recorder& recorder = x.recorder();
    const NodeId source = x.node_as(X::dtype, where), at = node_as(recorder, indices, index_type, where);
    return Sym<typename ElementOf<A::type.type>::type>(recorder, record_take(recorder, call, source, at, where));
  } else {
    using S =
        Taken<A::type.type, typename A::template Structure<A::type.type>, typename B::template Structure<index_type>>;
    Slot number;
    const Slot words{nullptr, {call.flags, static_cast<std::uint64_t>(call.axis)}};
    const Take take = take_both(take_of<const X&>(), take_both(take_of<const I&>(), take_slots(1, false)));
    return Expression<S>(OfSlots{}, where, take, &x, slots_of(indices, number), &words);
  }
}

}  // namespace detail

/// NumPy's take: the elements of `x` at `indices` along `axis`, which is replaced by the axes of `indices`. An
/// embedding lookup is kl::take(table, ids, 0).
template <class X, class I>
auto take(const X& x, const I& indices, detail::TakeAxis axis, OutOfRange mode = OutOfRange::missing,
          detail::Where w = detail::Where::current()) {
  return detail::take_as(w, {detail::flags_of(mode), axis.value}, x, indices);
}
/// The same from the elements in C order; the shape of `indices`.
template <class X, class I>
auto take(const X& x, const I& indices, OutOfRange mode = OutOfRange::missing,
          detail::Where w = detail::Where::current()) {
  return detail::take_as(w, {detail::flags_of(mode) | detail::TakeCall::flat, 0}, x, indices);
}

/// NumPy's take_along_axis: element (.., i, ..) is x(.., indices(.., i, ..), ..). `x` and `indices` have as many axes,
/// and broadcast in all but `axis`: with kl::argmax(x, 1, kl::keepdims) as indices it gives the largest elements.
template <class X, class I>
auto take_along_axis(const X& x, const I& indices, detail::TakeAxis axis, OutOfRange mode = OutOfRange::missing,
                     detail::Where w = detail::Where::current()) {
  return detail::take_as(w, {detail::flags_of(mode) | detail::TakeCall::along, axis.value}, x, indices);
}

namespace detail {

inline constexpr std::int64_t last_axis[] = {-1};

/// 0, 1, .., n - 1 beside `x`: traced where x is.
template <class X>
auto numbers_beside(const X& x, std::int64_t n, Where w) {
  if constexpr (Operand<X>::role == Role::traced) {
    Recorder& recorder = x.recorder();
    const NodeId zero = record_literal(recorder, DType::i64, 0, 0, w);
    const NodeId zeros = record_view(recorder, zero, static_cast<int>(ViewKind::broadcast_to), &n, 1, w);
    return Sym<std::int64_t>(recorder, record_index(recorder, zeros, 0, w));
  } else {
    return leaf<Iota>(slot_of(counter_operand(&n, 1, w)));
  }
}

}  // namespace detail

/// One axis of extent `n` more, the last: T(1) where its coordinate is the index, T(0) elsewhere. An index outside
/// [0, n) gives zeros only.
template <class T, class I>
  requires(detail::any_operand<I>)
auto one_hot(const I& indices, detail::TakeAxis n, detail::Where w = detail::Where::current()) {
  static_assert(is_integer(detail::Operand<I>::type.type), "kiln: indices are integers");
  if constexpr (detail::role_of<I> == detail::Role::traced) {
    return cast<T>(detail::record<Op::eq>(w, indices.unsqueeze(-1, w), detail::numbers_beside(indices, n.value, w)), w);
  } else {  // an operator of expressions takes the place of the cast
    const auto at = detail::expression_of(indices, false).viewed(detail::ViewKind::unsqueeze, detail::last_axis, 1, w);
    return cast<T>(at == detail::numbers_beside(indices, n.value, w), w);
  }
}

}  // namespace kiln
