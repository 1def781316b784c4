// tests/support/values.h -- inputs that find faults: every special value of a type, then seeded random ones.
#pragma once

#include <complex>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tests/support/reference.h"

namespace values {

/// Zeros, ones, infinities, NaN, subnormals, the extremes, ties and points where functions change branch.
template <class T>
std::vector<T> special() {
  if constexpr (std::is_same_v<T, bool>) {
    return {false, true};
  } else if constexpr (reference::is_complex<T>) {
    using F = typename T::value_type;
    return {T(0, 0),           T(1, 0),       T(0, 1), T(-1, 0), T(0, -1), T(3, 4), T(F(-0.5), F(0.25)),
            T(F(1e-3), F(-2)), T(-2, F(1e-3))};
  } else if constexpr (reference::is_float<T>) {
    using reference::Format;
    std::vector<T> out;
    const auto push = [&](reference::Real v) {
      if constexpr (std::is_same_v<T, double>) {
        out.push_back(static_cast<double>(v));
      } else {
        out.push_back(static_cast<T>(static_cast<float>(v)));
      }
    };
    const reference::Real tiny = std::ldexp(1.0L, Format<T>::min_exponent);
    const reference::Real least = std::ldexp(1.0L, Format<T>::min_exponent - Format<T>::digits + 1);
    for (reference::Real v : {0.0L,
                              1.0L,
                              0.5L,
                              1.5L,
                              2.5L,
                              2.0L,
                              3.0L,
                              0.1L,
                              0.49999997L,
                              0.75L,
                              7.0L,
                              10.0L,
                              88.0L,
                              100.0L,
                              tiny,
                              least,
                              3 * least,
                              tiny / 2,
                              reference::largest<T>(),
                              3.14159265358979L,
                              1.5707963267949L,
                              std::numeric_limits<reference::Real>::infinity()}) {
      push(v);
      push(-v);
    }
    push(std::numeric_limits<reference::Real>::quiet_NaN());
    return out;
  } else {
    using L = std::numeric_limits<T>;
    return {T(0),     T(1),           T(2), T(3), T(7), T(-1), T(-2), T(-7), T(10), T(100), L::min(), T(L::min() + 1),
            L::max(), T(L::max() - 1)};
  }
}

/// `count` values over the whole range of the type (floats: random signs and exponents within +-`exponent_range`).
template <class T>
std::vector<T> random(std::size_t count, std::uint64_t seed, int exponent_range = 6) {
  std::mt19937_64 engine(seed);
  std::vector<T> out;
  const auto real = [&] {
    const double mantissa = 1.0 + static_cast<double>(engine() >> 11) * 0x1p-53;
    const int exponent = static_cast<int>(engine() % static_cast<unsigned>(2 * exponent_range + 1)) - exponent_range;
    return (engine() & 1 ? -1.0 : 1.0) * std::ldexp(mantissa, exponent);
  };
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, bool>) {
      out.push_back(engine() & 1);
    } else if constexpr (reference::is_complex<T>) {
      using F = typename T::value_type;
      out.push_back(T(static_cast<F>(real()), static_cast<F>(real())));
    } else if constexpr (std::is_same_v<T, double>) {
      out.push_back(real());
    } else if constexpr (reference::is_float<T>) {
      out.push_back(static_cast<T>(static_cast<float>(real())));
    } else {
      const std::uint64_t bits = engine();
      out.push_back(static_cast<T>(bits >> (engine() % (8 * sizeof(T)))));  // small and large magnitudes alike
    }
  }
  return out;
}

template <class T>
std::vector<T> mixed(std::size_t count, std::uint64_t seed, int exponent_range = 6) {
  std::vector<T> out = special<T>();
  const std::vector<T> more = random<T>(count, seed, exponent_range);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

/// All pairs of the special values, then random pairs: two vectors of equal length.
template <class T>
std::pair<std::vector<T>, std::vector<T>> pairs(std::size_t count, std::uint64_t seed, int exponent_range = 6) {
  std::pair<std::vector<T>, std::vector<T>> out;
  const std::vector<T> s = special<T>();
  for (std::size_t i = 0; i < s.size(); ++i) {
    for (std::size_t j = 0; j < s.size(); ++j) {
      out.first.push_back(s[i]);
      out.second.push_back(s[j]);
    }
  }
  const std::vector<T> a = random<T>(count, seed, exponent_range), b = random<T>(count, seed + 1, exponent_range);
  out.first.insert(out.first.end(), a.begin(), a.end());
  out.second.insert(out.second.end(), b.begin(), b.end());
  return out;
}

}  // namespace values
