// kiln/functions.h -- the named functions of ops.def, and cast, index, where.
#pragma once

#include <kiln/detail/standard_functions.h>
#include <kiln/sym.h>

namespace kiln {

namespace detail {
/// C++ numbers alone, refused: a conversion, so that everything that fits is chosen before.
struct PlainNumber {
  template <class N>  // kl::half finds these functions beside those of <cmath>, and converts to their float
    requires(std::is_arithmetic_v<N> || complex_like<N>)
  PlainNumber(N) {
    static_assert(no_dtype<N>::value,
                  "kiln: functions of kl:: take an array, an expression or a traced value; of C++ numbers alone: "
                  "std::exp(2.0f), std::fmax(a, b), static_cast<float>(n)");
  }
};
}  // namespace detail

namespace detail {
template <int Count, class... X>
concept wrong_count = sizeof...(X) != Count && any_operand<X...> && ((role_of<X> != Role::none) && ...);
template <int Count, class... X>
typename FirstOperand<X...>::type refuse_count(const X&...) {
  static_assert(Count != 1, "kiln: this function takes one operand; reductions of several are kl::sum and its like");
  static_assert(Count != 2, "kiln: this function takes two operands");
  static_assert(Count != 3, "kiln: this function takes three operands");
  __builtin_unreachable();
}
}  // namespace detail

#define KILN_WRONG_COUNT(id, n)                                 \
  template <class... X>                                         \
    requires(detail::wrong_count<n, X...>)                      \
  typename detail::FirstOperand<X...>::type id(const X&... x) { \
    return detail::refuse_count<n>(x...);                       \
  }
#define KILN_FUNCTION_1(id)                                    \
  template <class X>                                           \
    requires(detail::function_operands<X>)                     \
  auto id(X&& a, detail::Where w = detail::Where::current()) { \
    using A = std::remove_cvref_t<X>;                          \
    KILN_COMPOSE_UNARY(Op::id, A, a, detail::take_of<X>(), w)  \
  }                                                            \
  float id(detail::PlainNumber);                               \
  KILN_WRONG_COUNT(id, 1)
#define KILN_FUNCTION_2(id)                                                                \
  template <class X, class Y>                                                              \
    requires(detail::function_operands<X, Y>)                                              \
  auto id(X&& a, Y&& b, detail::Where w = detail::Where::current()) {                      \
    using A = std::remove_cvref_t<X>;                                                      \
    using B = std::remove_cvref_t<Y>;                                                      \
    if constexpr (Op::id == Op::pow) detail::check_exponent_of<A>(w, b);                   \
    KILN_COMPOSE_BINARY(Op::id, A, a, detail::take_of<X>(), B, b, detail::take_of<Y>(), w) \
  }                                                                                        \
  float id(detail::PlainNumber, detail::PlainNumber);                                      \
  KILN_WRONG_COUNT(id, 2)
#define KILN_FUNCTION_3(id)                                                                           \
  template <class X, class Y, class Z>                                                                \
    requires(detail::function_operands<X, Y, Z>)                                                      \
  auto id(X&& a, Y&& b, Z&& c, detail::Where w = detail::Where::current()) {                          \
    return detail::ternary<Op::id>(w, static_cast<X&&>(a), static_cast<Y&&>(b), static_cast<Z&&>(c)); \
  }                                                                                                   \
  float id(detail::PlainNumber, detail::PlainNumber, detail::PlainNumber);                            \
  KILN_WRONG_COUNT(id, 3)
// `where` below also takes conditions that are not bool.
#define KILN_OP(id, arity, domain, result, cuda, llvm, doc) KILN_FUNCTION_##result##_##arity(id)
#define KILN_FUNCTION_same_1 KILN_FUNCTION_1
#define KILN_FUNCTION_same_2 KILN_FUNCTION_2
#define KILN_FUNCTION_same_3 KILN_FUNCTION_3
#define KILN_FUNCTION_boolean_1 KILN_FUNCTION_1
#define KILN_FUNCTION_boolean_2 KILN_FUNCTION_2
#define KILN_FUNCTION_floating_1 KILN_FUNCTION_1
#define KILN_FUNCTION_floating_2 KILN_FUNCTION_2
#define KILN_FUNCTION_real_1 KILN_FUNCTION_1
#define KILN_FUNCTION_realfloat_1 KILN_FUNCTION_1
#define KILN_FUNCTION_select_3(id)
#include <kiln/ops.def>
#undef KILN_OP
#undef KILN_WRONG_COUNT
#undef KILN_FUNCTION_1
#undef KILN_FUNCTION_2
#undef KILN_FUNCTION_3
#undef KILN_FUNCTION_same_1
#undef KILN_FUNCTION_same_2
#undef KILN_FUNCTION_same_3
#undef KILN_FUNCTION_boolean_1
#undef KILN_FUNCTION_boolean_2
#undef KILN_FUNCTION_floating_1
#undef KILN_FUNCTION_floating_2
#undef KILN_FUNCTION_real_1
#undef KILN_FUNCTION_realfloat_1
#undef KILN_FUNCTION_select_3

/// Converts the elements to T with the rules of the conversion table: floats to integers saturate, NaN gives 0.
template <class T, class X>
  requires(detail::function_operands<X>)
auto cast(X&& x, detail::Where w = detail::Where::current()) {
  if constexpr (detail::role_of<X> == detail::Role::traced) {
    return x.template astype<T>(w);
  } else {
    return detail::convert<dtype_of<T>>(w, static_cast<X&&>(x));
  }
}

template <class T>
T cast(detail::PlainNumber);

/// Elements of `a` where the condition holds (is not 0), else of `b`.
template <class C, class A, class B>
  requires(detail::function_operands<C, A, B>)
auto where(C&& condition, A&& a, B&& b, detail::Where w = detail::Where::current()) {
  using Condition = detail::Operand<std::remove_cvref_t<C>>;
  if constexpr (Condition::role == detail::Role::array && Condition::type.type != DType::b1) {
    return where(cast<bool>(static_cast<C&&>(condition), w), static_cast<A&&>(a), static_cast<B&&>(b), w);
  } else {
    return detail::ternary<Op::where>(w, static_cast<C&&>(condition), static_cast<A&&>(a), static_cast<B&&>(b));
  }
}

float where(detail::PlainNumber, detail::PlainNumber, detail::PlainNumber);
template <class C, class... A>
  requires(sizeof...(A) < 2)
C where(const C& condition, const A&...) {
  static_assert(sizeof...(A) == 2,
                "kiln: kl::where takes a condition and two values, kl::where(x > 0, x, 0); it does not list positions: "
                "see kl::index and kl::count_nonzero");
  return condition;
}

/// The i64 coordinate of each element of `x` along `axis`; negative axes count from the end.
template <class X>
  requires(detail::function_operands<X>)
auto index(const X& x, int axis, detail::Where w = detail::Where::current()) {
  if constexpr (detail::role_of<X> == detail::Role::traced) {
    detail::Recorder& recorder = x.recorder();
    return Sym<std::int64_t>(recorder, detail::record_index(recorder, x.node_as(X::dtype, w), axis, w));
  } else {
    const detail::Handle operand = detail::index_operand(detail::expression_of(x, false).parts(), axis, w);
    return detail::leaf<detail::Iota>(detail::slot_of(operand));
  }
}

}  // namespace kiln
