// kiln/detail/element.h -- C++ element types of DTypes, C++ numbers as scalar arguments, roles of operands.
#pragma once

#include <kiln/detail/program.h>
#include <kiln/detail/rules.h>

// std::complex is named, never completed, here: <complex> is the user's include.
#if defined(__GLIBCXX__)
namespace std _GLIBCXX_VISIBILITY(default) {
_GLIBCXX_BEGIN_NAMESPACE_VERSION
template <typename T>
class complex;
_GLIBCXX_END_NAMESPACE_VERSION
}  // namespace std _GLIBCXX_VISIBILITY(default)
#elif defined(_LIBCPP_VERSION)
_LIBCPP_BEGIN_NAMESPACE_STD
template <class T>
class _LIBCPP_TEMPLATE_VIS complex;
_LIBCPP_END_NAMESPACE_STD
#else
#include <complex>
#endif

namespace kiln {

template <class T>
class Array;
template <class T>
class View;
template <class S>
class Expression;
template <class T>
class Sym;
template <class C>
class WeakSym;
template <class C>
struct Const;

namespace detail {

template <DType T>
struct ElementOf;
#define KILN_ELEMENT(dtype, ...)   \
  template <>                      \
  struct ElementOf<DType::dtype> { \
    using type = __VA_ARGS__;      \
  };
KILN_ELEMENT(b1, bool)
KILN_ELEMENT(i8, std::int8_t)
KILN_ELEMENT(i16, std::int16_t)
KILN_ELEMENT(i32, std::int32_t)
KILN_ELEMENT(i64, std::int64_t)
KILN_ELEMENT(u8, std::uint8_t)
KILN_ELEMENT(u16, std::uint16_t)
KILN_ELEMENT(u32, std::uint32_t)
KILN_ELEMENT(u64, std::uint64_t)
KILN_ELEMENT(f16, half)
KILN_ELEMENT(bf16, bfloat16)
KILN_ELEMENT(f32, float)
KILN_ELEMENT(f64, double)
KILN_ELEMENT(c64, std::complex<float>)
KILN_ELEMENT(c128, std::complex<double>)
#undef KILN_ELEMENT

/// What an operand is: an array or expression, a traced value, a number baked into the kernel, or a C++ number.
enum class Role : std::uint8_t { none, array, traced, baked, number };

template <class X>
concept number = std::is_arithmetic_v<X> || std::is_same_v<X, half> || std::is_same_v<X, bfloat16> || complex_like<X>;

template <class X>
constexpr Role role_of_type() {
  if constexpr (requires { X::kiln_role; }) {
    return X::kiln_role;
  } else {
    return number<X> ? Role::number : Role::none;
  }
}
template <class X>
inline constexpr Role role_of = role_of_type<std::remove_cvref_t<X>>();

/// True when an operand makes the call an operation on arrays or traced values.
template <class... X>
concept any_operand = ((role_of<X> == Role::array || role_of<X> == Role::traced) || ...);

template <class X>
constexpr OperandType operand_type() {
  if constexpr (role_of<X> == Role::number) {
    if constexpr (std::is_same_v<X, long double>) return {DType::f64, true};
    return {dtype_of<X>, true};
  } else {
    return X::kiln_type;
  }
}

template <class C>
ScalarArgument scalar_argument(const C& value) {
  ScalarArgument s;
  if constexpr (std::is_same_v<C, long double>) {
    return scalar_argument(static_cast<double>(value));
  } else {
    s.type = dtype_of<C>;
    __builtin_memcpy(s.bytes, &value, sizeof(C));
    return s;
  }
}

/// An operand on its way into an expression: `movable` when its operands may be taken over.
template <class X>
struct Ref {
  const X& value;
  bool movable;
};
template <class X>
Ref<std::remove_cvref_t<X>> as_ref(X&& x) {
  return {x, !std::is_lvalue_reference_v<X> && !std::is_const_v<std::remove_reference_t<X>>};
}

/// The array operand of an operator. The implicit conversion notes the line where the operator was written.
template <class Self>
struct Located : Ref<Self> {
  Where where;
  Located(const Self& v, const char* f = __builtin_FILE(), unsigned l = __builtin_LINE())
      : Ref<Self>{v, false}, where{f, l} {}
  Located(Self&& v, const char* f = __builtin_FILE(), unsigned l = __builtin_LINE())
      : Ref<Self>{v, true}, where{f, l} {}
};

}  // namespace detail

/// A number that is part of the kernel: made by kl::lit, or declared as a parameter of a traced lambda.
template <class C>
struct Const {
  static_assert(detail::number<C>, "kiln: kl::Const and kl::lit take a C++ number");
  static constexpr detail::Role kiln_role = detail::Role::baked;
  static constexpr DType dtype = dtype_of<C>;
  static constexpr detail::OperandType kiln_type{dtype, true};
  C value;
  constexpr Const(C v) : value(v) {}
  template <class D>
  constexpr Const(const Const<D>& other) : value(static_cast<C>(other.value)) {}
  constexpr operator C() const { return value; }
};

/// Bakes a constant into the kernel: part of its key, so each value is compiled once. Weak, as any number.
template <class C>
constexpr Const<C> lit(C value) {
  return {value};
}

}  // namespace kiln
