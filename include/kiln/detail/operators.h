// kiln/detail/operators.h -- the operators of arrays, expressions and traced values.
//
// An array or traced value is taken through Located<Self>, whose implicit constructor notes the user's file and line;
// such operators are friends, found by that operand. An expression beside an array or number takes the place of its own
// last operation, in the same statement: its operators are templates for all expressions, since every friend would cost
// the compile time of each.
#pragma once

#include <kiln/detail/compose.h>

namespace kiln {
namespace detail {

/// The left operand of an operator whose array stands on the right: anything but another array.
template <class L>
concept left_number = role_of<L> == Role::number || role_of<L> == Role::baked || !std::is_class_v<L>;

template <class X>
inline constexpr bool is_expression = false;
template <class S>
inline constexpr bool is_expression<Expression<S>> = true;

// clang-format off
#define KILN_SIGN_OPERATORS(apply) apply(-, neg) apply(~, bit_not)
#define KILN_UNARY_OPERATORS(apply) KILN_SIGN_OPERATORS(apply) apply(!, logical_not)
#define KILN_ARITHMETIC_OPERATORS(apply)                                                                   \
  apply(+, add) apply(-, sub) apply(*, mul) apply(/, div) apply(%, mod)                                    \
  apply(&, bit_and) apply(|, bit_or) apply(^, bit_xor) apply(<<, shl) apply(>>, shr)
#define KILN_BINARY_OPERATORS(apply) KILN_ARITHMETIC_OPERATORS(apply)                                      \
  apply(<, lt) apply(<=, le) apply(>, gt) apply(>=, ge) apply(&&, logical_and) apply(||, logical_or)
#define KILN_EQUALITY_OPERATORS(apply) apply(==, eq) apply(!=, ne)
// clang-format on

#define KILN_FRIEND_UNARY(symbol, op) \
  friend auto operator symbol(Located<Self> a) { KILN_COMPOSE_UNARY(Op::op, Self, a.value, a.take, a.where) }
// By reference: beside Located's conversion the one to bool, which explains itself, would make ! ambiguous.
#define KILN_FRIEND_NOT(X) \
  friend auto operator!(X a) { KILN_COMPOSE_UNARY(Op::logical_not, Self, a, take_of<X>(), Where{}) }
// The same holds for && and || beside a bool.
#define KILN_FRIEND_LOGICAL(symbol, op)                                                       \
  template <class R>                                                                          \
    requires std::is_same_v<R, bool>                                                          \
  friend auto operator symbol(const Self& l, R r) {                                           \
    KILN_COMPOSE_BINARY(Op::op, Self, l, take_of<const Self&>(), R, r, take_of<R>(), Where{}) \
  }                                                                                           \
  template <class L>                                                                          \
    requires std::is_same_v<L, bool>                                                          \
  friend auto operator symbol(L l, const Self& r) {                                           \
    KILN_COMPOSE_BINARY(Op::op, L, l, take_of<L>(), Self, r, take_of<const Self&>(), Where{}) \
  }
#define KILN_FRIEND_BINARY(symbol, op)                                              \
  template <class R>                                                                \
  friend auto operator symbol(Located<Self> l, R&& r) {                             \
    using B = std::remove_cvref_t<R>;                                               \
    KILN_COMPOSE_BINARY(Op::op, Self, l.value, l.take, B, r, take_of<R>(), l.where) \
  }                                                                                 \
  template <left_number L>                                                          \
  friend auto operator symbol(const L& l, Located<Self> r) {                        \
    KILN_COMPOSE_BINARY(Op::op, L, l, take_of<L>(), Self, r.value, r.take, r.where) \
  }
// Operands of different types are taken by reference: with a conversion on one side, C++20's reversed candidates are
// ambiguous.
#define KILN_FRIEND_EQUALITY(symbol, op)                                                             \
  friend auto operator symbol(Located<Self> l, Located<Self> r) {                                    \
    KILN_COMPOSE_BINARY(Op::op, Self, l.value, l.take, Self, r.value, r.take, l.where)               \
  }                                                                                                  \
  template <class R>                                                                                 \
    requires(!std::is_same_v<R, Self> && !left_number<R>)                                            \
  friend auto operator symbol(const Self& l, const R& r) {                                           \
    KILN_COMPOSE_BINARY(Op::op, Self, l, take_of<const Self&>(), R, r, take_of<const R&>(), Where{}) \
  }                                                                                                  \
  template <left_number R>                                                                           \
  friend auto operator symbol(Located<Self> l, const R& r) {                                         \
    KILN_COMPOSE_BINARY(Op::op, Self, l.value, l.take, R, r, take_of<R>(), l.where)                  \
  }                                                                                                  \
  template <left_number L>                                                                           \
  friend auto operator symbol(const L& l, Located<Self> r) {                                         \
    KILN_COMPOSE_BINARY(Op::op, L, l, take_of<L>(), Self, r.value, r.take, r.where)                  \
  }

template <class Self>
struct Operators {
  KILN_SIGN_OPERATORS(KILN_FRIEND_UNARY)
  KILN_FRIEND_NOT(const Self&)
  KILN_FRIEND_NOT(Self&&)
  KILN_FRIEND_LOGICAL(&&, logical_and)
  KILN_FRIEND_LOGICAL(||, logical_or)
  KILN_BINARY_OPERATORS(KILN_FRIEND_BINARY)
  KILN_EQUALITY_OPERATORS(KILN_FRIEND_EQUALITY)
};

/// As Located, for the left operand of a compound assignment.
template <class Self>
struct Assigned {
  Self& value;
  Where where;
  Assigned(Self& v, const char* f = __builtin_FILE(), unsigned l = __builtin_LINE()) : value(v), where{f, l} {}
  Assigned(Self&& v, const char* f = __builtin_FILE(), unsigned l = __builtin_LINE()) : value(v), where{f, l} {
    static_assert(role_of<Self> != Role::traced,
                  "kiln: elements of a traced value are not assigned to; compute the new value: "
                  "kl::where(kl::index(a, 0) == 0, a + 1, a)");
  }
  template <class V>
    requires(std::is_same_v<V, const Self>)
  Assigned(V& v) : value(const_cast<Self&>(v)), where{} {
    static_assert(no_dtype<V>::value, "kiln: what is const cannot be assigned to");
  }
};
/// The value of such an assignment.
template <Op O, class A, class R>
auto updated(const Assigned<A>& l, R&& r) {
  using B = std::remove_cvref_t<R>;
  KILN_COMPOSE_BINARY(O, A, l.value, take_of<A&>(), B, r, take_of<R>(), l.where)
}

#define KILN_FRIEND_ASSIGNING(symbol, op)                     \
  template <class R>                                          \
  friend Self& operator symbol##=(Assigned<Self> l, R && r) { \
    l.value.update(updated<Op::op>(l, static_cast<R&&>(r)));  \
    return l.value;                                           \
  }

/// a += b and its like: computes into `a`, which keeps its shape and type.
template <class Self>
struct CompoundAssignment {
  KILN_ARITHMETIC_OPERATORS(KILN_FRIEND_ASSIGNING)
};

#undef KILN_FRIEND_UNARY
#undef KILN_FRIEND_NOT
#undef KILN_FRIEND_LOGICAL
#undef KILN_FRIEND_BINARY
#undef KILN_FRIEND_EQUALITY
#undef KILN_FRIEND_ASSIGNING

}  // namespace detail

#define KILN_EXPRESSION_UNARY(symbol, op)                                   \
  template <class X>                                                        \
    requires(detail::is_expression<std::remove_cvref_t<X>>)                 \
  auto operator symbol(X&& a) {                                             \
    using A = std::remove_cvref_t<X>;                                       \
    KILN_COMPOSE_UNARY(Op::op, A, a, detail::take_of<X>(), detail::Where{}) \
  }
#define KILN_EXPRESSION_BINARY(symbol, op)                                                                   \
  template <class L, class R>                                                                                \
    requires(detail::is_expression<std::remove_cvref_t<L>> ||                                                \
             (detail::is_expression<std::remove_cvref_t<R>> && detail::left_number<std::remove_cvref_t<L>>)) \
  auto operator symbol(L&& l, R&& r) {                                                                       \
    using A = std::remove_cvref_t<L>;                                                                        \
    using B = std::remove_cvref_t<R>;                                                                        \
    KILN_COMPOSE_BINARY(Op::op, A, l, detail::take_of<L>(), B, r, detail::take_of<R>(), detail::Where{})     \
  }
#define KILN_EXPRESSION_EQUALITY(symbol, op)                                                               \
  template <class S, class B>                                                                              \
  auto operator symbol(const Expression<S>& l, const B& r) {                                               \
    using A = Expression<S>;                                                                               \
    KILN_COMPOSE_BINARY(Op::op, A, l, detail::take_of<A&>(), B, r, detail::take_of<B&>(), detail::Where{}) \
  }                                                                                                        \
  template <detail::left_number A, class S>                                                                \
  auto operator symbol(const A& l, const Expression<S>& r) {                                               \
    using B = Expression<S>;                                                                               \
    KILN_COMPOSE_BINARY(Op::op, A, l, detail::take_of<A&>(), B, r, detail::take_of<B&>(), detail::Where{}) \
  }
KILN_UNARY_OPERATORS(KILN_EXPRESSION_UNARY)
KILN_BINARY_OPERATORS(KILN_EXPRESSION_BINARY)
KILN_EQUALITY_OPERATORS(KILN_EXPRESSION_EQUALITY)
#undef KILN_EXPRESSION_UNARY
#undef KILN_EXPRESSION_BINARY
#undef KILN_EXPRESSION_EQUALITY
#undef KILN_UNARY_OPERATORS
#undef KILN_SIGN_OPERATORS
#undef KILN_BINARY_OPERATORS
#undef KILN_EQUALITY_OPERATORS
#undef KILN_ARITHMETIC_OPERATORS

}  // namespace kiln
