// kiln/detail/standard_functions.h -- std::exp, std::max and their like of arrays and traced values: refused in one
// sentence.
//
// Without these the C++ library lists all of its overloads, a page. They are templates over packs (or take an
// ellipsis), so that every function that fits is chosen before them, kiln's own in `using std::exp; exp(x)` included.
#pragma once
// g++ leaves the notes about macros out in what it takes for a header of the system: half of each message.
#pragma GCC system_header

#include <kiln/detail/element.h>

namespace kiln::detail {

/// The operand that a refused call is taken to return, so that the refusal is the only error. No type of others.
template <class... X>
struct FirstOperand {};
template <class X, class... More>
struct FirstOperand<X, More...> : FirstOperand<More...> {};
template <class X, class... More>
  requires(any_operand<X>)
struct FirstOperand<X, More...> {
  using type = X;
};

/// C++ numbers where the header of their function is missing: a conversion, so that every function of it comes first.
struct NeedsHeader {
  template <class N>
    requires(std::is_arithmetic_v<N> || complex_like<N>)
  NeedsHeader(N) {
    static_assert(no_dtype<N>::value,
                  "kiln: a standard function of C++ numbers needs #include <cmath>, of std::complex <complex>");
  }
};

}  // namespace kiln::detail

// One macro deep, since compilers list each; by the type that is returned only what is called is instantiated.
// clang-format off
// NOLINTBEGIN(cert-dcl58-cpp,bugprone-std-namespace-modification)
namespace std {

#define KILN_REFUSE(name, instead)                                                                              \
  template <class... X>                                                                                         \
    requires(kiln::detail::any_operand<X...>)                                                                   \
  const typename kiln::detail::FirstOperand<X...>::type& name(const X&...) {                                    \
    static_assert(kiln::detail::no_dtype<typename kiln::detail::FirstOperand<X...>::type>::value,               \
                  "kiln: std::" #name " takes C++ numbers; of arrays, expressions and traced values: kl::" #instead);      \
    __builtin_unreachable();                                                                                    \
  }                                                                                                             \
  double name(kiln::detail::NeedsHeader, ...);
KILN_REFUSE(abs, abs) KILN_REFUSE(fabs, abs) KILN_REFUSE(rint, round)
KILN_REFUSE(nearbyint, round) KILN_REFUSE(exp, exp) KILN_REFUSE(exp2, exp2) KILN_REFUSE(expm1, expm1)
KILN_REFUSE(log, log) KILN_REFUSE(log2, log2) KILN_REFUSE(log10, log10) KILN_REFUSE(log1p, log1p)
KILN_REFUSE(pow, pow) KILN_REFUSE(sqrt, sqrt) KILN_REFUSE(cbrt, cbrt) KILN_REFUSE(hypot, hypot) KILN_REFUSE(sin, sin)
KILN_REFUSE(cos, cos) KILN_REFUSE(tan, tan) KILN_REFUSE(asin, asin) KILN_REFUSE(acos, acos) KILN_REFUSE(atan, atan)
KILN_REFUSE(atan2, atan2) KILN_REFUSE(sinh, sinh) KILN_REFUSE(cosh, cosh) KILN_REFUSE(tanh, tanh)
KILN_REFUSE(asinh, asinh) KILN_REFUSE(acosh, acosh) KILN_REFUSE(atanh, atanh) KILN_REFUSE(erf, erf)
KILN_REFUSE(erfc, erfc) KILN_REFUSE(lgamma, lgamma) KILN_REFUSE(tgamma, tgamma) KILN_REFUSE(floor, floor)
KILN_REFUSE(ceil, ceil) KILN_REFUSE(round, round) KILN_REFUSE(trunc, trunc) KILN_REFUSE(fmod, fmod)
KILN_REFUSE(fma, fma) KILN_REFUSE(fmin, fmin) KILN_REFUSE(fmax, fmax) KILN_REFUSE(remainder, remainder)
KILN_REFUSE(copysign, copysign) KILN_REFUSE(isnan, isnan) KILN_REFUSE(isinf, isinf) KILN_REFUSE(isfinite, isfinite)
KILN_REFUSE(conj, conj) KILN_REFUSE(real, real) KILN_REFUSE(imag, imag) KILN_REFUSE(arg, arg)
KILN_REFUSE(norm, real(z * kl::conj(z)))
KILN_REFUSE(lerp, fma(t, b - a, a))
KILN_REFUSE(signbit, copysign(1.0f, x) < 0) KILN_REFUSE(fdim, maximum(x - y, 0)) KILN_REFUSE(modf, trunc(x))
KILN_REFUSE(ldexp, exp2(n) * x) KILN_REFUSE(scalbn, exp2(n) * x) KILN_REFUSE(logb, floor(kl::log2(kl::abs(x))))
KILN_REFUSE(ilogb, floor(kl::log2(kl::abs(x)))) KILN_REFUSE(lround, cast<std::int64_t>(kl::round(x)))
KILN_REFUSE(llround, cast<std::int64_t>(kl::round(x))) KILN_REFUSE(lrint, cast<std::int64_t>(kl::round(x)))
KILN_REFUSE(llrint, cast<std::int64_t>(kl::round(x)))
KILN_REFUSE(isnormal, isfinite(x) && kl::abs(x) >= std::numeric_limits<float>::min())
#undef KILN_REFUSE

// Of other headers.
#define KILN_REFUSE(name, instead)                                                                              \
  template <class... X>                                                                                         \
    requires(kiln::detail::any_operand<X...>)                                                                   \
  const typename kiln::detail::FirstOperand<X...>::type& name(const X&...) {                                    \
    static_assert(kiln::detail::no_dtype<typename kiln::detail::FirstOperand<X...>::type>::value,               \
                  "kiln: std::" #name " takes C++ numbers; of arrays, expressions and traced values: kl::" #instead);      \
    __builtin_unreachable();                                                                                    \
  }
KILN_REFUSE(clamp, clip) KILN_REFUSE(midpoint, fma(0.5f, b - a, a))
#undef KILN_REFUSE

// kl::max(x, -1) reduces; with an ellipsis these are worse where both are found.
#define KILN_REFUSE(name, instead)                                                                              \
  template <class X>                                                                                            \
    requires(kiln::detail::any_operand<X>)                                                                      \
  const X& name(const X& x, ...) {                                                                              \
    static_assert(kiln::detail::no_dtype<X>::value,                                                             \
                  "kiln: std::" #name " takes C++ numbers; of arrays, expressions and traced values: kl::" #instead);      \
    return x;                                                                                                   \
  }                                                                                                             \
  template <class N, class X>                                                                                   \
    requires(kiln::detail::number<N> && kiln::detail::any_operand<X>)                                           \
  const X& name(const N&, const X& x) {                                                                         \
    static_assert(kiln::detail::no_dtype<X>::value,                                                             \
                  "kiln: std::" #name " takes C++ numbers; of arrays, expressions and traced values: kl::" #instead);      \
    return x;                                                                                                   \
  }
KILN_REFUSE(max, maximum)
KILN_REFUSE(min, minimum)
#undef KILN_REFUSE

}  // namespace std
// NOLINTEND(cert-dcl58-cpp,bugprone-std-namespace-modification)
// clang-format on
