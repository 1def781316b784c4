// kiln/expr.h -- inline expressions: by-value objects that own their operands and evaluate when assigned.
#pragma once

#include <utility>

#include <kiln/detail/operators.h>
#include <kiln/detail/view_operations.h>

namespace kiln {
namespace detail {

/// A C++ number as a slot.
template <class C>
Slot number_slot(const C& number) {
  const NumberOf<C> value = static_cast<NumberOf<C>>(number);
  Slot slot = {};
  __builtin_memcpy(slot.words, &value, sizeof value);
  return slot;
}
template <class C>
Slot number_slot(const Const<C>& number) {
  return number_slot(number.value);
}

template <class X>
inline constexpr bool is_number = Operand<X>::role == Role::number || Operand<X>::role == Role::baked;
/// Arrays and expressions consist of their slots.
template <class X>
inline constexpr unsigned slot_count = is_number<X> ? 1 : sizeof(X) / sizeof(Slot);

}  // namespace detail

/// An elementwise expression over arrays. It shares ownership of its arrays and copies its scalars, so it may be
/// stored, moved and evaluated many times. `S` spells its operations; the object holds the operands only.
template <class S>
struct Expression : public detail::ViewOperations<Expression<S>> {
  using Structure = S;
  using value_type = typename detail::ElementOf<S::type>::type;
  static constexpr DType dtype = S::type;

  /// Rank and extents after broadcasting.
  int ndim(detail::Where w = detail::Where::current()) const { return shape(w).rank(); }
  Shape shape(detail::Where w = detail::Where::current()) const {
    std::int64_t extents[detail::max_rank];
    const int rank = detail::shape_of(parts(), extents, w);
    return Shape(extents, rank);
  }
  /// Evaluates an expression of one element and waits for its value.
  value_type item(detail::Where w = detail::Where::current()) const;
  template <class T>
  auto astype(detail::Where w = detail::Where::current()) const;

  // For the library's templates.
  detail::Parts parts() const { return {detail::code_of<S>.items, slots.items, S::size}; }
  Expression viewed(detail::ViewKind kind, const std::int64_t* numbers, unsigned count, detail::Where w) const {
    Expression copy(*this);
    detail::view_of(copy.parts(), copy.slots.items, kind, numbers, count, w);
    return copy;
  }

  static constexpr unsigned code_size = S::size;
  detail::Slots<S::size> slots;
};

namespace detail {

/// The types of operation O on operands X, with the checks.
template <Op O, class... X>
struct Typed {
  static_assert(((Operand<X>::role != Role::none) && ...),
                "kiln: an operand is not an array, an expression, a traced value or a C++ number");
  static constexpr bool has_traced = ((Operand<X>::role == Role::traced) || ...);
  static constexpr bool traced = has_traced && ((Operand<X>::role != Role::array) && ...);
  static_assert(traced || !has_traced || ((Operand<X>::role != Role::array) && ...),
                "kiln: an array inside a kl::jit lambda; pass arrays to the compiled function as arguments");
  static constexpr OperandType types[] = {Operand<X>::type...};
  static constexpr Resolution r = resolve(O, types, sizeof...(X));
  static constexpr bool checked = require_well_typed<r.fault>();
};

template <Op O, class A, class B, class T = Typed<O, A, B>>
using BinaryOf = Expression<Apply<O, T::r.result, typename Operand<A>::template Structure<T::r.operands[0]>,
                                  typename Operand<B>::template Structure<T::r.operands[1]>>>;

/// A traced operation; defined in sym.h.
template <Op O, class... X>
auto record(Where where, const X&... operands);

/// An integer power by a number needs an exponent >= 0: a result that is always 0 or 1 is a mistake.
template <class A, class B>
void check_power(Where where, const B& exponent) {
  if constexpr (is_integer(Operand<A>::type.type) && is_integer(Operand<B>::type.type)) {
    if constexpr (Operand<B>::role == Role::number) check_exponent(scalar_argument(exponent), where);
    if constexpr (Operand<B>::role == Role::baked) check_exponent(scalar_argument(exponent.value), where);
  }
}

template <Op O, class A>
auto unary(Where where, const A& a, bool move_a) {
  using T = Typed<O, A>;
  static_assert(T::checked);
  if constexpr (T::traced) {
    return record<O>(where, a);
  } else {
    using E = Expression<Apply<O, T::r.result, typename Operand<A>::template Structure<T::r.operands[0]>>>;
    return E{{}, {where, taking(slot_count<A>, move_a), &a}};
  }
}

template <Op O, class A, class B>
auto binary(Where where, const A& a, bool move_a, const B& b, bool move_b) {
  using T = Typed<O, A, B>;
  static_assert(T::checked);
  if constexpr (O == Op::pow) check_power<A>(where, b);
  if constexpr (T::traced) {
    return record<O>(where, a, b);
  } else {
    using E = BinaryOf<O, A, B>;
    const Takes takes = taking(taking(slot_count<A>, move_a), taking(slot_count<B>, move_b));
    if constexpr (is_number<A>) {
      const Slot number = number_slot(a);
      return E{{}, {where, takes, &number, &b}};
    } else if constexpr (is_number<B>) {
      const Slot number = number_slot(b);
      return E{{}, {where, takes, &a, &number}};
    } else {
      return E{{}, {where, takes, &a, &b}};
    }
  }
}

/// The slots of an operand; `number` is room for that of a number.
template <class X>
const void* slots_of(const X& x, Slot& number) {
  if constexpr (is_number<X>) {
    number = number_slot(x);
    return &number;
  } else {
    return &x;
  }
}

template <Op O, class A, class B, class C>
auto ternary(Where where, const A& a, bool move_a, const B& b, bool move_b, const C& c, bool move_c) {
  using T = Typed<O, A, B, C>;
  static_assert(T::checked);
  if constexpr (T::traced) {
    return record<O>(where, a, b, c);
  } else {
    using E = Expression<Apply<O, T::r.result, typename Operand<A>::template Structure<T::r.operands[0]>,
                               typename Operand<B>::template Structure<T::r.operands[1]>,
                               typename Operand<C>::template Structure<T::r.operands[2]>>>;
    const Takes takes =
        taking(taking(slot_count<A>, move_a), taking(slot_count<B>, move_b), taking(slot_count<C>, move_c));
    Slot numbers[3];
    return E{{}, {where, takes, slots_of(a, numbers[0]), slots_of(b, numbers[1]), slots_of(c, numbers[2])}};
  }
}

/// An expression of one slot.
template <class S>
Expression<S> leaf(Slot slot) {
  return {{}, {taking(1, true), &slot}};
}
inline Slot slot_of(const Handle& h) { return __builtin_bit_cast(Slot, h); }

/// The value of an array, view or expression as an expression of its own.
template <class X>
auto expression_of(const X& x, bool movable) {
  using E = Expression<typename Operand<X>::template Structure<Operand<X>::type.type>>;
  return E{{}, {taking(slot_count<X>, movable), &x}};
}

/// Refuses conversions that lose the imaginary part.
template <DType From, DType To>
constexpr void require_convertible() {
  static_assert(!is_complex(From) || is_complex(To),
                "kiln: a complex value does not convert to a real type; take kl::real, kl::imag or kl::abs of it");
}

template <DType To, class X>
auto convert(Where where, const X& x, bool movable) {
  require_convertible<Operand<X>::type.type, To>();
  using E = Expression<Convert<To, typename Operand<X>::template Structure<To>>>;
  Slot number;
  return E{{}, {where, taking(slot_count<X>, movable), slots_of(x, number)}};
}

}  // namespace detail

/// A strongly typed run-time scalar: takes part in promotion like an array of type T with no axes.
template <class T>
Expression<detail::Parameter<dtype_of<T>, dtype_of<T>>> scalar(std::type_identity_t<T> value) {
  return detail::leaf<detail::Parameter<dtype_of<T>, dtype_of<T>>>(detail::number_slot(value));
}

/// Names a shared subexpression: it is computed once per element however often it is used, and the type stays small.
template <detail::array_operand X>
auto let(const X& x) {
  const auto e = detail::expression_of(x, false);
  return detail::leaf<detail::Shared<decltype(e)::dtype>>(detail::make_fragment(e.parts()));
}

}  // namespace kiln
