// kiln/ufunc.h -- kl::ufunc: an elementwise function with the methods of NumPy's universal functions.
//
//   auto g = kl::ufunc([](auto a, auto b) { return a * b + a; });
//   kl::Array<float> y = g(x, w);                // broadcasts; arrays, views, expressions and C++ numbers, as kl::jit
//   auto longest = kl::ufunc([](auto a, auto b) { return kl::maximum(a, b); });
//   kl::Array<float> m = longest.reduce(x, -1, kl::keepdims), r = longest.accumulate(x, 0), t = g.outer(u, v);
//
//   function    elementwise operations on one or more values, declared auto; traced once per types, on every device
//   calls       allocate the result; .into(y)(a, b), [{.block = 256}](a, b) and .inspect(a, b) as for kl::jit. Inside
//               kl::jit everything is recorded there.
//   reduce      joins elements along axes (none given: all) into an expression, which fuses. The function takes two
//               values, returns their type and is associative and commutative; numbers that it captures are constants.
//   accumulate  the running reduction along one axis, an expression of the operand's shape; associative is enough
//   outer       {x's axes, y's axes}: every element of x with every element of y
//   reduceat    joins the stretches of the last axis that start at the given places, each up to the next one
//   at          target[i] = f(target[i], v) for each index i with its value v, repeated ones included; in place
//   identity    kl::ufunc(function, kl::identity(0)): what leaves any value unchanged, and the result of no elements.
//               Functions that are one of + * maximum minimum || && | & of their arguments need none; for others the
//               reduction of no elements is a ShapeError.
#pragma once

#include <kiln/detail/stretches.h>
#include <kiln/jit.h>
#include <kiln/shift.h>

namespace kiln {

/// The neutral number of a kl::ufunc.
template <class C>
struct Identity {
  C value;
};
template <class C>
constexpr Identity<C> identity(C value) {
  static_assert(detail::number<C>, "kiln: kl::identity takes a C++ number");
  return {value};
}

namespace detail {

struct NoIdentity {};

template <class F, class X>
constexpr bool require_binary() {
  static_assert(role_of<X> == Role::array || role_of<X> == Role::traced,
                "kiln: reduce and accumulate of a kl::ufunc take an array, an expression or a traced value");
  if constexpr (role_of<X> == Role::array || role_of<X> == Role::traced) {
    using S = Sym<typename ElementOf<Operand<X>::type.type>::type>;
    constexpr bool takes_two = std::is_invocable_v<const F&, S, S>;
    static_assert(takes_two, "kiln: reduce, accumulate and outer need a kl::ufunc of two arguments");
    if constexpr (takes_two) {
      require_same_types<Combiner<F, S, void>::keeps_types>();
      return Combiner<F, S, void>::keeps_types;
    }
  }
  return false;
}

/// A reduction or scan by F without an identity.
template <class X, class F>
auto combine_some(Where where, const X& x, const F& function, ReductionCall call) {
  constexpr DType type = Operand<X>::type.type;
  using S = Sym<typename ElementOf<type>::type>;
  set_combiner<S, void, type>(call, function, where);
  if constexpr (Operand<X>::role == Role::traced) {
    Recorder& recorder = x.recorder();
    const NodeId node = x.node_as(type, where);
    return S(recorder, record_reduction(recorder, call, type, &node, 1, where));
  } else {
    return compose_reduction<Reduced<type, typename Operand<X>::template Structure<type>>>(where, call, x);
  }
}

/// The value with `count` more axes at the end.
template <class X>
auto with_last_axes(const X& x, int count, Where where) {
  std::int64_t axes[max_rank] = {};
  for (int k = 0; k < count && k < max_rank; ++k) axes[k] = -1 - k;
  if constexpr (Operand<X>::role == Role::traced) {
    return x.viewed(ViewKind::unsqueeze, axes, static_cast<unsigned>(count), where);
  } else {
    return expression_of(x, false).viewed(ViewKind::unsqueeze, axes, static_cast<unsigned>(count), where);
  }
}

}  // namespace detail

/// See the top of this file.
template <class F, class I = detail::NoIdentity>
class Ufunc : public detail::Inspectable<Ufunc<F, I>> {
 public:
  constexpr explicit Ufunc(F function, I identity = {}, const Options& options = {}, detail::Where where = {})
      : stretches_(function), jit_(static_cast<F&&>(function), options, nullptr, where), identity_(identity) {}

  template <class... A>
  auto operator()(const A&... arguments) const {
    return jit_(arguments...);
  }
  /// g.into(y)(a, b): writes existing arrays or views.
  template <class... X>
  auto into(X&&... targets) const {
    return jit_.into(static_cast<X&&>(targets)...);
  }
  /// g[{.block = 256}](a, b): launch control.
  auto operator[](const Launch& launch) const { return jit_[launch]; }
  template <class... A>
  Inspection inspect_for(detail::ArchName arch, const A&... arguments) const {
    return jit_.inspect_for(arch, arguments...);
  }
  template <class... S>
  void compile(const CompileFor& what, detail::Where w = detail::Where::current()) const {
    jit_.template compile<S...>(what, w);
  }
  /// What its calls were compiled for: see Jit::specializations.
  Specializations specializations() const { return jit_.specializations(); }

  /// g.reduce(x), g.reduce(x, axis), g.reduce(x, {axes}, kl::keepdims).
  template <class X>
  auto reduce(const X& x, detail::AxisOption axes, detail::AxisOption keep = detail::Unset{},
              detail::Where w = detail::Where::current()) const {
    return joined(w, x, detail::reduction_call(detail::Reducing::reduce, w, axes, keep));
  }
  template <class X>
  auto reduce(const X& x, detail::Where w = detail::Where::current()) const {
    return joined(w, x, detail::reduction_call(detail::Reducing::reduce, w, detail::AxisOption(detail::Unset{})));
  }
  /// g.accumulate(x, axis); vectors need no axis.
  template <class X>
  auto accumulate(const X& x, detail::ScanAxis axis = detail::Unset{},
                  detail::Where w = detail::Where::current()) const {
    return joined(w, x, detail::reduction_call(detail::Reducing::scan, w, axis));
  }
  /// g.outer(x, y): g of every pair of elements.
  template <class X, class Y>
  auto outer(const X& x, const Y& y, detail::Where w = detail::Where::current()) const {
    static_assert(detail::role_of<X> == detail::role_of<Y> && detail::any_operand<X, Y>,
                  "kiln: outer of a kl::ufunc takes two arrays or expressions, or two traced values");
    return jit_.run_at(w, nullptr, detail::with_last_axes(x, y.ndim(), w), y);
  }
  /// NumPy's reduceat along the last axis: {.., starts} from {.., n} and the integer vector `starts`. Stretch i runs
  /// from starts[i] to starts[i + 1], the last one to the end; one that does not start before the next is the element
  /// at its start; one that starts outside the axis is 0. The elements of a stretch keep their order: the function need
  /// not be commutative. Allocates the result, as a call does: {.., n} elements and s stretches cost n + 2 s log2(n)
  /// joins, in log2(n) kernels; inside kl::jit it is recorded as such, for axes of up to 2^42 elements.
  template <class X, class S>
  auto reduceat(const X& x, const S& starts, detail::Where w = detail::Where::current()) const {
    if constexpr (detail::require_binary<F, X>()) {
      if constexpr (detail::role_of<X> == detail::Role::traced) {
        return detail::record_stretches(jit_.function(), x, starts, w);
      } else {
        using T = typename detail::ElementOf<detail::Operand<X>::type.type>::type;
        return detail::reduce_stretches<T>(stretches_, x, starts, w);
      }
    }
  }
  /// NumPy's at: joins each value to the element of `target`, a vector, that its index names; an index may come again.
  /// Indices (an integer vector) that name no element do nothing. The function is associative; values of one element
  /// join in their order. They are sorted first, so that n elements and m values cost m log2(m) joins;
  /// kl::scatter_add and its kin are faster for sums and extremes.
  template <class X, class S, class V>
  void at(X&& target, const S& indices, const V& values, detail::Where w = detail::Where::current()) const {
    if constexpr (detail::require_binary<F, std::remove_cvref_t<X>>()) {
      using T = typename detail::ElementOf<detail::Operand<std::remove_cvref_t<X>>::type.type>::type;
      detail::join_at<T>(stretches_, target, indices, values, w);
    }
  }

 private:
  template <class X>
  auto joined(detail::Where where, const X& x, const detail::ReductionCall& call) const {
    if constexpr (detail::require_binary<F, X>()) {
      if constexpr (std::is_same_v<I, detail::NoIdentity>) {
        return detail::combine_some(where, x, jit_.function(), call);
      } else {
        return detail::combine(where, x, identity_.value, jit_.function(), call);
      }
    }
  }

  detail::StretchFunctions<F> stretches_;
  Jit<F> jit_;
  [[no_unique_address]] I identity_;
};

/// Makes a universal function of a lambda: see the top of this file.
template <class F>
constexpr Ufunc<F> ufunc(F function, const Options& options = {}, detail::Where w = detail::Where::current()) {
  return Ufunc<F>(static_cast<F&&>(function), {}, options, w);
}
template <class F, class C>
constexpr Ufunc<F, Identity<C>> ufunc(F function, Identity<C> identity, const Options& options = {},
                                      detail::Where w = detail::Where::current()) {
  return Ufunc<F, Identity<C>>(static_cast<F&&>(function), identity, options, w);
}

}  // namespace kiln
