// kiln/expr.h -- inline expressions: by-value objects that own their operands and evaluate when assigned.
#pragma once

#include <utility>

#include <kiln/detail/operators.h>
#include <kiln/detail/structure.h>
#include <kiln/detail/view_operations.h>

namespace kiln {
namespace detail {

template <class T, unsigned N>
struct Pack {
  T items[N];
  T* data() { return items; }
  const T* data() const { return items; }
};
template <class T>
struct Pack<T, 0> {
  T* data() { return nullptr; }
  const T* data() const { return nullptr; }
};

/// Where the next operand of each sort goes while an expression is put together.
struct Cursor {
  Handle* inputs;
  ScalarArgument* scalars;
  const void** tags;
  Fragment** fragments;
  Where* places;
};

struct Compose {};  // chooses the composing constructor

}  // namespace detail

/// An elementwise expression over arrays. It shares ownership of its arrays and copies its scalars, so it may be
/// stored, moved and evaluated many times. `S` spells its operations; the object holds the operands only.
template <class S>
class Expression : public detail::Operators<Expression<S>>, public detail::ViewOperations<Expression<S>> {
 public:
  using Structure = S;
  using value_type = typename detail::ElementOf<S::type>::type;
  static constexpr DType dtype = S::type;
  static constexpr detail::Role kiln_role = detail::Role::array;
  static constexpr detail::OperandType kiln_type{S::type, false};

  Expression(const Expression& other) noexcept
      : inputs_(other.inputs_),
        scalars_(other.scalars_),
        tags_(other.tags_),
        fragments_(other.fragments_),
        places_(other.places_) {
    for (unsigned i = 0; i < S::counts.inputs; ++i) detail::retain(inputs_.data()[i].storage);
    for (unsigned i = 0; i < S::counts.fragments; ++i) detail::retain(fragments_.data()[i]);
  }
  Expression(Expression&& other) noexcept
      : inputs_(other.inputs_),
        scalars_(other.scalars_),
        tags_(other.tags_),
        fragments_(other.fragments_),
        places_(other.places_) {
    other.disown();
  }
  Expression& operator=(Expression other) noexcept {
    std::swap(inputs_, other.inputs_);
    std::swap(scalars_, other.scalars_);
    std::swap(tags_, other.tags_);
    std::swap(fragments_, other.fragments_);
    std::swap(places_, other.places_);
    return *this;
  }
  ~Expression() {
    for (unsigned i = 0; i < S::counts.inputs; ++i) detail::release(inputs_.data()[i].storage);
    for (unsigned i = 0; i < S::counts.fragments; ++i) detail::release(fragments_.data()[i]);
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
  template <class... X>
  Expression(detail::Compose, detail::Where where, const detail::Ref<X>&... operands) noexcept {
    detail::Cursor c = cursor();
    (append(c, operands), ...);
    if constexpr (S::counts.places > 0) places_.data()[S::counts.places - 1] = where;
  }
  detail::Parts parts() const {
    return {detail::code_of<S>.items, inputs_.data(), scalars_.data(), tags_.data(),
            fragments_.data(),        places_.data(), S::counts};
  }
  /// The line of the outermost operation.
  detail::Where where() const {
    if constexpr (S::counts.places > 0) {
      return places_.data()[S::counts.places - 1];
    } else {
      return {};
    }
  }
  Expression viewed(detail::ViewKind kind, const std::int64_t* numbers, unsigned count, detail::Where w) const {
    Expression copy(*this);
    detail::view_of(copy.parts(), copy.inputs_.data(), copy.fragments_.data(), kind, numbers, count, w);
    return copy;
  }

 private:
  template <class>
  friend class Expression;

  detail::Cursor cursor() { return {inputs_.data(), scalars_.data(), tags_.data(), fragments_.data(), places_.data()}; }
  void disown() noexcept {
    for (unsigned i = 0; i < S::counts.inputs; ++i) inputs_.data()[i].storage = nullptr;
    for (unsigned i = 0; i < S::counts.fragments; ++i) fragments_.data()[i] = nullptr;
  }

  template <class X>
  static void append(detail::Cursor& c, const detail::Ref<X>& operand) noexcept {
    if constexpr (std::is_same_v<X, detail::Handle>) {
      *c.inputs++ = operand.value;  // ownership passes
    } else if constexpr (std::is_same_v<X, detail::Fragment*>) {
      *c.fragments++ = operand.value;
    } else if constexpr (detail::role_of<X> == detail::Role::number) {
      *c.scalars++ = detail::scalar_argument(operand.value);
    } else if constexpr (detail::role_of<X> == detail::Role::baked) {
      c.tags[0] = c.tags[1] = nullptr;
      __builtin_memcpy(c.tags, &operand.value.value, sizeof(operand.value.value));
      c.tags += 2;
    } else if constexpr (requires { operand.value.handle(); }) {
      *c.inputs++ = operand.movable ? const_cast<X&>(operand.value).release() : operand.value.share();
    } else {
      append_expression(c, const_cast<X&>(operand.value), operand.movable);
    }
  }
  template <class T>
  static void append_expression(detail::Cursor& c, Expression<T>& e, bool movable) noexcept {
    constexpr detail::Counts n = T::counts;
    for (unsigned i = 0; i < n.inputs; ++i) c.inputs[i] = e.inputs_.data()[i];
    for (unsigned i = 0; i < n.scalars; ++i) c.scalars[i] = e.scalars_.data()[i];
    for (unsigned i = 0; i < n.tags; ++i) c.tags[i] = e.tags_.data()[i];
    for (unsigned i = 0; i < n.fragments; ++i) c.fragments[i] = e.fragments_.data()[i];
    for (unsigned i = 0; i < n.places; ++i) c.places[i] = e.places_.data()[i];
    if (movable) {
      e.disown();
    } else {
      for (unsigned i = 0; i < n.inputs; ++i) detail::retain(c.inputs[i].storage);
      for (unsigned i = 0; i < n.fragments; ++i) detail::retain(c.fragments[i]);
    }
    c = {c.inputs + n.inputs, c.scalars + n.scalars, c.tags + n.tags, c.fragments + n.fragments, c.places + n.places};
  }

  [[no_unique_address]] detail::Pack<detail::Handle, S::counts.inputs> inputs_;
  [[no_unique_address]] detail::Pack<detail::ScalarArgument, S::counts.scalars> scalars_;
  [[no_unique_address]] detail::Pack<const void*, S::counts.tags> tags_;
  [[no_unique_address]] detail::Pack<detail::Fragment*, S::counts.fragments> fragments_;
  [[no_unique_address]] detail::Pack<detail::Where, S::counts.places> places_;
};

namespace detail {

/// The structure that operand X contributes when it is used as a value of type T.
template <class X, DType T>
constexpr auto structure_of() {
  if constexpr (role_of<X> == Role::number) {
    return static_cast<Parameter<T>*>(nullptr);
  } else if constexpr (role_of<X> == Role::baked) {
    return static_cast<Literal<T, X::dtype>*>(nullptr);
  } else {
    return static_cast<typename X::Structure*>(nullptr);
  }
}
template <class X, DType T>
using StructureOf = std::remove_pointer_t<decltype(structure_of<X, T>())>;

template <Op O, class... X>
constexpr Resolution resolution() {
  constexpr OperandType types[] = {operand_type<X>()...};
  return resolve(O, types, sizeof...(X));
}

template <class... X>
constexpr void require_operands() {
  static_assert(((role_of<X> != Role::none) && ...),
                "kiln: an operand is not an array, an expression, a traced value or a C++ number");
  static_assert(((role_of<X> != Role::array) && ...) || ((role_of<X> != Role::traced) && ...),
                "kiln: an array inside a kl::jit lambda; pass arrays to the compiled function as arguments");
}

/// A traced operation; defined in sym.h.
template <Op O, class... X>
auto apply_traced(Where where, const Ref<X>&... operands);

template <Op O, class... X, std::size_t... I>
auto compose(Where where, std::index_sequence<I...>, const Ref<X>&... operands) {
  constexpr Resolution r = resolution<O, X...>();
  return Expression<Apply<O, r.result, StructureOf<X, r.operands[I]>...>>(Compose{}, where, operands...);
}

/// An integer power by a number needs an exponent >= 0: a result that is always 0 or 1 is a mistake.
template <class A, class B>
void check_power(Where where, const Ref<A>&, const Ref<B>& exponent) {
  if constexpr (is_integer(operand_type<A>().type) && is_integer(operand_type<B>().type)) {
    if constexpr (role_of<B> == Role::number) check_exponent(scalar_argument(exponent.value), where);
    if constexpr (role_of<B> == Role::baked) check_exponent(scalar_argument(exponent.value.value), where);
  }
}

template <Op O, class... X>
auto apply(Where where, Ref<X>... operands) {
  require_operands<X...>();
  if constexpr (((role_of<X> == Role::none) || ...)) {
    return;
  } else {
    constexpr Resolution r = resolution<O, X...>();
    require_well_typed<O, r.error>();
    if constexpr (O == Op::pow) check_power(where, operands...);
    if constexpr (r.error != Fault::none) {
      return;
    } else if constexpr (((role_of<X> == Role::traced) || ...)) {
      return apply_traced<O>(where, operands...);
    } else {
      return compose<O>(where, std::make_index_sequence<sizeof...(X)>{}, operands...);
    }
  }
}

/// The value of `x` as an expression of its own.
template <class X>
auto expression_of(Ref<X> x) {
  if constexpr (requires { x.value.parts(); } && !requires { x.value.handle(); }) {
    return x.movable ? X(static_cast<X&&>(const_cast<X&>(x.value))) : X(x.value);
  } else {
    return Expression<typename X::Structure>(Compose{}, Where{}, x);
  }
}

/// Refuses conversions that lose the imaginary part.
template <DType From, DType To>
constexpr void require_convertible() {
  static_assert(!is_complex(From) || is_complex(To),
                "kiln: a complex value does not convert to a real type; take kl::real, kl::imag or kl::abs of it");
}

template <DType To, class X>
auto convert(Where where, const Ref<X>& x) {
  require_convertible<operand_type<X>().type, To>();
  return Expression<Convert<To, typename X::Structure>>(Compose{}, where, x);
}

}  // namespace detail

/// A strongly typed run-time scalar: takes part in promotion like an array of type T with no axes.
template <class T>
Expression<detail::Parameter<dtype_of<T>>> scalar(std::type_identity_t<T> value) {
  return {detail::Compose{}, detail::Where{}, detail::Ref<T>{value, false}};
}

/// Names a shared subexpression: it is computed once per element however often it is used, and the type stays small.
template <class X>
  requires(detail::role_of<X> == detail::Role::array)
auto let(X&& x) {
  const auto e = detail::expression_of(detail::as_ref(static_cast<X&&>(x)));
  using S = detail::Shared<decltype(e)::dtype>;
  detail::Fragment* const fragment = detail::make_fragment(e.parts());
  return Expression<S>(detail::Compose{}, e.where(), detail::Ref<detail::Fragment*>{fragment, true});
}

}  // namespace kiln
