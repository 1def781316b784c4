// codegen/emit/cuda_types.cpp -- spelling of element types and literals in CUDA C++.
#include "codegen/emit/cuda_types.h"

#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "support/check.h"

namespace kiln::codegen::cuda {

const char* storage_type(DType type) {
  switch (type) {
    case DType::b1:
      return "u8";
    case DType::i8:
      return "i8";
    case DType::i16:
      return "i16";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
    case DType::u8:
      return "u8";
    case DType::u16:
      return "u16";
    case DType::u32:
      return "u32";
    case DType::u64:
      return "u64";
    case DType::f16:
      return "u16";
    case DType::bf16:
      return "u16";
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
    case DType::c64:
      return "float2";
    case DType::c128:
      return "double2";
  }
  internal_failure("known type", __FILE__, __LINE__, "no CUDA spelling");
}

const char* value_type(DType type) { return type == DType::b1 ? "bool" : storage_type(type); }

const char* wrapping_type(DType type) { return size_of(type) == 8 ? "u64" : "u32"; }

namespace {

/// Hexadecimal floating constants are exact by construction; small dyadic numbers are exact and readable in decimal.
std::string finite(double value, const char* suffix) {
  const double scaled = std::fabs(value) * 1024;
  if (scaled < 1e9 && scaled == std::floor(scaled)) {
    const std::string text = fmt::format("{}", value);
    return text.find('.') == std::string::npos ? text + ".0" + suffix : text + suffix;
  }
  return fmt::format("{:a}", value) + suffix;
}

std::string negative_zero_or_special(const char* function, std::uint64_t bits, const char* suffix) {
  return fmt::format("{}(0x{:x}{})", function, bits, suffix);
}

std::string signed_literal(DType type, std::int64_t value) {
  if (type == DType::i64) {
    if (value == INT64_MIN) return "(-9223372036854775807ll - 1)";
    return value < 0 ? fmt::format("({}ll)", value) : fmt::format("{}ll", value);
  }
  if (type == DType::i32 && value == INT32_MIN) return "(-2147483647 - 1)";
  const std::string text = value < 0 ? fmt::format("({})", value) : fmt::format("{}", value);
  return type == DType::i32 ? text : fmt::format("{}({})", storage_type(type), value);
}

}  // namespace

std::string literal(DType type, std::uint64_t bits) {
  switch (type) {
    case DType::b1:
      return bits ? "true" : "false";
    case DType::i8:
      return signed_literal(type, static_cast<std::int8_t>(bits));
    case DType::i16:
      return signed_literal(type, static_cast<std::int16_t>(bits));
    case DType::i32:
      return signed_literal(type, static_cast<std::int32_t>(bits));
    case DType::i64:
      return signed_literal(type, static_cast<std::int64_t>(bits));
    case DType::u8:
      return fmt::format("u8({})", static_cast<std::uint8_t>(bits));
    case DType::u16:
      return fmt::format("u16({})", static_cast<std::uint16_t>(bits));
    case DType::u32:
      return fmt::format("{}u", static_cast<std::uint32_t>(bits));
    case DType::u64:
      return fmt::format("{}ull", bits);
    case DType::f16:
    case DType::bf16:
      return fmt::format("u16(0x{:04x})", static_cast<std::uint16_t>(bits));
    case DType::f32: {
      const auto word = static_cast<std::uint32_t>(bits);
      const float value = std::bit_cast<float>(word);
      if (!std::isfinite(value) || word == 0x80000000u) return negative_zero_or_special("__uint_as_float", word, "u");
      return value < 0 ? "(" + finite(static_cast<double>(value), "f") + ")" : finite(static_cast<double>(value), "f");
    }
    case DType::f64: {
      const double value = std::bit_cast<double>(bits);
      if (!std::isfinite(value) || bits == 0x8000000000000000ull)
        return fmt::format("__longlong_as_double((long long)0x{:x}ull)", bits);
      return value < 0 ? "(" + finite(value, "") + ")" : finite(value, "");
    }
    case DType::c64:
    case DType::c128:
      break;  // `complex` of two literals
  }
  internal_failure("literal of a real type", __FILE__, __LINE__, name_of(type));
}

}  // namespace kiln::codegen::cuda
