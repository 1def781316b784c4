// kiln/expr.h -- inline expressions: by-value objects that own their operands and evaluate when assigned.
#pragma once

#include <utility>

#include <kiln/detail/operators.h>
#include <kiln/detail/view_operations.h>

namespace kiln {
namespace detail {

struct Compose {};  // chooses the composing constructor

inline Slot place(Where w) { return {nullptr, {reinterpret_cast<std::uintptr_t>(w.file), w.line}}; }

/// Appends an operand's slots; the references of temporaries are taken over.
template <class X>
inline Slot* put(Slot* to, X& x, bool movable) {
  if constexpr (Operand<X>::role == Role::number) {
    const NumberOf<X> value = static_cast<NumberOf<X>>(x);
    *to = {};
    __builtin_memcpy(to->words, &value, sizeof value);
    return to + 1;
  } else if constexpr (Operand<X>::role == Role::baked) {
    return put(to, x.value, false);
  } else if constexpr (requires { x.code_size; }) {
    return take_slots(to, x.slots, X::code_size, movable ? &x.owns : nullptr);
  } else if constexpr (Operand<X>::role == Role::array) {
    return x.put_slots(to, movable);
  } else {
    return to + 1;  // refused by Typed; no second error
  }
}
inline Slot* put(Slot* to, Slot& slot, bool) {
  *to = slot;
  return to + 1;
}

}  // namespace detail

/// An elementwise expression over arrays. It shares ownership of its arrays and copies its scalars, so it may be
/// stored, moved and evaluated many times. `S` spells its operations; the object holds the operands only.
template <class S>
class Expression : public detail::ViewOperations<Expression<S>> {
 public:
  using Structure = S;
  using value_type = typename detail::ElementOf<S::type>::type;
  static constexpr DType dtype = S::type;

  Expression(const Expression& other) noexcept : owns(true) { detail::copy_slots(slots, other.slots, S::size); }
  Expression(Expression&& other) noexcept : owns(true) { detail::take_slots(slots, other.slots, S::size, &other.owns); }
  Expression& operator=(Expression other) noexcept {
    std::swap(slots, other.slots);
    std::swap(owns, other.owns);
    return *this;
  }
  ~Expression() {
    if (owns) detail::release_slots(slots, S::size);
  }

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
  explicit Expression(detail::Compose) noexcept : owns(true) {}
  // Composition happens in constructors: g++ 12 moves a named result out of an inner block, which would double both the
  // work and the compile time of each operation. Expressions are spelled out: an instantiation of `put` costs time.
  template <class A>
  Expression(detail::Compose, detail::Where w, A& a, bool move_a) noexcept : owns(true) {
    if constexpr (requires { a.code_size; }) {
      *detail::take_slots(slots, a.slots, A::code_size, move_a ? &a.owns : nullptr) = detail::place(w);
    } else {
      *detail::put(slots, a, move_a) = detail::place(w);
    }
  }
  template <class A, class B>
  Expression(detail::Compose, detail::Where w, A& a, bool move_a, B& b, bool move_b) noexcept : owns(true) {
    detail::Slot* p = slots;
    if constexpr (requires { a.code_size; }) {
      p = detail::take_slots(p, a.slots, A::code_size, move_a ? &a.owns : nullptr);
    } else {
      p = detail::put(p, a, move_a);
    }
    if constexpr (requires { b.code_size; }) {
      p = detail::take_slots(p, b.slots, B::code_size, move_b ? &b.owns : nullptr);
    } else {
      p = detail::put(p, b, move_b);
    }
    *p = detail::place(w);
  }
  template <class A, class B, class C>
  Expression(detail::Compose, detail::Where w, A& a, bool move_a, B& b, bool move_b, C& c, bool move_c) noexcept
      : owns(true) {
    *detail::put(detail::put(detail::put(slots, a, move_a), b, move_b), c, move_c) = detail::place(w);
  }
  detail::Parts parts() const { return {detail::code_of<S>.items, slots, S::size}; }
  Expression viewed(detail::ViewKind kind, const std::int64_t* numbers, unsigned count, detail::Where w) const {
    Expression copy(*this);
    detail::view_of(copy.parts(), copy.slots, kind, numbers, count, w);
    return copy;
  }

  static constexpr unsigned code_size = S::size;
  detail::Slot slots[S::size];
  bool owns;  ///< false once another expression has taken the references over
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
    return Expression<Apply<O, T::r.result, typename Operand<A>::template Structure<T::r.operands[0]>>>(
        Compose{}, where, const_cast<A&>(a), move_a);
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
    return BinaryOf<O, A, B>(Compose{}, where, const_cast<A&>(a), move_a, const_cast<B&>(b), move_b);
  }
}

template <Op O, class A, class B, class C>
auto ternary(Where where, const A& a, bool move_a, const B& b, bool move_b, const C& c, bool move_c) {
  using T = Typed<O, A, B, C>;
  static_assert(T::checked);
  if constexpr (T::traced) {
    return record<O>(where, a, b, c);
  } else {
    return Expression<Apply<O, T::r.result, typename Operand<A>::template Structure<T::r.operands[0]>,
                            typename Operand<B>::template Structure<T::r.operands[1]>,
                            typename Operand<C>::template Structure<T::r.operands[2]>>>(
        Compose{}, where, const_cast<A&>(a), move_a, const_cast<B&>(b), move_b, const_cast<C&>(c), move_c);
  }
}

/// An expression of one slot.
template <class S>
Expression<S> leaf(Slot slot) {
  Expression<S> e(Compose{});
  *e.slots = slot;
  return e;
}
inline Slot slot_of(const Handle& h) { return __builtin_bit_cast(Slot, h); }

/// The value of an array, view or expression as an expression of its own.
template <class X>
auto expression_of(const X& x, bool movable) {
  Expression<typename Operand<X>::template Structure<Operand<X>::type.type>> e(Compose{});
  put(e.slots, const_cast<X&>(x), movable);
  return e;
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
  Expression<Convert<To, typename Operand<X>::template Structure<To>>> e(Compose{});
  *put(e.slots, const_cast<X&>(x), movable) = place(where);
  return e;
}

}  // namespace detail

/// A strongly typed run-time scalar: takes part in promotion like an array of type T with no axes.
template <class T>
Expression<detail::Parameter<dtype_of<T>, dtype_of<T>>> scalar(std::type_identity_t<T> value) {
  Expression<detail::Parameter<dtype_of<T>, dtype_of<T>>> e(detail::Compose{});
  detail::put(e.slots, value, false);
  return e;
}

/// Names a shared subexpression: it is computed once per element however often it is used, and the type stays small.
template <detail::array_operand X>
auto let(const X& x) {
  const auto e = detail::expression_of(x, false);
  return detail::leaf<detail::Shared<decltype(e)::dtype>>(detail::make_fragment(e.parts()));
}

}  // namespace kiln
