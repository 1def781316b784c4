// kiln/detail/operators.h -- the operators of arrays, expressions and traced values, as friends found by their
// operands.
//
// One operand is taken through Located<Self>, whose implicit constructor notes the user's file and line; only the other
// one is deduced. == and != take both by reference: with a conversion on one side C++20's reversed candidates are
// ambiguous.
#pragma once

#include <kiln/detail/element.h>

namespace kiln {
namespace detail {

/// Compose or record one operation (expr.h). The flags tell which operands are temporaries.
template <Op O, class A>
auto unary(Where where, const A& a, bool move_a);
template <Op O, class A, class B>
auto binary(Where where, const A& a, bool move_a, const B& b, bool move_b);

/// The left operand of an operator whose array stands on the right: anything but another array.
template <class L>
concept left_number = role_of<L> == Role::number || role_of<L> == Role::baked || !std::is_class_v<L>;

#define KILN_BINARY(symbol, op)                                                                         \
  template <class R>                                                                                    \
  friend auto operator symbol(Located<Self> l, R&& r) {                                                 \
    return binary<Op::op, Self, std::remove_cvref_t<R>>(l.where, l.value, l.movable, r, is_movable<R>); \
  }
#define KILN_EQUALITY(symbol, op)                          \
  template <class R>                                       \
  friend auto operator symbol(const Self& l, const R& r) { \
    return binary<Op::op>(Where{}, l, false, r, false);    \
  }                                                        \
  template <left_number L>                                 \
  friend auto operator symbol(const L& l, const Self& r) { \
    return binary<Op::op>(Where{}, l, false, r, false);    \
  }
#define KILN_UNARY(symbol, op) \
  friend auto operator symbol(Located<Self> a) { return unary<Op::op>(a.where, a.value, a.movable); }

template <class Self>
struct Operators {
  KILN_BINARY(+, add)
  KILN_BINARY(-, sub)
  KILN_BINARY(*, mul)
  KILN_BINARY(/, div)
  KILN_BINARY(%, mod)
  KILN_BINARY(<, lt)
  KILN_BINARY(<=, le)
  KILN_BINARY(>, gt)
  KILN_BINARY(>=, ge)
  KILN_BINARY(&&, logical_and)
  KILN_BINARY(||, logical_or)
  KILN_BINARY(&, bit_and)
  KILN_BINARY(|, bit_or)
  KILN_BINARY(^, bit_xor)
  KILN_BINARY(<<, shl)
  KILN_BINARY(>>, shr)
  KILN_EQUALITY(==, eq)
  KILN_EQUALITY(!=, ne)
  KILN_UNARY(-, neg)
  KILN_UNARY(~, bit_not)
  KILN_UNARY(!, logical_not)
};

/// As Located, for the left operand of a compound assignment.
template <class Self>
struct Assigned {
  Self& value;
  Where where;
  Assigned(Self& v, const char* f = __builtin_FILE(), unsigned l = __builtin_LINE()) : value(v), where{f, l} {}
  Assigned(Self&& v, const char* f = __builtin_FILE(), unsigned l = __builtin_LINE()) : value(v), where{f, l} {}
};

#define KILN_COMPOUND(symbol, op)                                                                            \
  template <class R>                                                                                         \
  friend Self& operator symbol(Assigned<Self> l, R && r) {                                                   \
    l.value.update(binary<Op::op, Self, std::remove_cvref_t<R>>(l.where, l.value, false, r, is_movable<R>)); \
    return l.value;                                                                                          \
  }

/// a += b and its like: computes into `a`, which keeps its shape and type.
template <class Self>
struct CompoundAssignment {
  KILN_COMPOUND(+=, add)
  KILN_COMPOUND(-=, sub)
  KILN_COMPOUND(*=, mul)
  KILN_COMPOUND(/=, div)
  KILN_COMPOUND(%=, mod)
  KILN_COMPOUND(&=, bit_and)
  KILN_COMPOUND(|=, bit_or)
  KILN_COMPOUND(^=, bit_xor)
  KILN_COMPOUND(<<=, shl)
  KILN_COMPOUND(>>=, shr)
};

#undef KILN_COMPOUND
#undef KILN_BINARY
#undef KILN_EQUALITY
#undef KILN_UNARY

template <class X>
inline constexpr bool is_expression = false;
template <class S>
inline constexpr bool is_expression<Expression<S>> = true;

}  // namespace detail

// An expression on the left: once for all of them, since every friend costs each expression's compile time. The place
// is that of the expression's own last operation, in the same statement.
#define KILN_LEFT_EXPRESSION(symbol, op)                                           \
  template <class L, class R>                                                      \
    requires(detail::is_expression<std::remove_cvref_t<L>>)                        \
  auto operator symbol(L&& l, R&& r) {                                             \
    return detail::binary<Op::op, std::remove_cvref_t<L>, std::remove_cvref_t<R>>( \
        detail::Where{}, l, detail::is_movable<L>, r, detail::is_movable<R>);      \
  }
#define KILN_OF_EXPRESSION(symbol, op)                                                               \
  template <class A>                                                                                 \
    requires(detail::is_expression<std::remove_cvref_t<A>>)                                          \
  auto operator symbol(A&& a) {                                                                      \
    return detail::unary<Op::op, std::remove_cvref_t<A>>(detail::Where{}, a, detail::is_movable<A>); \
  }
KILN_LEFT_EXPRESSION(+, add)
KILN_LEFT_EXPRESSION(-, sub)
KILN_LEFT_EXPRESSION(*, mul)
KILN_LEFT_EXPRESSION(/, div)
KILN_LEFT_EXPRESSION(%, mod)
KILN_LEFT_EXPRESSION(<, lt)
KILN_LEFT_EXPRESSION(<=, le)
KILN_LEFT_EXPRESSION(>, gt)
KILN_LEFT_EXPRESSION(>=, ge)
KILN_LEFT_EXPRESSION(&&, logical_and)
KILN_LEFT_EXPRESSION(||, logical_or)
KILN_LEFT_EXPRESSION(&, bit_and)
KILN_LEFT_EXPRESSION(|, bit_or)
KILN_LEFT_EXPRESSION(^, bit_xor)
KILN_LEFT_EXPRESSION(<<, shl)
KILN_LEFT_EXPRESSION(>>, shr)
KILN_OF_EXPRESSION(-, neg)
KILN_OF_EXPRESSION(~, bit_not)
KILN_OF_EXPRESSION(!, logical_not)
#undef KILN_LEFT_EXPRESSION
#undef KILN_OF_EXPRESSION

// By reference on both sides, as for arrays.
#define KILN_EQUALITY_OF_EXPRESSION(symbol, op)                         \
  template <class S, class R>                                           \
  auto operator symbol(const Expression<S>& l, const R& r) {            \
    return detail::binary<Op::op>(detail::Where{}, l, false, r, false); \
  }                                                                     \
  template <detail::left_number L, class S>                             \
  auto operator symbol(const L& l, const Expression<S>& r) {            \
    return detail::binary<Op::op>(detail::Where{}, l, false, r, false); \
  }
KILN_EQUALITY_OF_EXPRESSION(==, eq)
KILN_EQUALITY_OF_EXPRESSION(!=, ne)
#undef KILN_EQUALITY_OF_EXPRESSION

// A number on the left: once for all operand types, since every friend costs each expression's compile time. The place
// is that of the operation around it.
#define KILN_LEFT_NUMBER(symbol, op)                                                                               \
  template <detail::left_number L, class R>                                                                        \
    requires(detail::any_operand<R>)                                                                               \
  auto operator symbol(const L& l, R&& r) {                                                                        \
    return detail::binary<Op::op, L, std::remove_cvref_t<R>>(detail::Where{}, l, false, r, detail::is_movable<R>); \
  }
KILN_LEFT_NUMBER(+, add)
KILN_LEFT_NUMBER(-, sub)
KILN_LEFT_NUMBER(*, mul)
KILN_LEFT_NUMBER(/, div)
KILN_LEFT_NUMBER(%, mod)
KILN_LEFT_NUMBER(<, lt)
KILN_LEFT_NUMBER(<=, le)
KILN_LEFT_NUMBER(>, gt)
KILN_LEFT_NUMBER(>=, ge)
KILN_LEFT_NUMBER(&&, logical_and)
KILN_LEFT_NUMBER(||, logical_or)
KILN_LEFT_NUMBER(&, bit_and)
KILN_LEFT_NUMBER(|, bit_or)
KILN_LEFT_NUMBER(^, bit_xor)
KILN_LEFT_NUMBER(<<, shl)
KILN_LEFT_NUMBER(>>, shr)
#undef KILN_LEFT_NUMBER

}  // namespace kiln
