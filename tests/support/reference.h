// tests/support/reference.h -- the independent meaning of operations: long double, __int128 and std::complex, never
// kiln.
//
// Rules are those of docs/semantics: NumPy 2 for maximum/minimum/floor_divide/remainder/sign/round, C99 for the
// functions, wrapping integers, saturating conversions.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <kiln/kiln.h>

namespace reference {

using Real = long double;
using Int = __int128;

template <class T>
inline constexpr bool is_float = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                                 std::is_same_v<T, kiln::half> || std::is_same_v<T, kiln::bfloat16>;
template <class T>
inline constexpr bool is_complex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

/// Precision (bits of significand, with the hidden one) and least exponent of a floating type.
template <class T>
struct Format;
template <>
struct Format<kiln::half> {
  static constexpr int digits = 11, min_exponent = -14, max_exponent = 15;
};
template <>
struct Format<kiln::bfloat16> {
  static constexpr int digits = 8, min_exponent = -126, max_exponent = 127;
};
template <>
struct Format<float> {
  static constexpr int digits = 24, min_exponent = -126, max_exponent = 127;
};
template <>
struct Format<double> {
  static constexpr int digits = 53, min_exponent = -1022, max_exponent = 1023;
};

/// Spacing of T at |x|: the unit in the last place of the binade that holds x.
template <class T>
Real ulp(Real x) {
  int exponent = Format<T>::min_exponent;
  if (x != 0) exponent = std::max(exponent, std::ilogb(x));
  exponent = std::min(exponent, Format<T>::max_exponent);
  return std::ldexp(1.0L, exponent - Format<T>::digits + 1);
}

/// Largest finite value of T.
template <class T>
Real largest() {
  return std::ldexp(2.0L - std::ldexp(1.0L, 1 - Format<T>::digits), Format<T>::max_exponent);
}

/// Round to nearest even into T's format (as a value), overflow to infinity.
template <class T>
Real round_to(Real x) {
  if (std::isnan(x) || std::isinf(x) || x == 0) return x;
  const Real unit = ulp<T>(x);
  const Real scaled = x / unit;  // exact: a power of two
  Real rounded = std::nearbyint(scaled) * unit;
  if (std::fabs(rounded) > largest<T>()) rounded = std::copysign(std::numeric_limits<Real>::infinity(), x);
  return rounded == 0 ? std::copysign(0.0L, x) : rounded;
}

/// Value of an element as the widest type of its kind.
template <class T>
auto widen(T value) {
  if constexpr (is_complex<T>) {
    return std::complex<Real>(value.real(), value.imag());
  } else if constexpr (is_float<T>) {
    if constexpr (std::is_same_v<T, double>) {
      return static_cast<Real>(value);
    } else {
      return static_cast<Real>(static_cast<float>(value));
    }
  } else {
    return static_cast<Int>(value);
  }
}

/// Reduces an exact integer modulo 2^n into T.
template <class T>
T wrap(Int value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<unsigned __int128>(value)));
  }
}

/// Distance of `got` from the exact `expected`, in units in the last place of T; infinity when they differ in kind.
template <class T>
Real error_in_ulp(T got_value, Real expected) {
  const Real got = widen(got_value);
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got) ? 0 : INFINITY;
  if (std::fabs(expected) > largest<T>()) {  // overflows: infinity, or the largest value when expected rounds to it
    const Real rounded = round_to<T>(expected);
    if (got == rounded) return 0;
    return std::isinf(got) != std::isinf(rounded) && std::signbit(got) == std::signbit(rounded) &&
                   std::fabs(expected) < largest<T>() + 4 * ulp<T>(largest<T>())
               ? 1
               : INFINITY;
  }
  if (std::isinf(got)) return std::fabs(expected) > largest<T>() - 2 * ulp<T>(largest<T>()) ? 1 : INFINITY;
  return std::fabs(got - expected) / ulp<T>(expected);
}

// ------------------------------------------------------------------ integers
inline Int floor_divide(Int a, Int b) {
  if (b == 0) return 0;
  Int q = a / b;
  if (a % b != 0 && ((a < 0) != (b < 0))) --q;
  return q;
}
inline Int remainder(Int a, Int b) { return b == 0 ? 0 : a - floor_divide(a, b) * b; }
inline Int truncate_divide(Int a, Int b) { return b == 0 ? 0 : a / b; }
inline Int truncate_modulo(Int a, Int b) { return b == 0 ? 0 : a % b; }

template <class T>
T integer_power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) {  // 0 or +-1 (docs/semantics): only +-1 have integer inverses
      if (base == 1) return 1;
      if (base == T(-1)) return exponent % 2 ? T(-1) : T(1);
      return 0;
    }
  }
  unsigned __int128 result = 1, factor = static_cast<unsigned __int128>(static_cast<Int>(base));
  for (auto e = static_cast<std::uint64_t>(exponent); e; e >>= 1) {
    if (e & 1) result *= factor;
    factor *= factor;
  }
  return wrap<T>(static_cast<Int>(result));
}

template <class T>
T shift_left(T a, T b) {
  const Int n = b;
  if (n < 0 || n >= static_cast<Int>(8 * sizeof(T))) return 0;
  return wrap<T>(static_cast<Int>(static_cast<unsigned __int128>(static_cast<Int>(a)) << static_cast<int>(n)));
}
template <class T>
T shift_right(T a, T b) {
  const Int n = b;
  if (n < 0 || n >= static_cast<Int>(8 * sizeof(T))) return std::is_signed_v<T> && a < T(0) ? T(-1) : T(0);
  return static_cast<T>(static_cast<Int>(a) >> static_cast<int>(n));
}

// ------------------------------------------------------------------ floating point
/// Python's float floor division (floatobject.c's rule, stated in the language reference through fmod).
template <class F>
F python_mod(F a, F b) {
  F m = std::fmod(a, b);
  if (m != 0) {
    if ((b < 0) != (m < 0)) m += b;
  } else {
    m = std::copysign(F(0), b);
  }
  return m;
}
template <class F>
F python_floor_divide(F a, F b) {
  if (b == 0) return a / b;  // NumPy: the IEEE quotient, not an exception
  F m = std::fmod(a, b);
  F quotient = (a - m) / b;
  if (m != 0 && ((b < 0) != (m < 0))) quotient -= 1;
  if (quotient != 0) {
    F floored = std::floor(quotient);
    if (quotient - floored > F(0.5)) floored += 1;
    return floored;
  }
  return std::copysign(F(0), a / b);
}

inline Real maximum(Real a, Real b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<Real>::quiet_NaN();
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
inline Real minimum(Real a, Real b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<Real>::quiet_NaN();
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
inline Real sign(Real a) { return std::isnan(a) ? a : a > 0 ? 1.0L : a < 0 ? -1.0L : 0.0L; }
inline Real round_half_even(Real a) { return std::nearbyint(a); }  // the tests never change the rounding mode

/// Float to integer: truncates, saturates, NaN gives 0.
template <class T>
T saturate(Real value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;  // NaN is true
  } else {
    if (std::isnan(value)) return 0;
    const Real low = static_cast<Real>(std::numeric_limits<T>::min()),
               high = static_cast<Real>(std::numeric_limits<T>::max());
    if (value <= low) return std::numeric_limits<T>::min();
    if (value >= high) return std::numeric_limits<T>::max();
    return static_cast<T>(std::trunc(value));
  }
}

}  // namespace reference
