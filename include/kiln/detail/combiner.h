// kiln/detail/combiner.h -- reductions and scans by functions of the user's: how they are typed, traced and composed.
#pragma once

#include <kiln/detail/reduction_rules.h>
#include <kiln/functions.h>

namespace kiln::detail {

// ------------------------------------------------------------------ composing inline expressions
/// Arrays and expressions consist of their slots.
template <class A>
constexpr Take take_copy() {
  return take_slots(sizeof(A) / sizeof(Slot), false);
}
/// S of operand `a`, with a slot of two words that say more about it.
template <class S, class A>
Expression<S> compose_reduction(Where where, const ReductionCall& call, const A& a, Take take = take_copy<A>()) {
  const Slot words{nullptr, {call.bits, call.extra}};
  return Expression<S>(OfSlots{}, where, take_both(take, take_slots(1, false)), &a, &words);
}
template <class S, class A, class B>
Expression<S> compose_reduction(Where where, const ReductionCall& call, const A& a, const B& b) {
  const Slot words{nullptr, {call.bits, call.extra}};
  const Take take = take_both(take_copy<A>(), take_both(take_copy<B>(), take_slots(1, false)));
  return Expression<S>(OfSlots{}, where, take, &a, &b, &words);
}

// ------------------------------------------------------------------ arguments
/// What may stand where kl::reduce and kl::scan take a function.
template <class F>
concept combines = std::is_class_v<F> && !std::is_same_v<F, Keepdims> && role_of<F> == Role::none;

/// std::tuple and std::pair, recognised by shape; their get() is found by their type.
template <class X>
struct TupleOf {
  static constexpr bool is_tuple = false;
};
template <template <class...> class Tuple, class... X>
  requires(role_of<Tuple<X...>> == Role::none && !number<Tuple<X...>> && sizeof...(X) > 1)
struct TupleOf<Tuple<X...>> {
  static constexpr bool is_tuple = true;
  static constexpr unsigned size = sizeof...(X);
  static constexpr bool arrays = ((role_of<X> == Role::array) && ...);
  static constexpr bool traced = ((role_of<X> == Role::traced) && ...);
  static constexpr DType types[sizeof...(X)] = {Operand<X>::type.type...};
  template <class... E>
  using Rebind = Tuple<E...>;
  using Elements = Tuple<Sym<typename ElementOf<Operand<X>::type.type>::type>...>;
};

template <class X>
concept tuple_of_arrays = requires { requires TupleOf<X>::arrays; };

// ------------------------------------------------------------------ tracing
/// A function that captures nothing is made where it is called: its type is all there is to it.
template <class F>
inline constexpr bool is_stateless = std::is_empty_v<F> && std::is_default_constructible_v<F>;
template <class F, class V>
auto call_combiner(const void* function, const V& left, const V& right) {
  if constexpr (is_stateless<F>) {
    return F{}(left, right);
  } else {
    return (*static_cast<const F*>(function))(left, right);
  }
}
template <class S>
NodeId node_in(Recorder& recorder, const S& value) {
  common_recorder(&recorder, &value.recorder(), {});
  return value.node_as(S::dtype, {});
}

/// Runs F on traced values of the element types T (`Values`: one Sym, or a tuple of them).
template <class F, class Values, class Indices>
struct Combiner;

template <class F, class T>
struct Combiner<F, Sym<T>, void> {
  using Result = decltype(std::declval<const F&>()(std::declval<Sym<T>>(), std::declval<Sym<T>>()));
  static constexpr bool keeps_types = std::is_same_v<Result, Sym<T>>;
  static void trace(Recorder& recorder, const void* function, const NodeId* inputs, NodeId* outputs) {
    if constexpr (keeps_types) {
      const auto joined = call_combiner<F>(function, Sym<T>(recorder, inputs[0]), Sym<T>(recorder, inputs[1]));
      outputs[0] = node_in(recorder, joined);
    }
  }
};
template <class F, template <class...> class Tuple, class... T, std::size_t... I>
struct Combiner<F, Tuple<Sym<T>...>, std::index_sequence<I...>> {
  using Values = Tuple<Sym<T>...>;
  using Result = decltype(std::declval<const F&>()(std::declval<Values>(), std::declval<Values>()));
  static constexpr bool keeps_types = std::is_same_v<Result, Values>;
  static void trace(Recorder& recorder, const void* function, const NodeId* inputs, NodeId* outputs) {
    if constexpr (keeps_types) {
      const Values left(Sym<T>(recorder, inputs[I])...);
      const Values right(Sym<T>(recorder, inputs[sizeof...(T) + I])...);
      const Values joined = call_combiner<F>(function, left, right);
      ((outputs[I] = node_in(recorder, get<I>(joined))), ...);
    }
  }
};

template <class F, class... A>
constexpr bool require_combiner() {
  constexpr bool takes_two = requires(const F& function, A... values) { function(values...); };
  static_assert(
      takes_two,
      "kiln: the function of kl::reduce or kl::scan must take two values (or two std::tuple of values), declared auto");
  return takes_two;
}
template <bool Keeps>
constexpr void require_same_types() {
  static_assert(Keeps,
                "kiln: the function of kl::reduce or kl::scan must return what it joins: a value of its operands' type "
                "(kl::cast), "
                "or a std::tuple of values of their types");
}

/// The identity of elements of type T.
template <DType T, class I>
auto identity_of(const I& identity) {
  constexpr Role role = Operand<I>::role;
  static_assert(
      role == Role::number || role == Role::baked || role == Role::traced,
      "kiln: the identity of kl::reduce or kl::scan must be a C++ number (one per component of a std::tuple)");
  if constexpr (role == Role::number || role == Role::baked) {
    static_assert(kind_of(Operand<I>::type.type) <= kind_of(T),
                  "kiln: the identity of kl::reduce or kl::scan is not a value of the elements' type");
    if constexpr (role == Role::number) {
      return Const<NumberOf<I>>(static_cast<NumberOf<I>>(identity));
    } else {
      return identity;
    }
  } else {
    return identity;
  }
}

/// A number of element type T as a literal that keeps no other type.
template <DType T, class I>
auto literal_of(const I& identity) {
  const auto neutral = identity_of<T>(identity);
  return leaf<Literal<T, Operand<std::remove_const_t<decltype(neutral)>>::type.type>>(number_slot(neutral));
}

template <class Values, class Indices, DType... T, class F>
void set_combiner(ReductionCall& call, const F& function, Where where) {
  const CombinerFunction trace = &Combiner<F, Values, Indices>::trace;
  if constexpr (is_stateless<F>) {
    call.extra = reinterpret_cast<std::uintptr_t>(trace);
  } else {
    constexpr DType types[] = {T...};
    call.bits |= ReductionCall::captured;
    call.extra = captured_combiner(trace, &function, types, sizeof...(T), where);
  }
}

// ------------------------------------------------------------------ one value
template <class X, class I, class F>
auto combine_one(Where where, const X& x, const I& identity, const F& function, ReductionCall call) {
  constexpr DType type = Operand<X>::type.type;
  using S = Sym<typename ElementOf<type>::type>;
  if constexpr (require_combiner<F, S, S>()) {
    require_same_types<Combiner<F, S, void>::keeps_types>();
    set_combiner<S, void, type>(call, function, where);
    if constexpr (Operand<X>::role == Role::traced) {
      Recorder& recorder = x.recorder();
      const NodeId nodes[] = {x.node_as(type, where), node_as(recorder, identity_of<type>(identity), type, where)};
      return S(recorder, record_reduction(recorder, call, type, nodes, 2, where));
    } else {
      const auto neutral = literal_of<type>(identity);
      return compose_reduction<
          Reduced<type, typename Operand<X>::template Structure<type>, typename decltype(neutral)::Structure>>(
          where, call, x, neutral);
    }
  }
}

// ------------------------------------------------------------------ tuples
template <class... X>
auto compose_tuple(Where where, const X&... each) {
  using E = Expression<Tupled<typename Operand<X>::template Structure<Operand<X>::type.type>...>>;
  Take take = 0;
  int position = 0;
  ((take |= take_copy<X>() << (21 * position++)), ...);
  return E(OfSlots{}, where, take, &each...);
}
template <DType T, class A>
Expression<Component<T, typename Operand<A>::template Structure<T>>> compose_component(Where where, const A& a,
                                                                                       unsigned component) {
  return compose_reduction<Component<T, typename Operand<A>::template Structure<T>>>(where, {component, 0}, a);
}
template <class X, class I, class F, std::size_t... K>
auto combine_tuple(Where where, const X& x, const I& identity, const F& function, ReductionCall call,
                   std::index_sequence<K...>) {
  using Values = typename TupleOf<X>::Elements;
  static_assert(sizeof...(K) == 2 || sizeof...(K) == 3,
                "kiln: kl::reduce and kl::scan join tuples of two or three values");
  static_assert(TupleOf<X>::arrays || TupleOf<X>::traced,
                "kiln: kl::reduce and kl::scan take a std::tuple of arrays and expressions, or of traced values");
  if constexpr (require_combiner<F, Values, Values>()) {
    require_same_types<Combiner<F, Values, std::index_sequence<K...>>::keeps_types>();
    set_combiner<Values, std::index_sequence<K...>, TupleOf<X>::types[K]...>(call, function, where);
    constexpr DType types[] = {TupleOf<X>::types[K]...};
    if constexpr (TupleOf<X>::traced) {
      Recorder& recorder = get<0>(x).recorder();
      const NodeId values[] = {get<K>(x).node_as(types[K], where)...};
      const NodeId neutral[] = {node_as(recorder, identity_of<types[K]>(get<K>(identity)), types[K], where)...};
      const NodeId operands[] = {record_tuple(recorder, values, sizeof...(K), where),
                                 record_tuple(recorder, neutral, sizeof...(K), where)};
      const NodeId node = record_reduction(recorder, call, types[0], operands, 2, where);
      return Values(Sym<typename ElementOf<types[K]>::type>(recorder, record_component(recorder, node, K, where))...);
    } else {
      const auto values = compose_tuple(where, get<K>(x)...);
      const auto neutral = compose_tuple(where, literal_of<types[K]>(get<K>(identity))...);
      using S = Reduced<types[0], typename decltype(values)::Structure, typename decltype(neutral)::Structure>;
      const Expression<S> reduced = compose_reduction<S>(where, call, values, neutral);
      const auto shared = leaf<Shared<types[0]>>(make_fragment(reduced.parts()));
      return typename TupleOf<X>::template Rebind<Expression<Component<types[K], Shared<types[0]>>>...>(
          compose_component<types[K]>(where, shared, K)...);
    }
  }
}

template <class X, class I, class F>
auto combine(Where where, const X& x, const I& identity, const F& function, const ReductionCall& call) {
  if constexpr (TupleOf<X>::is_tuple) {
    static_assert(TupleOf<I>::is_tuple,
                  "kiln: kl::reduce or kl::scan of a std::tuple needs a std::tuple of identities");
    if constexpr (TupleOf<I>::is_tuple) {
      static_assert(TupleOf<X>::size == TupleOf<I>::size, "kiln: kl::reduce and kl::scan need one identity per value");
      return combine_tuple(where, x, identity, function, call, std::make_index_sequence<TupleOf<X>::size>{});
    }
  } else {
    static_assert(role_of<X> == Role::array || role_of<X> == Role::traced,
                  "kiln: a reduction needs an array, an expression or a traced value");
    return combine_one(where, x, identity, function, call);
  }
}

}  // namespace kiln::detail
