// kiln/gufunc.h -- kl::gufunc: a function of small arrays applied over all leading axes, as NumPy's generalised ufuncs.
//
//   auto apply = kl::gufunc<"(m,n),(n)->(m)">([](auto a, auto x) { return kl::sum(a * x, 1); });
//   kl::Array<float> y = apply(matrices, vectors);   // {batch, m, n}, {batch, n} or {n} -> {batch, m}
//
//   signature  one list of axes per argument and result: letters or names, or numbers for fixed extents; () for single
//              numbers. Axes of one letter have one extent (no broadcasting). It is read when the program is compiled.
//   function   written for one item: in it a is a matrix and x a vector, axis 0 is the first axis that the signature
//              names, and a sum without axes is that of the item. Several results are returned as a std::tuple.
//              reshape and broadcast_to are not possible in it.
//   loop       the axes in front of those named broadcast together; results have them in front
//   calls      like those of kl::jit: new arrays, .into(y)(...), [{.stream = s}](...), .inspect(...); inside kl::jit
//              and other gufuncs it is recorded. A call is as few kernels as the function needs once fused.
//   errors     ShapeError: an argument with too few axes; a letter with two extents (both are named); a result of
//              another rank or extent than the signature says
#pragma once

#include <kiln/detail/loops.h>
#include <kiln/jit.h>

namespace kiln {

/// A string that is a template argument.
template <std::size_t N>
struct FixedText {
  char text[N];
  constexpr FixedText(const char (&given)[N]) : text{} {
    for (std::size_t i = 0; i < N; ++i) text[i] = given[i];
  }
};

namespace detail {

template <FixedText Text>
inline constexpr CoreSignature core_signature = SignatureParser(Text.text).parse();

template <CoreSignature::Fault E>
constexpr bool require_signature() {
  static_assert(E != CoreSignature::Fault::form,
                "kiln: the signature of kl::gufunc is written like \"(m,n),(n)->(m)\": axes of each argument in "
                "parentheses, ->, axes of each result");
  static_assert(E != CoreSignature::Fault::name, "kiln: an axis in the signature of kl::gufunc is a name or a number");
  static_assert(E != CoreSignature::Fault::axes, "kiln: an argument of kl::gufunc has at most eight axes");
  static_assert(E != CoreSignature::Fault::operands, "kiln: kl::gufunc takes at most 16 arguments and results");
  static_assert(E != CoreSignature::Fault::letters, "kiln: the signature of kl::gufunc names at most 32 axes");
  return E == CoreSignature::Fault::none;
}

template <int Wanted, class... A>
constexpr bool require_arguments() {
  constexpr bool count_fits = Wanted == static_cast<int>(sizeof...(A));
  constexpr bool has_array = ((role_of<A> == Role::array || role_of<A> == Role::traced) || ...);
  static_assert(count_fits, "kiln: a kl::gufunc is called with as many arguments as its signature has");
  static_assert(has_array, "kiln: a call of a kl::gufunc needs an array among its arguments");
  return count_fits && has_array;
}

/// Restores the loops of the recorder, also when the user's function throws.
class LoopScope {
 public:
  LoopScope(Recorder& recorder, NodeId* values, const int* item_ranks, unsigned count)
      : recorder_(recorder), before_(enter_loops(recorder, values, item_ranks, count, {})) {}
  LoopScope(const LoopScope&) = delete;
  LoopScope& operator=(const LoopScope&) = delete;
  ~LoopScope() { leave_loops(recorder_, before_); }

 private:
  Recorder& recorder_;
  int before_;
};

template <class X>
inline constexpr bool is_traced_array = false;
template <class T>
inline constexpr bool is_traced_array<Sym<T>> = true;

/// The lambda that is traced: gives the user's function items.
template <FixedText Text, class F>
struct ItemFunction {
  [[no_unique_address]] F function;
  static constexpr const CoreSignature& signature = core_signature<Text>;

  template <class... A>
  auto operator()(const A&... arguments) const {
    return call(std::index_sequence_for<A...>{}, arguments...);
  }

 private:
  template <std::size_t... I, class... A>
  auto call(std::index_sequence<I...>, const A&... arguments) const {
    Recorder* recorder = nullptr;
    ((recorder = recorder ? recorder : recorder_of(arguments)), ...);
    NodeId nodes[sizeof...(A)];
    int ranks[sizeof...(A)], places[sizeof...(A)];
    unsigned count = 0;
    (add(arguments, signature.ranks[I], nodes, ranks, places[I], count), ...);
    const LoopScope scope(*recorder, nodes, ranks, count);
    auto results = function(item(*recorder, arguments, nodes[places[I] < 0 ? 0 : places[I]])...);
    check(*recorder, results);
    return results;
  }
  /// Numbers stay what they are.
  template <class A>
  static void add(const A& argument, int rank, NodeId* nodes, int* ranks, int& place, unsigned& count) {
    place = -1;
    if constexpr (is_traced_array<A>) {
      place = static_cast<int>(count);
      ranks[count] = rank;
      nodes[count++] = argument.node_as(A::dtype, {});
    }
  }
  template <class A>
  static auto item(Recorder& recorder, const A& argument, NodeId node) {
    if constexpr (is_traced_array<A>) {
      return A(recorder, node);
    } else {
      return argument;
    }
  }
  template <class S>
    requires(role_of<S> == Role::traced)
  static void check(Recorder& recorder, const S& result) {
    static_assert(signature.outputs == 1,
                  "kiln: the function of kl::gufunc returns as many values as its signature has");
    check_item_rank(recorder, result.node_as(S::dtype, {}), signature.ranks[signature.inputs], 0, signature.text);
  }
  template <template <class...> class Tuple, class... S>
    requires(sizeof...(S) > 0 && ((role_of<S> == Role::traced) && ...))
  static void check(Recorder& recorder, const Tuple<S...>& results) {
    static_assert(signature.outputs == static_cast<int>(sizeof...(S)),
                  "kiln: the function of kl::gufunc returns as many values as its signature has");
    check_all(recorder, results, std::index_sequence_for<S...>{});
  }
  template <class R, std::size_t... I>
  static void check_all(Recorder& recorder, const R& results, std::index_sequence<I...>) {
    (check_item_rank(recorder, get<I>(results).node_as(std::remove_cvref_t<decltype(get<I>(results))>::dtype, {}),
                     signature.ranks[signature.inputs + static_cast<int>(I)], I, signature.text),
     ...);
  }
};

}  // namespace detail

/// See the top of this file.
template <FixedText Text, class F>
class Gufunc : public detail::Inspectable<Gufunc<Text, F>> {
  using Item = detail::ItemFunction<Text, F>;

 public:
  constexpr explicit Gufunc(F function, const Options& options = {}, detail::Where where = {})
      : jit_(Item{static_cast<F&&>(function)}, options, nullptr, where) {}

  template <class... A>
  auto operator()(const A&... arguments) const {
    if constexpr (detail::require_arguments<detail::core_signature<Text>.inputs, A...>()) {
      if constexpr (((detail::role_of<A> == detail::Role::traced) || ...)) {
        return jit_(arguments...);
      } else {
        check(arguments...);
        auto results = jit_(arguments...);
        check_results(results, arguments...);
        return results;
      }
    }
  }
  /// g.into(y)(a, x): writes existing arrays or views.
  template <class... X>
  auto into(X&&... targets) const {
    return jit_.into(static_cast<X&&>(targets)...);
  }
  /// g[{.stream = s}](a, x): launch control.
  auto operator[](const Launch& launch) const { return jit_[launch]; }
  template <class... A>
  Inspection inspect_for(detail::ArchName arch, const A&... arguments) const {
    return jit_.inspect_for(arch, arguments...);
  }
  /// What its calls were compiled for: see Jit::specializations.
  Specializations specializations() const { return jit_.specializations(); }

 private:
  /// Ranks and extents of the operands, inputs first.
  struct Shapes {
    int ranks[detail::CoreSignature::most_operands];
    std::int64_t extents[detail::CoreSignature::most_operands * detail::max_rank];
    int count = 0;
    Shapes() {
      for (int& rank : ranks) rank = -1;
    }
    template <class A>
    void add(const A& a) {
      if constexpr (detail::role_of<A> == detail::Role::array) {
        const Shape shape = a.shape();
        ranks[count] = static_cast<int>(shape.size());
        for (int axis = 0; axis < ranks[count]; ++axis) extents[count * detail::max_rank + axis] = shape.data()[axis];
      } else {
        ranks[count] = 0;
      }
      ++count;
    }
  };
  template <class... A>
  void check(const A&... arguments) const {
    Shapes shapes;
    (shapes.add(arguments), ...);
    detail::check_core_axes(detail::core_signature<Text>, shapes.ranks, shapes.extents, jit_.definition());
  }
  template <class R, class... A>
  void check_results(const R& results, const A&... arguments) const {
    Shapes shapes;
    (shapes.add(arguments), ...);
    if constexpr (detail::role_of<R> == detail::Role::array) {
      shapes.add(results);
    } else {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (shapes.add(get<I>(results)), ...);
      }(std::make_index_sequence<static_cast<std::size_t>(detail::core_signature<Text>.outputs)>{});
    }
    detail::check_core_axes(detail::core_signature<Text>, shapes.ranks, shapes.extents, jit_.definition());
  }

  Jit<Item> jit_;
};

/// Makes a function over items of a lambda for one item: see the top of this file.
template <FixedText Text, class F>
constexpr Gufunc<Text, F> gufunc(F function, const Options& options = {}, detail::Where w = detail::Where::current()) {
  static_assert(detail::require_signature<detail::core_signature<Text>.fault>());
  return Gufunc<Text, F>(static_cast<F&&>(function), options, w);
}

}  // namespace kiln
