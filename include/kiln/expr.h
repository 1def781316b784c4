// kiln/expr.h -- inline expressions: by-value objects that own their operands and evaluate when assigned.
#pragma once

#include <utility>

#include <kiln/detail/operators.h>
#include <kiln/detail/view_operations.h>

namespace kiln {

/// An elementwise expression over arrays. It shares ownership of its arrays and copies its scalars, so it may be
/// stored, moved and evaluated many times. `S` spells its operations; the object holds the operands only.
template <class S>
struct Expression : public detail::ViewOperations<Expression<S>> {
  using Structure = S;
  using value_type = typename detail::ElementOf<S::type>::type;
  static constexpr DType dtype = S::type;

  /// Of the library: the arguments are those of its Slots.
  template <class... A>
  explicit Expression(detail::OfSlots, A... of_slots) noexcept : slots(of_slots...) {}
  Expression(const Expression&) noexcept = default;
  Expression(Expression&&) noexcept = default;
  ~Expression() = default;
  /// A variable takes another expression of its type.
  Expression& operator=(const Expression&) & noexcept = default;
  Expression& operator=(Expression&&) & noexcept = default;
  template <class X>
  void operator=(const X&) && {
    static_assert(detail::no_dtype<X>::value,
                  "kiln: an expression has no elements that could be assigned to; evaluate it into an array, or write "
                  "to a view of one: x(kl::range(0, 2)) = y");
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

  /// Arrays have many values, and expressions none yet: neither can steer C++ control flow, nor is it a number.
  template <class B = bool>
    requires(detail::number<B>)
  explicit(std::is_same_v<B, bool>) operator B() const {
    static_assert(!std::is_same_v<B, bool>,
                  "kiln: an array in if, ?: or while has many values; use kl::where(condition, a, b), or kl::any and "
                  "kl::all with .item()");
    static_assert(std::is_same_v<B, bool>,
                  "kiln: an expression is no number yet; .item() computes it and waits: "
                  "float total = kl::sum(x).item()");
    return B{};
  }

  // For the library's templates.
  detail::Parts parts() const { return {detail::code_of<S>.items, slots.items, S::size}; }
  /// A view of a reduction or scan is a shared subexpression; other views are pushed to the operands.
  auto viewed(detail::ViewKind kind, const std::int64_t* numbers, unsigned count, detail::Where w) const {
    if constexpr (detail::mixes_elements(detail::code_of<S>.items, S::size)) {
      detail::Slot shared = detail::viewed_fragment(parts(), kind, numbers, count, w);
      return Expression<detail::Shared<S::type>>(detail::OfSlots{}, detail::take_slots(1, true), &shared);
    } else {
      Expression copy(*this);
      detail::view_of(copy.parts(), copy.slots.items, kind, numbers, count, w);
      return copy;
    }
  }

  static constexpr unsigned code_size = S::size;
  detail::Slots<S::size> slots;
};

namespace detail {

// Operands are passed to the library by their address alone.
static_assert(sizeof(Expression<Input<DType::f32>>) == sizeof(Slot));

/// An expression of one slot.
template <class S>
Expression<S> leaf(Slot slot) {
  return Expression<S>(OfSlots{}, take_slots(1, true), &slot);
}
/// What a refused call is taken to return, so that the refusal is the only error.
template <class X = Expression<Input<DType::f32>>>
X refused() {
  __builtin_unreachable();
}
inline Slot slot_of(const Handle& h) { return __builtin_bit_cast(Slot, h); }

/// The value of an array, view or expression as an expression of its own.
template <class X>
auto expression_of(const X& x, bool movable) {
  using E = Expression<typename Operand<X>::template Structure<Operand<X>::type.type>>;
  return E(OfSlots{}, take_slots(sizeof(X) / sizeof(Slot), movable), &x);
}

/// Refuses conversions that lose the imaginary part.
template <DType From, DType To>
constexpr void require_convertible() {
  static_assert(!is_complex(From) || is_complex(To),
                "kiln: a complex value does not convert to a real type; take kl::real, kl::imag or kl::abs of it");
}

template <DType To, class X>
auto convert(Where where, X&& x) {
  using A = std::remove_cvref_t<X>;
  require_convertible<Operand<A>::type.type, To>();
  using E = Expression<Convert<To, typename Operand<A>::template Structure<To>>>;
  return E(OfSlots{}, where, take_of<X>(), &x);
}

}  // namespace detail

/// A strongly typed run-time scalar: takes part in promotion like an array of type T with no axes.
template <class T>
Expression<detail::Parameter<dtype_of<T>, dtype_of<T>>> scalar(std::type_identity_t<T> value) {
  return detail::leaf<detail::Parameter<dtype_of<T>, dtype_of<T>>>(detail::number_slot(value));
}
/// TypeError where an integer type T cannot hold the number.
template <class T, detail::other_number<T> N>
  requires(std::is_integral_v<T>)
auto scalar(N value, detail::Where w = detail::Where::current()) {
  return scalar<T>(detail::held_by<T>(value, "kl::scalar", w));
}

/// Names a shared subexpression: it is computed once per element however often it is used, and the type stays small.
template <detail::array_operand X>
auto let(const X& x) {
  const auto e = detail::expression_of(x, false);
  return detail::leaf<detail::Shared<decltype(e)::dtype>>(detail::make_fragment(e.parts()));
}

}  // namespace kiln
