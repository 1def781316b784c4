// kiln/detail/assignment.h -- the right sides of assignments to arrays and views, and where they were written.
#pragma once

#include <kiln/functions.h>

namespace kiln::detail {

template <bool Resizable, DType T, class S>
inline constinit InlineSite site_of{code_of<S>.items, S::size, T, Resizable};

/// Evaluates `e` into one destination.
template <bool Resizable, DType T, class S>
void assign(Handle& target, const Expression<S>& e, Where w = {}) {
  require_convertible<S::type, T>();
  evaluate(site_of<Resizable, T, S>, target, e.slots.items, w);
}

/// Operands that may be assigned to an array of type T: expressions, arrays, views and C++ numbers.
template <class X>
concept assignable = role_of<X> == Role::array || role_of<X> == Role::number || role_of<X> == Role::baked;

/// The right side of an assignment as an expression.
template <DType T, class X>
decltype(auto) value_of(const X& x, bool movable) {
  if constexpr (requires { x.parts(); }) {
    return (x);
  } else if constexpr (Operand<X>::role == Role::array) {
    return expression_of(x, movable);
  } else if constexpr (Operand<X>::role == Role::baked) {
    return value_of<T>(x.value, false);
  } else {
    constexpr DType from = Operand<X>::type.type;
    require_convertible<from, T>();
    return leaf<Parameter<adopt(T, kind_of(from)), from>>(number_slot(x));
  }
}

/// The right side of an assignment that knows no place of its own, an array, a view or a number, and the line where it
/// was converted to this. Nothing is owned.
template <bool Resizable, DType T>
struct Placed {
  InlineSite *shaped, *unshaped;  ///< for a destination that has a shape, and for an Array without one
  Slot number = {};
  const void* array = nullptr;
  Where where;

  template <class X>
    requires(is_number<X> || (role_of<X> == Role::array && !is_expression<X>))
  Placed(const X& x, const char* f = __builtin_FILE(), unsigned l = __builtin_LINE()) : where{f, l} {
    constexpr DType from = Operand<X>::type.type;
    require_convertible<from, T>();
    if constexpr (is_number<X>) {
      using S = Parameter<adopt(T, kind_of(from)), from>;
      shaped = &site_of<false, T, S>;
      unshaped = &site_of<Resizable, T, S>;
      number = number_slot(x);
    } else {
      shaped = unshaped = &site_of<Resizable, T, Input<from>>;
      array = &x;
    }
  }
  const Slot* slots() const { return array ? static_cast<const Slot*>(array) : &number; }
};

}  // namespace kiln::detail
