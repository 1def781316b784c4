// kiln/reductions.h -- reductions and scans: kl::sum(x, axis, kl::keepdims), kl::reduce, kl::cumsum, ...
#pragma once

#include <kiln/detail/combiner.h>

namespace kiln {
namespace detail {

/// The type of a reduction or scan of X, with the checks.
template <Reducing F, class X>
struct ReducedAs {
  static_assert(Operand<X>::role == Role::array || Operand<X>::role == Role::traced,
                "kiln: a reduction needs an array, an expression or a traced value");
  static constexpr bool traced = Operand<X>::role == Role::traced;
  static constexpr ReductionType r = reduction_type(F, Operand<X>::type.type);
  static constexpr bool checked = require_reducible<r.fault>();
};
template <Reducing F, class X, class T>
struct AccumulatedAs : ReducedAs<F, X> {
  static constexpr ReductionType r = accumulating_type(F, dtype_of<T>);
  static constexpr bool checked = require_reducible<r.fault>();
};

template <class As, class X>
auto reduce_as(Where where, const X& x, bool movable, const ReductionCall& call) {
  static_assert(As::checked);
  if constexpr (As::traced) {
    Recorder& recorder = x.recorder();
    const NodeId value = x.node_as(X::dtype, where);
    return Sym<typename ElementOf<As::r.result>::type>(
        recorder, record_reduction(recorder, call, As::r.result, &value, 1, where));
  } else if constexpr (Operand<X>::role == Role::array) {
    return compose_reduction<Reduced<As::r.result, typename Operand<X>::template Structure<Operand<X>::type.type>>>(
        where, call, x, take_slots(sizeof(X) / sizeof(Slot), movable));
  }
}

}  // namespace detail

#define KILN_REDUCTION(id, Option)                                                              \
  template <class X>                                                                            \
  auto id(X&& x, detail::Option a = detail::Unset{}, detail::Option b = detail::Unset{},        \
          detail::Option c = detail::Unset{}, detail::Where w = detail::Where::current()) {     \
    return detail::reduce_as<detail::ReducedAs<detail::Reducing::id, std::remove_cvref_t<X>>>(  \
        w, x, detail::is_movable<X>, detail::reduction_call(detail::Reducing::id, w, a, b, c)); \
  }
#define KILN_ACCUMULATING(id)                                                                                   \
  template <class X, class T>                                                                                   \
  auto id(X&& x, Accumulate<T>, detail::AxisOption a = detail::Unset{}, detail::AxisOption b = detail::Unset{}, \
          detail::Where w = detail::Where::current()) {                                                         \
    return detail::reduce_as<detail::AccumulatedAs<detail::Reducing::id, std::remove_cvref_t<X>, T>>(           \
        w, x, detail::is_movable<X>, detail::reduction_call(detail::Reducing::id, w, a, b));                    \
  }                                                                                                             \
  template <class X, class T>                                                                                   \
  auto id(X&& x, detail::AxisOption a, Accumulate<T> t, detail::AxisOption b = detail::Unset{},                 \
          detail::Where w = detail::Where::current()) {                                                         \
    return id(static_cast<X&&>(x), t, a, b, w);                                                                 \
  }                                                                                                             \
  template <class X, class T>                                                                                   \
  auto id(X&& x, detail::AxisOption a, detail::AxisOption b, Accumulate<T> t,                                   \
          detail::Where w = detail::Where::current()) {                                                         \
    return id(static_cast<X&&>(x), t, a, b, w);                                                                 \
  }
KILN_REDUCTION(sum, AxisOption)
KILN_REDUCTION(prod, AxisOption)
KILN_REDUCTION(max, AxisOption)
KILN_REDUCTION(min, AxisOption)
KILN_REDUCTION(mean, AxisOption)
KILN_REDUCTION(var, VarianceOption)
KILN_REDUCTION(std_, VarianceOption)
KILN_REDUCTION(any, AxisOption)
KILN_REDUCTION(argmax, AxisOption)
KILN_REDUCTION(argmin, AxisOption)
KILN_REDUCTION(norm, AxisOption)
KILN_REDUCTION(logsumexp, AxisOption)
KILN_REDUCTION(count_nonzero, AxisOption)
KILN_ACCUMULATING(sum)
KILN_ACCUMULATING(prod)
KILN_ACCUMULATING(mean)
#undef KILN_REDUCTION
#undef KILN_ACCUMULATING

template <class X>
auto All::operator()(X&& x, detail::AxisOption a, detail::AxisOption b, detail::Where w) const {
  return detail::reduce_as<detail::ReducedAs<detail::Reducing::all, std::remove_cvref_t<X>>>(
      w, x, detail::is_movable<X>, detail::reduction_call(detail::Reducing::all, w, a, b));
}

/// Scans keep the shape. One axis; values of one axis need not name it.
#define KILN_SCAN(id)                                                                                   \
  template <class X>                                                                                    \
  auto id(X&& x, detail::ScanAxis axis = detail::Unset{}, detail::Where w = detail::Where::current()) { \
    return detail::reduce_as<detail::ReducedAs<detail::Reducing::id, std::remove_cvref_t<X>>>(          \
        w, x, detail::is_movable<X>, detail::reduction_call(detail::Reducing::id, w, axis));            \
  }
KILN_SCAN(cumsum)
KILN_SCAN(cumprod)
KILN_SCAN(cummax)
KILN_SCAN(cummin)
#undef KILN_SCAN

/// Joins the elements with a function of the user's, which must be associative and commutative and capture nothing:
/// kl::reduce(x, axis, 0.0f, [](auto a, auto b) { return a + b; }). `identity` joined with any value gives that value.
/// Several values are joined at once as std::tuple: of expressions, of identities, in and out of the function.
template <class X, class I, class F>
  requires(detail::combines<F>)
auto reduce(const X& x, detail::AxisOption axes, const I& identity, F, detail::AxisOption keep = detail::Unset{},
            detail::Where w = detail::Where::current()) {
  return detail::combine<F>(w, x, identity, detail::reduction_call(detail::Reducing::reduce, w, axes, keep));
}
template <class X, class I, class F>
  requires(detail::combines<F>)
auto reduce(const X& x, const I& identity, F, detail::AxisOption keep = detail::Unset{},
            detail::Where w = detail::Where::current()) {
  return detail::combine<F>(w, x, identity, detail::reduction_call(detail::Reducing::reduce, w, keep));
}

/// The running reduction: element i joins elements 0 to i along the axis, earlier ones on the left. The function must
/// be associative; the rest is as for kl::reduce.
template <class X, class I, class F>
  requires(detail::combines<F>)
auto scan(const X& x, detail::ScanAxis axis, const I& identity, F, detail::Where w = detail::Where::current()) {
  return detail::combine<F>(w, x, identity, detail::reduction_call(detail::Reducing::scan, w, axis));
}

}  // namespace kiln
