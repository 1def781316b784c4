// tests/fuzz/reference_formats.cpp -- floating elements by the definition of their formats: sign, exponent,
// significand.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/fuzz/reference.h"

namespace fuzz {
namespace {

struct Format {
  int digits, least_exponent, largest_exponent;  ///< digits with the hidden one
  int exponent_bits;
};

Format format_of(DType type) {
  switch (type) {
    case DType::f16:
      return {11, -14, 15, 5};
    case DType::bf16:
      return {8, -126, 127, 8};
    case DType::f32:
      return {24, -126, 127, 8};
    default:
      return {53, -1022, 1023, 11};
  }
}

}  // namespace

long double nearest(long double x, DType type) {
  if (x == 0 || !std::isfinite(x)) return x;
  const Format format = format_of(type);
  const int exponent = std::max(std::ilogb(x), format.least_exponent) - format.digits + 1;  // of the last digit
  const long double last = std::ldexp(1.0L, exponent), quotient = std::fabs(x) / last, whole = std::floor(quotient);
  const long double rest = quotient - whole;
  const bool up = rest > 0.5L || (rest == 0.5L && std::fmod(whole, 2.0L) == 1);
  const long double rounded = (whole + (up ? 1 : 0)) * last;
  if (rounded >= std::ldexp(1.0L, format.largest_exponent + 1))
    return std::copysign(std::numeric_limits<long double>::infinity(), x);
  return std::copysign(rounded, x);
}

std::uint64_t encoded(long double x, DType type) {
  const Format format = format_of(type);
  const int stored_digits = format.digits - 1;
  const std::uint64_t sign = std::uint64_t{std::signbit(x)} << (stored_digits + format.exponent_bits);
  const std::uint64_t all_ones = (std::uint64_t{1} << format.exponent_bits) - 1;
  if (std::isnan(x)) return sign | all_ones << stored_digits | std::uint64_t{1} << (stored_digits - 1);
  x = std::fabs(nearest(x, type));
  if (std::isinf(x)) return sign | all_ones << stored_digits;
  if (x == 0) return sign;
  const int exponent = std::max(std::ilogb(x), format.least_exponent);
  const auto significand = static_cast<std::uint64_t>(std::ldexp(x, stored_digits - exponent));
  const std::uint64_t hidden = significand >> stored_digits;  // 0 in subnormal numbers
  const std::uint64_t biased = hidden == 0 ? 0 : static_cast<std::uint64_t>(exponent - format.least_exponent + 1);
  return sign | biased << stored_digits | (significand & ((std::uint64_t{1} << stored_digits) - 1));
}

long double decoded(std::uint64_t bits, DType type) {
  const Format format = format_of(type);
  const int stored_digits = format.digits - 1;
  const std::uint64_t all_ones = (std::uint64_t{1} << format.exponent_bits) - 1;
  const std::uint64_t biased = bits >> stored_digits & all_ones;
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << stored_digits) - 1);
  const bool negative = (bits >> (stored_digits + format.exponent_bits) & 1) != 0;
  long double x = 0;
  if (biased == all_ones) {
    x = fraction == 0 ? std::numeric_limits<long double>::infinity() : std::nanl("");
  } else {
    const std::uint64_t significand = fraction | (biased == 0 ? 0 : std::uint64_t{1} << stored_digits);
    const int exponent = format.least_exponent + static_cast<int>(biased == 0 ? 0 : biased - 1);
    x = std::ldexp(static_cast<long double>(significand), exponent - stored_digits);
  }
  return negative ? -x : x;
}

}  // namespace fuzz
