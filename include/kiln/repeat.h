// kiln/repeat.h -- kl::repeat: a loop inside a fused kernel, for each element, with a condition that ends it early.
//
//   auto mandelbrot = kl::jit([](auto cx, auto cy, auto most) {
//     auto [x, y, turns] = kl::repeat(most, std::tuple(0.0f * cx, 0.0f * cx, 0), [&](auto x, auto y, auto turns) {
//       return kl::break_if(x * x + y * y > 4.0f, std::tuple(x * x - y * y + cx, 2.0f * x * y + cy, turns + 1));
//     });
//     return turns;
//   });
//
//   n        an integer: a C++ number, a number that the compiled function was given (a run-time number: nothing is
//            compiled again), or an extent; below 2^31; 0 or less: no turn
//   state    one value or a std::tuple: traced values, which broadcast, and C++ numbers, which start as values of their
//            own type. n or one of them is a traced value: a number alone does not tell which function is being traced
//   body     is traced once. It gets a traced value per state and returns the next states, of the same types (numbers
//            take the type of the state). It may capture traced values of the function, which do not change in the loop
//            and are computed once before it, whatever they are: reductions, shifts, taken elements. What depends on a
//            state may use elementwise operations and kl::repeat only: no views, reductions, indices, and no
//            kl::function of CUDA text
//   break    kl::break_if(condition, states): where the condition holds, the element keeps the states it has and is
//            done; on a CPU its neighbours in a vector, on a GPU those in a warp, go on without it
//   result   the states after the last turn, in the shape that everything broadcasts to; f16 and bf16 states compute in
//            f32 and are not rounded between turns
//   cost     one loop in the kernel, however large n is: compiling does not depend on n. Several states of a loop are
//            computed together
//   errors   TypeError for operations that a body cannot hold, more than 7 states and captured values (complex ones
//            count twice), states used outside of their body; integers for n that do not fit, at the call
#pragma once

#include <tuple>

#include <kiln/functions.h>

namespace kiln {
namespace detail {

/// What a body returned: nodes of the next states, and of the condition, if any.
struct Repetition {
  NodeId turns;
  const NodeId* initial;
  const NodeId* states;
  const NodeId* next;
  unsigned count;
  const NodeId* condition;
};
/// Gives a node per state for the body to use.
KILN_API void begin_repeat(Recorder&, const NodeId* initial, unsigned count, NodeId* states, Where);
/// Appends the loop; writes a node per state.
KILN_API void end_repeat(Recorder&, const Repetition& repetition, NodeId* results, Where);

template <class C, class S>
struct BreakIf {
  C condition;
  S states;
};
template <class X>
inline constexpr bool is_break = false;
template <class C, class S>
inline constexpr bool is_break<BreakIf<C, S>> = true;

template <class X>
using StateElement = typename ElementOf<Operand<X>::type.type>::type;

template <class X>
constexpr bool require_state() {
  constexpr Role role = role_of<X>;
  static_assert(role != Role::array,
                "kiln: kl::repeat works inside of a kl::jit function; pass the array to one as an argument");
  static_assert(role != Role::none, "kiln: a state of kl::repeat is a traced value, a C++ number, or a tuple of these");
  return role == Role::traced || role == Role::number || role == Role::baked;
}

/// The type of the next state agrees with that of the state.
template <class State, class Next>
constexpr bool require_next() {
  constexpr bool is_value =
      role_of<Next> == Role::traced || role_of<Next> == Role::number || role_of<Next> == Role::baked;
  static_assert(is_value, "kiln: the body of kl::repeat returns the next states: traced values or C++ numbers");
  if constexpr (is_value) {
    constexpr OperandType given = Operand<Next>::type, wanted = Operand<State>::type;
    static_assert(given.weak ? kind_of(given.type) <= kind_of(wanted.type) : given.type == wanted.type,
                  "kiln: the body of kl::repeat returns a state of another type than it was given; convert it with "
                  "kl::cast, or start from a value of the type that it becomes");
  }
  return is_value;
}

template <class X, class T>
struct StatesOf {
  static constexpr bool fits = false;
};
template <class... S, class... N>
struct StatesOf<std::tuple<S...>, std::tuple<N...>> {
  static constexpr bool fits = sizeof...(S) == sizeof...(N);
};

template <class... S, class... N>
void next_nodes(Recorder& recorder, NodeId* nodes, Where where, const std::tuple<S...>*, const std::tuple<N...>& next) {
  if constexpr ((require_next<S, N>() && ...)) {
    std::apply([&](const N&... values) { ((*nodes++ = node_as(recorder, values, Operand<S>::type.type, where)), ...); },
               next);
  }
}

/// The loop over states of types S; the body has returned `next`, a std::tuple, and `condition`, null where it has
/// none.
template <class... S>
class Repeating {
 public:
  template <class N>
  Repeating(Where where, const N& n, const S&... initial) : where_(where) {
    recorder_ = recorder_of(n);
    ((recorder_ = common_recorder(recorder_, recorder_of(initial), where)), ...);
    NodeId* node = initial_;
    ((*node++ = node_as(*recorder_, initial, Operand<S>::type.type, where)), ...);
    if constexpr (role_of<N> == Role::number) (void)held_by<std::int32_t>(n, "kl::repeat", where);
    turns_ = node_as(*recorder_, n, DType::i32, where);
    begin_repeat(*recorder_, initial_, sizeof...(S), states_, where);
  }
  auto states() const { return values(states_, std::index_sequence_for<S...>{}); }

  template <class Next>
  auto finish(const Next& next) const {
    if constexpr (is_break<Next>) {
      using C = std::remove_cvref_t<decltype(next.condition)>;
      static_assert(role_of<C> == Role::traced && Operand<C>::type.type == DType::b1,
                    "kiln: the condition of kl::break_if is a traced bool: a comparison of states");
      const NodeId condition = node_as(*recorder_, next.condition, DType::b1, where_);
      return finish_states(next.states, &condition);
    } else {
      return finish_states(next, nullptr);
    }
  }

 private:
  template <class Next>
  auto finish_states(const Next& next, const NodeId* condition) const {
    if constexpr (role_of<Next> != Role::none) {
      return finish_states(std::tuple<Next>(next), condition);
    } else {
      constexpr bool fits = StatesOf<std::tuple<S...>, Next>::fits;
      static_assert(fits, "kiln: the body of kl::repeat returns as many states as it is given, as a std::tuple");
      NodeId nodes[sizeof...(S)], results[sizeof...(S)];
      if constexpr (fits) next_nodes(*recorder_, nodes, where_, static_cast<std::tuple<S...>*>(nullptr), next);
      end_repeat(*recorder_, {turns_, initial_, states_, nodes, sizeof...(S), condition}, results, where_);
      return values(results, std::index_sequence_for<S...>{});
    }
  }
  template <std::size_t... I>
  auto values(const NodeId* nodes, std::index_sequence<I...>) const {
    return std::tuple(Sym<StateElement<S>>(*recorder_, nodes[I])...);
  }

  Where where_;
  Recorder* recorder_ = nullptr;
  NodeId turns_ = 0, initial_[sizeof...(S)], states_[sizeof...(S)];
};

template <class N, class... S>
constexpr bool require_repeat() {
  constexpr bool counts = role_of<N> == Role::traced || role_of<N> == Role::number || role_of<N> == Role::baked;
  static_assert(counts && is_integer(Operand<N>::type.type),
                "kiln: the first argument of kl::repeat is the number of turns, an integer");
  constexpr bool states = (require_state<S>() && ...);
  constexpr bool traced = ((role_of<S> == Role::traced) || ...) || role_of<N> == Role::traced;
  static_assert(!states || traced,
                "kiln: kl::repeat needs a traced value among its states, or as the number of turns: write 0.0f * x for "
                "a state that starts at 0");
  return counts && is_integer(Operand<N>::type.type) && states && traced;
}

}  // namespace detail

/// What the body of kl::repeat returns to end the loop where `condition`, of the states before this turn, holds.
template <class C, class S>
detail::BreakIf<C, S> break_if(const C& condition, const S& states) {
  return {condition, states};
}

/// Several states: see the top of this file. Returns a std::tuple.
template <class N, class... S, class F>
auto repeat(const N& n, const std::tuple<S...>& states, const F& body, detail::Where w = detail::Where::current()) {
  if constexpr (detail::require_repeat<N, S...>()) {
    const auto loop = std::apply([&](const S&... s) { return detail::Repeating<S...>(w, n, s...); }, states);
    return loop.finish(std::apply(body, loop.states()));
  } else {
    return states;  // one error is enough
  }
}
/// One state.
template <class N, class S, class F>
auto repeat(const N& n, const S& state, const F& body, detail::Where w = detail::Where::current()) {
  if constexpr (detail::require_repeat<N, S>()) {
    const detail::Repeating<S> loop(w, n, state);
    return std::get<0>(loop.finish(std::apply(body, loop.states())));
  } else {
    return state;
  }
}

}  // namespace kiln
