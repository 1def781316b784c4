// kiln/reductions.h -- reductions and scans: kl::sum(x, axis, kl::keepdims), kl::reduce, kl::cumsum, ...
//
// A reduction is an expression: nothing runs before it is evaluated, and it fuses with what it is made of and with what
// is made of it. Evaluating works on the current stream of the thread (kiln/device.h); to_host() and item() wait.
//
//   operand   an array, a view or an expression of any dtype, any strides, any size; in kl::jit a traced value
//   axes      none given: all of them; kl::sum(x, 1), kl::sum(x, {0, -1}), or a container; negative ones count from the
//             end; `{}` reduces nothing. They are part of the kernel: in kl::jit a parameter is kl::Const<int>.
//   shape     that of the operand without the axes; with kl::keepdims they stay, of extent 1, so that the result
//             broadcasts against the operand. The result of reducing all axes has no axes: kl::sum(x).item().
//   f16 bf16  computed in f32 and rounded where the result is stored
//   errors    ShapeError at evaluation (in kl::jit: at the first call) for an axis that the operand does not have, an
//             axis named twice, and the extremes of no elements; operands of the wrong type do not compile
//   repeats   the same device, shapes and layouts give the same bits, for any number of threads
#pragma once

#include <kiln/detail/combiner.h>

namespace kiln {
namespace detail {

/// The type of a reduction or scan of X, with the checks.
template <Reducing F, class X>
struct ReducedAs {
  static_assert(
      Operand<X>::role == Role::array || Operand<X>::role == Role::traced,
      "kiln: a reduction needs an array, an expression or a traced value; copy host memory with kl::from_host");
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
  } else {
    return refused();
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
/// Of integers and bool in 64 bits (i64, u64), wrapping there; else in the operand's type. Of nothing 0. The error of
/// an f32 sum is at most log2(n) 2^-24 sum|x|.
KILN_REDUCTION(sum, AxisOption)
/// Typed like sum. Of nothing 1.
KILN_REDUCTION(prod, AxisOption)
/// The largest element, in the operand's type, which is not complex. NaN if one is NaN; max(-0, +0) is +0.
KILN_REDUCTION(max, AxisOption)
/// The smallest element, as max.
KILN_REDUCTION(min, AxisOption)
/// Of integers and bool f64, else in the operand's type. Of nothing NaN.
KILN_REDUCTION(mean, AxisOption)
/// The mean of squared deviations from the mean; kl::ddof(n) divides by the number of elements less n. Typed like mean,
/// of complex numbers real. Never computed as a difference of squares.
KILN_REDUCTION(var, VarianceOption)
/// The square root of var.
KILN_REDUCTION(std_, VarianceOption)
/// bool: is any element not 0? NaN is true. Of nothing false. (kl::all, which is also the slice that takes everything,
/// is declared with the slices; of nothing it is true.)
KILN_REDUCTION(any, AxisOption)
/// i64: the position of the first NaN, else of the first of the largest elements, counted in C order over the reduced
/// axes.
KILN_REDUCTION(argmax, AxisOption)
/// i64: as argmax, of the smallest.
KILN_REDUCTION(argmin, AxisOption)
/// The square root of the sum of |x|^2, typed like var.
KILN_REDUCTION(norm, AxisOption)
/// log(sum(exp(x))) that does not overflow, typed like mean; not of complex numbers. Of nothing and of -inf alone -inf.
KILN_REDUCTION(logsumexp, AxisOption)
/// i64: how many elements are not 0. NaN counts.
KILN_REDUCTION(count_nonzero, AxisOption)
/// With kl::accumulate<T> after the operand or the axes the elements are converted to T, summed in T and returned as T:
/// kl::sum(x, 0, kl::accumulate<float>).
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

/// Scans keep the shape: element i is the sum, product, maximum or minimum of elements 0 to i along the axis, typed as
/// the reduction is. One axis, which a vector need not name (else ShapeError). From the first NaN on all are NaN.
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

/// Joins the elements with a function of the user's, which must be associative and commutative:
/// kl::reduce(x, axis, 0.0f, [](auto a, auto b) { return a + b; }). `identity`, a number, joined with any value gives
/// that value, and is the result of no elements. The result has the operand's type. Two or three values are joined at
/// once: a std::tuple of expressions (std::tie(x, y) of arrays, which std::tuple(x, y) would copy), of identities, in
/// and out of the function. C++ numbers that it captures are constants of the kernel, each value of them compiled once:
/// what changes often, arrays and traced values go into the tuple.
template <class X, class I, class F>
  requires(detail::combines<F>)
auto reduce(const X& x, detail::AxisOption axes, const I& identity, const F& function,
            detail::AxisOption keep = detail::Unset{}, detail::Where w = detail::Where::current()) {
  return detail::combine(w, x, identity, function, detail::reduction_call(detail::Reducing::reduce, w, axes, keep));
}
template <class X, class I, class F>
  requires(detail::combines<F>)
auto reduce(const X& x, const I& identity, const F& function, detail::AxisOption keep = detail::Unset{},
            detail::Where w = detail::Where::current()) {
  return detail::combine(w, x, identity, function, detail::reduction_call(detail::Reducing::reduce, w, keep));
}

/// The running reduction: element i joins elements 0 to i along the axis, earlier ones on the left. The function must
/// be associative; the rest is as for kl::reduce.
template <class X, class I, class F>
  requires(detail::combines<F>)
auto scan(const X& x, detail::ScanAxis axis, const I& identity, const F& function,
          detail::Where w = detail::Where::current()) {
  return detail::combine(w, x, identity, function, detail::reduction_call(detail::Reducing::scan, w, axis));
}

}  // namespace kiln
