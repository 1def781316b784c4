// kiln/detail/element.h -- C++ element types of DTypes, C++ numbers as scalar arguments, roles of operands.
#pragma once

#include <kiln/detail/rules.h>
#include <kiln/detail/structure.h>

// std::complex is named, never completed, here: <complex> is the user's include.
// clang-format off: it does not settle on a comment behind the macros
#if defined(__GLIBCXX__)
namespace std _GLIBCXX_VISIBILITY(default) {
_GLIBCXX_BEGIN_NAMESPACE_VERSION
template <typename T>
class complex;
_GLIBCXX_END_NAMESPACE_VERSION
}  // namespace std
#elif defined(_LIBCPP_VERSION)
_LIBCPP_BEGIN_NAMESPACE_STD
template <class T>
class _LIBCPP_TEMPLATE_VIS complex;
_LIBCPP_END_NAMESPACE_STD
#else
#include <complex>
#endif
// clang-format on

namespace kiln {

template <class T>
class Array;
template <class T>
class View;
template <class S>
struct Expression;
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

/// long double is used as double.
template <class C>
using NumberOf = std::conditional_t<std::is_same_v<C, long double>, double, C>;

template <class X>
constexpr DType number_type() {
  if constexpr (number<X>) {
    return dtype_of<NumberOf<X>>;
  } else {
    return DType::f32;
  }
}

/// What the templates need to know of an operand of type X: its role, type and contribution to a structure.
template <class X>
struct Operand {
  static constexpr Role role = number<X> ? Role::number : Role::none;
  static constexpr OperandType type{number_type<X>(), true};
  template <DType T>
  using Structure = Parameter<T, type.type>;
};
template <class C>
struct Operand<Const<C>> {
  static constexpr Role role = Role::baked;
  static constexpr OperandType type{dtype_of<C>, true};
  template <DType T>
  using Structure = Literal<T, type.type>;
};
template <class S>
struct Operand<Expression<S>> {
  static constexpr Role role = Role::array;
  static constexpr OperandType type{S::type, false};
  template <DType>
  using Structure = S;
};
template <class T>
struct Operand<Array<T>> {
  static constexpr Role role = Role::array;
  static constexpr OperandType type{dtype_of<T>, false};
  template <DType>
  using Structure = Input<type.type>;
};
template <class T>
struct Operand<View<T>> : Operand<Array<std::remove_const_t<T>>> {};
template <class T>
struct Operand<Sym<T>> {
  static constexpr Role role = Role::traced;
  static constexpr OperandType type{dtype_of<T>, false};
  template <DType>
  using Structure = Input<type.type>;  // of refused operations only
};
template <class C>
struct Operand<WeakSym<C>> {
  static constexpr Role role = Role::traced;
  static constexpr OperandType type{dtype_of<C>, true};
  template <DType>
  using Structure = Input<type.type>;
};

template <class X>
inline constexpr Role role_of = Operand<std::remove_cvref_t<X>>::role;

/// True when an operand makes the call an operation on arrays or traced values.
template <class... X>
concept any_operand = ((role_of<X> == Role::array || role_of<X> == Role::traced) || ...);
template <class X>
concept array_operand = role_of<X> == Role::array;

/// std::vector, std::array, std::span and their like: what a message has advice for.
template <class X>
concept host_memory = std::is_class_v<X> && role_of<X> == Role::none && requires(const X& x) {
  x.data();
  x.size();
};
/// What named functions take: operands, and host memory, so that the refusal says what to do with it.
template <class... X>
concept function_operands = any_operand<X...> || (host_memory<std::remove_cvref_t<X>> || ...);

template <class C>
ScalarArgument scalar_argument(const C& value) {
  ScalarArgument s;
  const NumberOf<C> v = static_cast<NumberOf<C>>(value);
  s.type = dtype_of<NumberOf<C>>;
  __builtin_memcpy(s.bytes, &v, sizeof v);
  return s;
}

/// True where T holds the value of a number: integers as they are, of bool 0 and 1. Floats may be rounded.
template <class T, class N>
constexpr bool holds(N v) {
  if constexpr (!std::is_integral_v<T> || std::is_same_v<N, bool> || complex_like<N>) {
    return true;
  } else if constexpr (!std::is_arithmetic_v<N>) {
    return holds<T>(static_cast<float>(v));
  } else if constexpr (std::is_same_v<T, bool>) {
    return v == N(0) || v == N(1);
  } else if constexpr (std::is_floating_point_v<N>) {
    constexpr N bound = N(2) * static_cast<N>(std::uint64_t{1} << (8 * sizeof(T) - 1 - std::is_signed_v<T>));
    return v >= (std::is_signed_v<T> ? -bound : N(0)) && v < bound && static_cast<N>(static_cast<T>(v)) == v;
  } else if constexpr (std::is_signed_v<T> == std::is_signed_v<N>) {
    return static_cast<N>(static_cast<T>(v)) == v;
  } else if constexpr (std::is_signed_v<N>) {
    return v >= 0 && static_cast<N>(static_cast<T>(v)) == v;
  } else {
    return static_cast<T>(v) >= 0 && static_cast<N>(static_cast<T>(v)) == v;
  }
}
/// Also what the compiler names where the number is part of a constant expression.
template <class T, class N>
[[noreturn]] void number_does_not_fit(const char* what, N v, Where where) {
  fail_number(what, scalar_argument(v), dtype_of<T>, where);
}
/// The number as a T; TypeError where that does not hold it.
template <class T, class N>
constexpr T held_by(N v, const char* what, Where where) {
  if (!holds<T>(v)) number_does_not_fit<T>(what, v, where);
  return static_cast<T>(v);
}
/// Numbers of another type that T can be made of.
template <class N, class T>
concept other_number = number<N> && !std::is_same_v<N, T> && std::is_convertible_v<N, T>;

/// True for arguments of forwarding references whose references may be taken over.
template <class X>
inline constexpr bool is_movable = !std::is_reference_v<X> && !std::is_const_v<X>;

/// The array operand of an operator. The implicit conversion notes the line where the operator was written, and whether
/// the operand is a temporary whose references may be taken over.
template <class Self>
struct Located {
  const Self& value;
  Take take;
  Where where;
  Located(const Self& v, const char* f = __builtin_FILE(), unsigned l = __builtin_LINE())
      : value(v), take(take_slots(1, false)), where{f, l} {}
  Located(Self&& v, const char* f = __builtin_FILE(), unsigned l = __builtin_LINE())
      : value(v), take(take_slots(1, true)), where{f, l} {}
};

}  // namespace detail

/// A number that is part of the kernel: made by kl::lit, or declared as a parameter of a traced lambda.
template <class C>
struct Const {
  static_assert(detail::number<C>, "kiln: kl::Const and kl::lit take a C++ number");
  static constexpr DType dtype = dtype_of<C>;
  C value;
  constexpr Const(C v) : value(v) {}
  /// Of a number or constant of another type: TypeError where C cannot hold the value.
  template <detail::other_number<C> N>
  constexpr Const(N v, const char* f = __builtin_FILE(), unsigned l = __builtin_LINE())
      : value(detail::held_by<C>(v, "kl::Const", {f, l})) {}
  template <class D>
  constexpr Const(const Const<D>& other, const char* f = __builtin_FILE(), unsigned l = __builtin_LINE())
      : value(detail::held_by<C>(other.value, "kl::Const", {f, l})) {}
  /// An array is no constant. (Numbers of the traced function are not taken either, by which they are told apart.)
  template <class X>
    requires(detail::role_of<X> == detail::Role::traced && !detail::Operand<X>::type.weak)
  constexpr Const(const X&) : value() {
    static_assert(detail::no_dtype<X>::value,
                  "kiln: a kl::Const parameter takes a C++ number, and an array was given; declare the parameter auto");
  }
  constexpr operator C() const { return value; }
};

namespace detail {

/// What / and % of two C++ integers are in kiln: x / 0 and x % 0 are 0, MIN / -1 is MIN, MIN % -1 is 0.
template <class A, class B>
constexpr auto defined_quotient(A a, B b) -> decltype(a / b) {
  using R = decltype(a / b);
  const auto x = static_cast<R>(a), y = static_cast<R>(b);
  if (y == 0) return 0;
  if (std::is_signed_v<R> && y == static_cast<R>(-1)) return static_cast<R>(0 - static_cast<std::uint64_t>(x));
  return x / y;
}
template <class A, class B>
constexpr auto defined_rest(A a, B b) -> decltype(a % b) {
  using R = decltype(a % b);
  const auto x = static_cast<R>(a), y = static_cast<R>(b);
  if (y == 0 || (std::is_signed_v<R> && y == static_cast<R>(-1))) return 0;
  return x % y;
}

}  // namespace detail

/// Numbers of C++, as the built-in operators would give, but defined for every operand.
template <class A, class B>
  requires(std::is_integral_v<A> && std::is_integral_v<B>)
constexpr auto operator/(Const<A> a, Const<B> b) {
  return detail::defined_quotient(a.value, b.value);
}
template <class A, class B>
  requires(std::is_integral_v<A> && std::is_integral_v<B>)
constexpr auto operator%(Const<A> a, Const<B> b) {
  return detail::defined_rest(a.value, b.value);
}
template <class A, class B>
  requires(std::is_integral_v<A> && std::is_integral_v<B>)
constexpr auto operator/(Const<A> a, B b) {
  return detail::defined_quotient(a.value, b);
}
template <class A, class B>
  requires(std::is_integral_v<A> && std::is_integral_v<B>)
constexpr auto operator%(Const<A> a, B b) {
  return detail::defined_rest(a.value, b);
}
template <class A, class B>
  requires(std::is_integral_v<A> && std::is_integral_v<B>)
constexpr auto operator/(A a, Const<B> b) {
  return detail::defined_quotient(a, b.value);
}
template <class A, class B>
  requires(std::is_integral_v<A> && std::is_integral_v<B>)
constexpr auto operator%(A a, Const<B> b) {
  return detail::defined_rest(a, b.value);
}

/// Bakes a constant into the kernel: part of its key, so each value is compiled once. Weak, as any number.
template <class C>
constexpr Const<C> lit(C value) {
  return {value};
}
/// kl::lit<T>(value): TypeError where T cannot hold it.
template <class C, detail::other_number<C> N>
constexpr Const<C> lit(N value, detail::Where w = detail::Where::current()) {
  return {detail::held_by<C>(value, "kl::lit", w)};
}

}  // namespace kiln
