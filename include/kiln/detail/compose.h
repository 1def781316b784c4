// kiln/detail/compose.h -- one operation of an expression: its types, its checks, and what it makes.
#pragma once

#include <kiln/detail/element.h>

namespace kiln::detail {

/// The types of operation O on operands X, with the checks.
template <Op O, class... X>
struct Typed {
  static_assert(((Operand<X>::role != Role::none) && ...),
                "kiln: an operand is not an array, an expression, a traced value or a C++ number"
                "; copy host memory with kl::from_host");
  static constexpr bool traced = ((Operand<X>::role == Role::traced) || ...);
  static constexpr OperandType types[] = {Operand<X>::type...};
  static constexpr Resolution r = resolve(O, types, sizeof...(X));
  static constexpr bool checked = require_well_typed<r.fault>();
};

template <Op O, class A, class T = Typed<O, A>>
using UnaryOf = Expression<Apply<O, T::r.result, typename Operand<A>::template Structure<T::r.operands[0]>>>;
template <Op O, class A, class B, class T = Typed<O, A, B>>
using BinaryOf = Expression<Apply<O, T::r.result, typename Operand<A>::template Structure<T::r.operands[0]>,
                                  typename Operand<B>::template Structure<T::r.operands[1]>>>;
template <Op O, class A, class B, class C, class T = Typed<O, A, B, C>>
using TernaryOf = Expression<Apply<O, T::r.result, typename Operand<A>::template Structure<T::r.operands[0]>,
                                   typename Operand<B>::template Structure<T::r.operands[1]>,
                                   typename Operand<C>::template Structure<T::r.operands[2]>>>;

/// A traced operation; defined in sym.h.
template <Op O, class... X>
auto record(Where where, const X&... operands);

/// A C++ number as a slot.
template <class C>
Slot number_slot(const C& number) {
  const NumberOf<C> value = static_cast<NumberOf<C>>(number);
  Slot slot = {};
  if constexpr (sizeof value == 4) {  // as a word: a load of what was stored in pieces waits for the stores
    slot.words[0] = __builtin_bit_cast(std::uint32_t, value);
  } else {
    __builtin_memcpy(slot.words, &value, sizeof value);
  }
  return slot;
}
template <class C>
Slot number_slot(const Const<C>& number) {
  return number_slot(number.value);
}

template <class X>
inline constexpr bool is_number = Operand<X>::role == Role::number || Operand<X>::role == Role::baked;
/// The slots of an operand; `number` is room for that of a number. Arrays and expressions consist of their slots.
template <class X>
const void* slots_of(const X& x, Slot& number) {
  if constexpr (is_number<X>) {
    number = number_slot(x);
    return &number;
  } else {
    return &x;
  }
}
/// How an operand that was passed as X&& is taken.
template <class X>
constexpr Take take_of() {
  using Value = std::remove_cvref_t<X>;
  return is_number<Value> ? take_slots(1, false) : take_slots(sizeof(Value) / sizeof(Slot), is_movable<X>);
}

/// An integer power by a number needs an exponent >= 0: a result that is always 0 or 1 is a mistake.
template <class A, class B>
void check_exponent_of(Where where, const B& exponent) {
  if constexpr (is_integer(Operand<A>::type.type) && is_integer(Operand<B>::type.type)) {
    if constexpr (Operand<B>::role == Role::number) check_exponent(scalar_argument(exponent), where);
    if constexpr (Operand<B>::role == Role::baked) check_exponent(scalar_argument(exponent.value), where);
  }
}

// The bodies of operators and named functions, of operands `a` and `b` of types `A` and `B`. They are macros because a
// function between an operator and the library is instantiated and optimised for each operation of each expression:
// 0.4 ms for an expression of five operations.
#define KILN_COMPOSE_UNARY(op, A, a, take_a, where)                                      \
  using Types = ::kiln::detail::Typed<op, A>;                                            \
  static_assert(Types::checked);                                                         \
  if constexpr (Types::traced) {                                                         \
    return ::kiln::detail::record<op>(where, a);                                         \
  } else {                                                                               \
    return ::kiln::detail::UnaryOf<op, A>(::kiln::detail::OfSlots{}, where, take_a, &a); \
  }
#define KILN_COMPOSE_BINARY(op, A, a, take_a, B, b, take_b, where)                                    \
  using Types = ::kiln::detail::Typed<op, A, B>;                                                      \
  static_assert(Types::checked);                                                                      \
  if constexpr (Types::traced) {                                                                      \
    return ::kiln::detail::record<op>(where, a, b);                                                   \
  } else {                                                                                            \
    const ::kiln::detail::Take take = ::kiln::detail::take_both(take_a, take_b);                      \
    if constexpr (::kiln::detail::is_number<A>) {                                                     \
      const ::kiln::detail::Slot number = ::kiln::detail::number_slot(a);                             \
      return ::kiln::detail::BinaryOf<op, A, B>(::kiln::detail::OfSlots{}, where, take, &number, &b); \
    } else if constexpr (::kiln::detail::is_number<B>) {                                              \
      const ::kiln::detail::Slot number = ::kiln::detail::number_slot(b);                             \
      return ::kiln::detail::BinaryOf<op, A, B>(::kiln::detail::OfSlots{}, where, take, &a, &number); \
    } else {                                                                                          \
      return ::kiln::detail::BinaryOf<op, A, B>(::kiln::detail::OfSlots{}, where, take, &a, &b);      \
    }                                                                                                 \
  }

/// An operation of three operands; there are few, and all are functions.
template <Op O, class X, class Y, class Z>
auto ternary(Where where, X&& a, Y&& b, Z&& c) {
  using A = std::remove_cvref_t<X>;
  using B = std::remove_cvref_t<Y>;
  using C = std::remove_cvref_t<Z>;
  using T = Typed<O, A, B, C>;
  static_assert(T::checked);
  if constexpr (T::traced) {
    return record<O>(where, a, b, c);
  } else {
    Slot numbers[3];
    return TernaryOf<O, A, B, C>(OfSlots{}, where, take_both(take_of<X>(), take_both(take_of<Y>(), take_of<Z>())),
                                 slots_of(a, numbers[0]), slots_of(b, numbers[1]), slots_of(c, numbers[2]));
  }
}

}  // namespace kiln::detail
