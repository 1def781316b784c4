// tests/fuzz/statement_values.h -- random arrays for statements, and how close results must be.
#pragma once

#include <cmath>
#include <complex>
#include <vector>

#include <fmt/format.h>

#include <kiln/kiln.h>

#include "tests/fuzz/random.h"

namespace fuzz {

namespace kl = kiln;
using Real = long double;

template <class T>
inline constexpr bool is_real_float = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                                      std::is_same_v<T, kl::half> || std::is_same_v<T, kl::bfloat16>;
template <class T>
inline constexpr bool is_complex_type =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

template <class T>
T random_value(Random& random) {
  const auto number = [&] {
    return random.chance(40) ? (random.below(65) - 32) / 8.0 : random.signed_unit() * (random.chance(10) ? 1000 : 3);
  };
  if constexpr (is_complex_type<T>) {
    using P = typename T::value_type;
    const auto x = static_cast<P>(number());
    return T(x, static_cast<P>(number()));
  } else if constexpr (std::is_same_v<T, kl::half> || std::is_same_v<T, kl::bfloat16>) {
    return T(static_cast<float>(number()));
  } else if constexpr (is_real_float<T>) {
    return static_cast<T>(number());
  } else {
    return static_cast<T>(random.chance(5) ? static_cast<std::int64_t>(random.next()) : random.below(41) - 20);
  }
}

template <class T>
std::vector<T> random_values(Random& random, std::int64_t count) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(random_value<T>(random));
  return values;
}

template <class T>
Real real(T value) {
  if constexpr (std::is_same_v<T, kl::half> || std::is_same_v<T, kl::bfloat16>) {
    return static_cast<Real>(static_cast<float>(value));
  } else {
    return static_cast<Real>(value);
  }
}

/// Half the spacing of the type in which T is computed, and of T itself.
template <class T>
Real computing_unit() {
  return std::is_same_v<T, double> || std::is_same_v<T, std::complex<double>> ? 0x1p-53L : 0x1p-24L;
}
template <class T>
Real storing_unit() {
  return std::is_same_v<T, kl::half> ? 0x1p-11L : std::is_same_v<T, kl::bfloat16> ? 0x1p-8L : computing_unit<T>();
}

inline std::string list_text(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t n : numbers) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return "{" + text + "}";
}

inline std::int64_t product_of(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t n : shape) count *= n;
  return count;
}

}  // namespace fuzz
