// tests/fuzz/statement_values.h -- random arrays for statements, and how close results must be.
#pragma once

#include <cmath>
#include <complex>
#include <string>
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

template <class T>
constexpr const char* cpp_name() {
  if constexpr (std::is_same_v<T, kl::half>) return "kl::half";
  if constexpr (std::is_same_v<T, kl::bfloat16>) return "kl::bfloat16";
  if constexpr (std::is_same_v<T, float>) return "float";
  if constexpr (std::is_same_v<T, double>) return "double";
  if constexpr (std::is_same_v<T, std::complex<float>>) return "std::complex<float>";
  if constexpr (std::is_same_v<T, std::int8_t>) return "std::int8_t";
  if constexpr (std::is_same_v<T, std::int16_t>) return "std::int16_t";
  if constexpr (std::is_same_v<T, std::int32_t>) return "std::int32_t";
  if constexpr (std::is_same_v<T, std::int64_t>) return "std::int64_t";
  if constexpr (std::is_same_v<T, std::uint8_t>) return "std::uint8_t";
  if constexpr (std::is_same_v<T, std::uint16_t>) return "std::uint16_t";
  return "std::uint32_t";
}

/// The line of a program that makes an array; of many values the first ones.
template <class T>
std::string array_line(const char* name, const std::vector<T>& values, const std::vector<std::int64_t>& shape) {
  constexpr std::size_t most = 64;
  std::string list;
  for (std::size_t i = 0; i < values.size() && i < most; ++i) {
    if constexpr (is_complex_type<T>) {
      list += fmt::format("{}{{{}, {}}}", i > 0 ? ", " : "", values[i].real(), values[i].imag());
    } else if constexpr (is_real_float<T>) {
      list += fmt::format("{}{}({})", i > 0 ? ", " : "", cpp_name<T>(), static_cast<double>(real(values[i])));
    } else {
      list += fmt::format("{}{}", i > 0 ? ", " : "", static_cast<std::int64_t>(values[i]));
    }
  }
  if (values.size() > most) list += fmt::format(", ... of {}", values.size());
  return fmt::format("kl::Array<{0}> {1} = kl::from_host(std::vector<{0}>{{{2}}}, {3});\n", cpp_name<T>(), name, list,
                     list_text(shape));
}

inline std::int64_t product_of(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t n : shape) count *= n;
  return count;
}

}  // namespace fuzz
