// kiln/eval.h -- kl::eval and kl::tie: expressions into arrays, several outputs in one kernel.
#pragma once

#include <kiln/array.h>
#include <kiln/detail/combiner.h>
#include <kiln/inspect.h>

namespace kiln {

namespace detail {
template <class X>
concept destination = requires(X& x) { x.target(); };
}  // namespace detail

namespace detail {
/// Where several results go.
template <class... X>
struct Targets {
  Target targets[sizeof...(X)];
};
template <class... X>
Targets<std::remove_cvref_t<X>...> targets_of(X&&... x) {
  return {{x.target()...}};
}
}  // namespace detail

/// Destinations of kl::eval, arrays and views, and where they were named.
template <class... X>
struct Tie : detail::Targets<X...> {
  detail::Where where;
  template <class V>
  void operator=(const V&) && {
    static_assert(
        detail::no_dtype<V>::value,
        "kiln: kl::tie names the destinations of kl::eval(kl::tie(a, b), x, y); a tuple of arrays is assigned "
        "to std::tie(a, b), and f.into(a, b)(x) writes what is there");
  }
};
namespace detail {
/// Arguments of kl::eval that are no operands.
template <class X>
inline constexpr bool no_operand = std::is_same_v<X, Where>;
template <class... X>
inline constexpr bool no_operand<Tie<X...>> = true;
}  // namespace detail

/// Names the destinations of several outputs; all are written by one kernel. (Overloads, since behind a pack no default
/// argument can note the line.)
template <detail::destination A>
Tie<std::remove_cvref_t<A>> tie(A&& a, detail::Where w = detail::Where::current()) {
  return {detail::targets_of(a), w};
}
template <detail::destination A, detail::destination B>
Tie<std::remove_cvref_t<A>, std::remove_cvref_t<B>> tie(A&& a, B&& b, detail::Where w = detail::Where::current()) {
  return {detail::targets_of(a, b), w};
}
template <detail::destination A, detail::destination B, detail::destination C>
auto tie(A&& a, B&& b, C&& c, detail::Where w = detail::Where::current()) {
  return Tie<std::remove_cvref_t<A>, std::remove_cvref_t<B>, std::remove_cvref_t<C>>{detail::targets_of(a, b, c), w};
}
template <detail::destination A, detail::destination B, detail::destination C, detail::destination D>
auto tie(A&& a, B&& b, C&& c, D&& d, detail::Where w = detail::Where::current()) {
  return Tie<std::remove_cvref_t<A>, std::remove_cvref_t<B>, std::remove_cvref_t<C>, std::remove_cvref_t<D>>{
      detail::targets_of(a, b, c, d), w};
}
template <class... X>
  requires(sizeof...(X) > 4 && (detail::destination<X> && ...))
Tie<std::remove_cvref_t<X>...> tie(X&&... x) {
  return {detail::targets_of(x...), {}};
}
template <class... X>
  requires(!(detail::destination<X> && ...))
Tie<std::remove_cvref_t<X>...> tie(X&&...) {
  static_assert((detail::destination<X> && ...), "kiln: kl::tie names arrays that are not const, and views");
  return {};
}

/// The arrays made by kl::eval of several expressions; takes part in structured bindings.
template <class First, class... Rest>
struct Results {
  First first;
  Results<Rest...> rest;
};
template <class First>
struct Results<First> {
  First first;
};
template <std::size_t I, class First, class... Rest>
auto& get(Results<First, Rest...>& r) {
  if constexpr (I == 0) {
    return r.first;
  } else {
    return get<I - 1>(r.rest);
  }
}
template <std::size_t I, class First, class... Rest>
const auto& get(const Results<First, Rest...>& r) {
  return get<I>(const_cast<Results<First, Rest...>&>(r));
}
template <std::size_t I, class First, class... Rest>
auto&& get(Results<First, Rest...>&& r) {
  return std::move(get<I>(r));
}

namespace detail {

template <class Targets, class... S>
inline constinit Site several_site{};

template <class... X, class... S>
void evaluate_several(Targets<X...>& to, Where w, const Expression<S>&... e) {
  static_assert(sizeof...(X) == sizeof...(S), "kiln: kl::eval needs as many expressions as kl::tie names destinations");
  (require_convertible<S::type, X::dtype>(), ...);
  const Parts parts[] = {e.parts()...};
  Evaluation evaluation(parts, sizeof...(S), to.targets, sizeof...(S));
  evaluation.where = w;
  evaluate(several_site<Tie<X...>, S...>, evaluation);
}

template <class X>
using ArrayOf = Array<typename std::remove_cvref_t<X>::value_type>;

/// New arrays of several expressions.
template <std::size_t... I, class... X>
auto evaluate_all(Where w, std::index_sequence<I...>, X&&... x) {
  Results<ArrayOf<X>...> results;
  auto to = targets_of(get<I>(results)...);
  evaluate_several(to, w, expression_of<std::remove_cvref_t<X>>(x, is_movable<X>)...);
  return results;
}

}  // namespace detail

/// Computes an expression into a new array on the device of its operands, without waiting for the result.
template <class X>
  requires(detail::array_operand<X>)
Array<typename std::remove_cvref_t<X>::value_type> eval(X&& x, detail::Where w = detail::Where::current()) {
  return Array<typename std::remove_cvref_t<X>::value_type>(static_cast<X&&>(x), w);
}

template <class... X>
  requires(!(detail::array_operand<X> && ...) && !((detail::tuple_of_arrays<X> || detail::no_operand<X>) || ...))
auto eval(const X&...) {
  constexpr bool traced = ((detail::role_of<X> == detail::Role::traced) || ...);
  static_assert(!traced, "kiln: a traced value is not evaluated; return it from the lambda of kl::jit");
  static_assert(traced,
                "kiln: kl::eval computes expressions and views; of numbers and host memory kl::full and kl::from_host "
                "make arrays");
  if constexpr (traced) {
    return detail::refused<typename detail::FirstOperand<X...>::type>();
  } else {
    return Array<float>();
  }
}

/// Computes several expressions in one kernel: auto [s, q] = kl::eval(a + b, a * b).
template <detail::array_operand X, detail::array_operand Y>
auto eval(X&& x, Y&& y, detail::Where w = detail::Where::current()) {
  return detail::evaluate_all(w, std::make_index_sequence<2>{}, static_cast<X&&>(x), static_cast<Y&&>(y));
}
template <detail::array_operand X, detail::array_operand Y, detail::array_operand Z>
auto eval(X&& x, Y&& y, Z&& z, detail::Where w = detail::Where::current()) {
  return detail::evaluate_all(w, std::make_index_sequence<3>{}, static_cast<X&&>(x), static_cast<Y&&>(y),
                              static_cast<Z&&>(z));
}
template <detail::array_operand... X>
  requires(sizeof...(X) > 3)
auto eval(X&&... x) {
  return detail::evaluate_all({}, std::index_sequence_for<X...>{}, static_cast<X&&>(x)...);
}

/// The same of a std::tuple of expressions, as kl::reduce of several values returns.
template <class X>
  requires(detail::tuple_of_arrays<X>)
auto eval(const X& x, detail::Where w = detail::Where::current()) {
  return [&]<std::size_t... I>(std::index_sequence<I...> indices) {
    if constexpr (sizeof...(I) == 1) {
      return kiln::eval(get<I>(x)..., w);
    } else {
      return detail::evaluate_all(w, indices, get<I>(x)...);
    }
  }(std::make_index_sequence<detail::TupleOf<X>::size>{});
}

/// Computes several expressions into existing arrays or views in one kernel: kl::eval(kl::tie(s, q), a + b, a * b).
template <class... T, class... X>
  requires((detail::role_of<X> == detail::Role::array) && ...)
void eval(Tie<T...> to, X&&... x) {
  detail::evaluate_several(to, to.where, detail::expression_of<std::remove_cvref_t<X>>(x, detail::is_movable<X>)...);
}

/// Plans and compiles an expression without running it. `arch` ("sm_90", ...) needs no such device; null: this device.
template <class X>
  requires(detail::array_operand<X>)
Inspection inspect(X&& x, const char* arch = nullptr, detail::Where w = detail::Where::current()) {
  const auto e = detail::expression_of<std::remove_cvref_t<X>>(x, detail::is_movable<X>);
  using E = std::remove_const_t<decltype(e)>;
  detail::Handle result;
  detail::Target target{&result, E::dtype, true};
  const detail::Parts parts = e.parts();
  detail::Evaluation evaluation(&parts, 1, &target, 1);
  evaluation.where = w;
  detail::InlineSite& site = detail::site_of<true, E::dtype, typename E::Structure>;
  return Inspection(detail::inspect(site.site, evaluation, arch));
}

template <class S>
typename Expression<S>::value_type Expression<S>::item(detail::Where w) const {
  return eval(*this, w).item(w);
}
template <class S>
template <class T>
auto Expression<S>::astype(detail::Where w) const {
  return detail::convert<dtype_of<T>>(w, *this);
}

}  // namespace kiln

template <class First, class... Rest>
struct std::tuple_size<kiln::Results<First, Rest...>> {
  static constexpr std::size_t value = 1 + sizeof...(Rest);
};
template <std::size_t I, class First, class... Rest>
struct std::tuple_element<I, kiln::Results<First, Rest...>> : std::tuple_element<I - 1, kiln::Results<Rest...>> {};
template <class First, class... Rest>
struct std::tuple_element<0, kiln::Results<First, Rest...>> {
  using type = First;
};
