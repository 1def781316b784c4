// dsl/convert.cpp -- scalar conversion with range checks; no locale, no rounding mode, no allocation on success.
#include "dsl/convert.h"

#include <bit>
#include <cstdio>
#include <cstring>
#include <limits>

#include "dsl/shapes.h"
#include "support/check.h"
#include "support/float_environment.h"

namespace kiln::dsl {
namespace {

/// A scalar in the widest form of its kind.
struct Value {
  enum class Form : std::uint8_t { signed_integer, unsigned_integer, floating } form = Form::signed_integer;
  std::int64_t i = 0;
  std::uint64_t u = 0;
  double real = 0, imaginary = 0;
};

template <class T>
T read(const unsigned char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

Value signed_value(std::int64_t i) { return {.form = Value::Form::signed_integer, .i = i}; }
Value unsigned_value(std::uint64_t u) { return {.form = Value::Form::unsigned_integer, .u = u}; }
Value floating_value(double real, double imaginary = 0) {
  return {.form = Value::Form::floating, .real = real, .imaginary = imaginary};
}

Value value_of(const detail::ScalarArgument& scalar) {
  const unsigned char* b = scalar.bytes;
  switch (scalar.type) {
    case DType::b1:
      return unsigned_value(b[0] != 0);
    case DType::i8:
      return signed_value(read<std::int8_t>(b));
    case DType::i16:
      return signed_value(read<std::int16_t>(b));
    case DType::i32:
      return signed_value(read<std::int32_t>(b));
    case DType::i64:
      return signed_value(read<std::int64_t>(b));
    case DType::u8:
      return unsigned_value(b[0]);
    case DType::u16:
      return unsigned_value(read<std::uint16_t>(b));
    case DType::u32:
      return unsigned_value(read<std::uint32_t>(b));
    case DType::u64:
      return unsigned_value(read<std::uint64_t>(b));
    case DType::f16:
      return floating_value(detail::f16_bits_to_f32(read<std::uint16_t>(b)));
    case DType::bf16:
      return floating_value(detail::bf16_bits_to_f32(read<std::uint16_t>(b)));
    case DType::f32:
      return floating_value(read<float>(b));
    case DType::f64:
      return floating_value(read<double>(b));
    case DType::c64:
      return floating_value(read<float>(b), read<float>(b + 4));
    case DType::c128:
      return floating_value(read<double>(b), read<double>(b + 8));
  }
  return {};
}

/// `value` as binary32 with the last bit set when inexact (round to odd): rounding it again to a narrower type gives
/// what rounding `value` once would have given.
float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || nearest != nearest || nearest - nearest != 0) return nearest;
  std::uint32_t bits = read<std::uint32_t>(reinterpret_cast<const unsigned char*>(&nearest));
  const bool away =
      (nearest < 0 ? -static_cast<double>(nearest) : static_cast<double>(nearest)) > (value < 0 ? -value : value);
  if (away) --bits;  // toward zero
  bits |= 1u;
  return read<float>(reinterpret_cast<const unsigned char*>(&bits));
}

double as_double(const Value& value) {
  switch (value.form) {
    case Value::Form::signed_integer:
      return static_cast<double>(value.i);
    case Value::Form::unsigned_integer:
      return static_cast<double>(value.u);
    default:
      return value.real;
  }
}

float as_float(const Value& value) {
  switch (value.form) {
    case Value::Form::signed_integer:
      return static_cast<float>(value.i);
    case Value::Form::unsigned_integer:
      return static_cast<float>(value.u);
    default:
      return static_cast<float>(value.real);
  }
}

/// `value` in T, or false when it does not fit or has a fraction.
template <class T>
bool store_integer(const Value& value, unsigned char* out) {
  using limits = std::numeric_limits<T>;
  T result{};
  if (value.form == Value::Form::signed_integer) {
    if (!std::is_signed_v<T> && value.i < 0) return false;
    result = static_cast<T>(value.i);
    if (static_cast<std::int64_t>(result) != value.i) return false;
  } else if (value.form == Value::Form::unsigned_integer) {
    if (value.u > static_cast<std::uint64_t>(limits::max())) return false;
    result = static_cast<T>(value.u);
  } else {
    // 2^digits is exact in binary64, so the comparison is too; NaN fails it.
    const double bound = 2.0 * static_cast<double>(std::uint64_t{1} << (limits::digits - 1));
    const double low = std::is_signed_v<T> ? -bound : 0.0;
    if (!(value.real >= low && value.real < bound) || value.imaginary != 0) return false;
    result = static_cast<T>(value.real);
    if (static_cast<double>(result) != value.real) return false;
  }
  std::memcpy(out, &result, sizeof result);
  return true;
}

template <class T>
void write(unsigned char* out, T value) {
  std::memcpy(out, &value, sizeof value);
}

bool store_floating(const Value& value, DType to, unsigned char* out) {
  switch (to) {
    case DType::f16:
      write(out, detail::f16_bits_to_f32(detail::f32_to_f16_bits(round_to_odd(as_double(value)))));
      return true;
    case DType::bf16:
      write(out, detail::bf16_bits_to_f32(detail::f32_to_bf16_bits(round_to_odd(as_double(value)))));
      return true;
    case DType::f32:
      write(out, as_float(value));
      return true;
    default:
      write(out, as_double(value));
      return true;
  }
}

/// Numbers that f32 and f64 hold: neither the thread's rounding mode nor what it traps can matter. Most numbers of
/// calls are such, and spared the time of setting both.
bool is_exact(const Value& value, DType to) {
  if (to != DType::f32 && to != DType::f64) return false;
  constexpr int most = 1 << 24;
  if (value.form == Value::Form::signed_integer) return value.i >= -most && value.i <= most;
  if (value.form == Value::Form::unsigned_integer) return value.u <= most;
  const auto bits = std::bit_cast<std::uint64_t>(value.real);
  const std::uint64_t exponent = bits >> 52 & 0x7ff;  // 1023: 2^0; f32 has -126 to 127
  return to == DType::f64 || bits << 1 == 0 || (bits << 35 == 0 && exponent >= 897 && exponent <= 1150);
}

bool convert(const Value& value, DType to, unsigned char* out) {
  switch (to) {
    case DType::b1:
      out[0] = value.form == Value::Form::signed_integer ? value.i != 0 : as_double(value) != 0;
      return true;
    case DType::i8:
      return store_integer<std::int8_t>(value, out);
    case DType::i16:
      return store_integer<std::int16_t>(value, out);
    case DType::i32:
      return store_integer<std::int32_t>(value, out);
    case DType::i64:
      return store_integer<std::int64_t>(value, out);
    case DType::u8:
      return store_integer<std::uint8_t>(value, out);
    case DType::u16:
      return store_integer<std::uint16_t>(value, out);
    case DType::u32:
      return store_integer<std::uint32_t>(value, out);
    case DType::u64:
      return store_integer<std::uint64_t>(value, out);
    case DType::c64:
      write(out, as_float(value));
      write(out + 4, static_cast<float>(value.imaginary));
      return true;
    case DType::c128:
      write(out, as_double(value));
      write(out + 8, value.imaginary);
      return true;
    default:
      return store_floating(value, to, out);
  }
}

}  // namespace

bool convert_scalar(const detail::ScalarArgument& from, DType to, unsigned char* out) {
  const Value value = value_of(from);
  if (is_complex(from.type) && !is_complex(to)) return false;
  if (is_exact(value, to)) [[likely]]
    return convert(value, to, out);
  const DefaultFloatEnvironment environment;
  return convert(value, to, out);
}

bool is_negative(const detail::ScalarArgument& scalar) {
  const Value value = value_of(scalar);
  return value.form == Value::Form::signed_integer && value.i < 0;
}

const char* scalar_text(const detail::ScalarArgument& scalar, char* buffer, unsigned size) {
  const Value value = value_of(scalar);
  const char* type = name_of(scalar.type);
  const auto result =
      value.form == Value::Form::signed_integer     ? fmt::format_to_n(buffer, size - 1, "{} ({})", value.i, type)
      : value.form == Value::Form::unsigned_integer ? fmt::format_to_n(buffer, size - 1, "{} ({})", value.u, type)
      : is_complex(scalar.type) ? fmt::format_to_n(buffer, size - 1, "{}{:+}i ({})", value.real, value.imaginary, type)
                                : fmt::format_to_n(buffer, size - 1, "{} ({})", value.real, type);
  *result.out = '\0';
  return buffer;
}

void fail_conversion(std::string_view operation, const detail::ScalarArgument& scalar, DType to, detail::Where where) {
  char text[96];
  scalar_text(scalar, text, sizeof text);
  if (is_complex(scalar.type)) {
    fail<TypeError>("{}the scalar {} is complex, but {} is wanted{}: use kl::real or kl::abs of it", operation, text,
                    name_of(to), place(where));
  }
  fail<TypeError>(
      "{}the scalar {} does not fit {}{}: a C++ number takes the type of the array beside it; cast the array with "
      "kl::cast, or write kl::scalar<T>(value) for a value with its own type",
      operation, text, name_of(to), place(where));
}

}  // namespace kiln::dsl
