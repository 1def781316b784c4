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

/// Destinations of kl::eval: arrays and views.
template <class... X>
struct Tie {
  detail::Target targets[sizeof...(X)];
};
namespace detail {
/// Arguments of kl::eval that are no operands.
template <class X>
inline constexpr bool no_operand = std::is_same_v<X, Where>;
template <class... X>
inline constexpr bool no_operand<Tie<X...>> = true;
}  // namespace detail

/// Names the destinations of several outputs; all are written by one kernel.
template <class... X>
  requires(detail::destination<X> && ...)
Tie<std::remove_cvref_t<X>...> tie(X&&... x) {
  return {{x.target()...}};
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

template <class Targets, class... S>
void evaluate_several(Target* targets, const Expression<S>&... e) {
  const Parts parts[] = {e.parts()...};
  Evaluation evaluation(parts, sizeof...(S), targets, sizeof...(S));
  evaluate(several_site<Targets, S...>, evaluation);
}

template <class... X, class... S>
void evaluate_tie(Tie<X...>& to, const Expression<S>&... e) {
  static_assert(sizeof...(X) == sizeof...(S), "kiln: kl::eval needs as many expressions as kl::tie names destinations");
  (require_convertible<S::type, X::dtype>(), ...);
  evaluate_several<Tie<X...>>(to.targets, e...);
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
template <class X, class Y, class... Z>
  requires(detail::role_of<X> == detail::Role::array && detail::role_of<Y> == detail::Role::array &&
           ((detail::role_of<Z> == detail::Role::array) && ...))
auto eval(X&& x, Y&& y, Z&&... z) {
  Results<Array<typename std::remove_cvref_t<X>::value_type>, Array<typename std::remove_cvref_t<Y>::value_type>,
          Array<typename std::remove_cvref_t<Z>::value_type>...>
      results;
  eval_into(results, std::make_index_sequence<2 + sizeof...(Z)>{}, static_cast<X&&>(x), static_cast<Y&&>(y),
            static_cast<Z&&>(z)...);
  return results;
}

template <class R, std::size_t... I, class... X>
void eval_into(R& results, std::index_sequence<I...>, X&&... x) {
  auto to = kiln::tie(get<I>(results)...);
  detail::evaluate_tie(to, detail::expression_of<std::remove_cvref_t<X>>(x, detail::is_movable<X>)...);
}

/// The same of a std::tuple of expressions, as kl::reduce of several values returns.
template <class X>
  requires(detail::tuple_of_arrays<X>)
auto eval(const X& x) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return kiln::eval(get<I>(x)...);
  }(std::make_index_sequence<detail::TupleOf<X>::size>{});
}

/// Computes several expressions into existing arrays or views in one kernel: kl::eval(kl::tie(s, q), a + b, a * b).
template <class... T, class... X>
  requires((detail::role_of<X> == detail::Role::array) && ...)
void eval(Tie<T...> to, X&&... x) {
  detail::evaluate_tie(to, detail::expression_of<std::remove_cvref_t<X>>(x, detail::is_movable<X>)...);
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
