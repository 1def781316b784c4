// codegen/pass/evaluate.cpp -- constant evaluation by the rules of api.md section 8. The caller sets the default
// environment.
#include "codegen/pass/evaluate.h"

#include <bit>
#include <cmath>
#include <limits>

#include "codegen/ir/op_info.h"
#include "codegen/pass/builder.h"

namespace kiln::codegen {
namespace {

using Bits = std::optional<std::uint64_t>;

template <class T>
T float_of(const Node& literal) {
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(literal.payload));
  } else {
    return std::bit_cast<double>(literal.payload);
  }
}

template <class T>
std::uint64_t bits_of(T value) {
  if (value != value)
    value = std::numeric_limits<T>::quiet_NaN();  // one NaN, so that graphs do not depend on the host's
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<std::uint32_t>(value);
  } else {
    return std::bit_cast<std::uint64_t>(value);
  }
}

/// IEEE 754-2019 minimum and maximum: NaN propagates, -0 < +0. fmin and fmax ignore one NaN.
template <class T>
T extremum(Op op, T a, T b) {
  const bool ignores_nan = op == Op::fmin || op == Op::fmax;
  if (a != a) return ignores_nan ? b : a;
  if (b != b) return ignores_nan ? a : b;
  const bool wants_smaller = op == Op::minimum || op == Op::fmin;
  const bool a_is_smaller = a < b || (a == b && std::signbit(a));
  return a_is_smaller == wants_smaller ? a : b;
}

template <class T>
Bits compare(Op op, T a, T b) {
  switch (op) {
    case Op::eq:
      return a == b;
    case Op::ne:
      return a != b;
    case Op::lt:
      return a < b;
    case Op::le:
      return a <= b;
    case Op::gt:
      return a > b;
    case Op::ge:
      return a >= b;
    default:
      return std::nullopt;
  }
}

template <class T>
Bits evaluate_float(Op op, std::span<const Node> operands) {
  const T a = float_of<T>(operands[0]);
  const T b = operands.size() > 1 ? float_of<T>(operands[1]) : T{};
  if (is_comparison(op)) return compare(op, a, b);
  constexpr std::uint64_t sign_bit = std::uint64_t{1} << (8 * sizeof(T) - 1);
  switch (op) {
    case Op::add:
      return bits_of<T>(a + b);
    case Op::sub:
      return bits_of<T>(a - b);
    case Op::mul:
      return bits_of<T>(a * b);
    case Op::div:
    case Op::true_divide:
      return bits_of<T>(a / b);
    case Op::fma:
      return bits_of<T>(std::fma(a, b, float_of<T>(operands[2])));
    case Op::sqrt:
      return bits_of<T>(std::sqrt(a));
    case Op::floor:
      return bits_of<T>(std::floor(a));
    case Op::ceil:
      return bits_of<T>(std::ceil(a));
    case Op::trunc:
      return bits_of<T>(std::trunc(a));
    case Op::round:
      return bits_of<T>(std::nearbyint(a));
    case Op::minimum:
    case Op::maximum:
    case Op::fmin:
    case Op::fmax:
      return bits_of<T>(extremum(op, a, b));
    // Sign operations move bits only, also of a NaN.
    case Op::neg:
      return operands[0].payload ^ sign_bit;
    case Op::abs:
      return operands[0].payload & ~sign_bit;
    case Op::copysign:
      return (operands[0].payload & ~sign_bit) | (operands[1].payload & sign_bit);
    default:
      return std::nullopt;
  }
}

/// Values as sign-extended 64-bit words; results are masked to the type by the caller.
struct IntegerPair {
  std::int64_t a, b;
  bool is_signed;
  int width;
  bool less() const { return is_signed ? a < b : static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b); }
};

std::uint64_t quotient(const IntegerPair& v) {
  if (v.b == 0) return 0;
  if (!v.is_signed) return static_cast<std::uint64_t>(v.a) / static_cast<std::uint64_t>(v.b);
  return v.b == -1 ? 0 - static_cast<std::uint64_t>(v.a) : static_cast<std::uint64_t>(v.a / v.b);
}

std::uint64_t shifted(Op op, const IntegerPair& v) {
  const bool in_range = v.b >= 0 && v.b < v.width;
  const auto word = static_cast<std::uint64_t>(v.a);
  if (op == Op::shl) return in_range ? word << v.b : 0;
  if (v.is_signed) return static_cast<std::uint64_t>(v.a >> (in_range ? v.b : v.width - 1));
  return in_range ? word >> v.b : 0;
}

Bits evaluate_integer_words(Op op, const IntegerPair& v) {
  const auto a = static_cast<std::uint64_t>(v.a), b = static_cast<std::uint64_t>(v.b);
  switch (op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    case Op::neg:
      return 0 - a;
    case Op::div:
      return quotient(v);
    case Op::mod:
      return a - b * quotient(v);
    case Op::abs:
      return v.is_signed && v.a < 0 ? 0 - a : a;
    case Op::bit_and:
      return a & b;
    case Op::bit_or:
      return a | b;
    case Op::bit_xor:
      return a ^ b;
    case Op::bit_not:
      return ~a;
    case Op::shl:
    case Op::shr:
      return shifted(op, v);
    case Op::minimum:
      return v.less() ? a : b;
    case Op::maximum:
      return v.less() ? b : a;
    default:
      return std::nullopt;
  }
}

Bits evaluate_integer(Op op, std::span<const Node> operands) {
  const DType type = operands[0].type;
  if (operands.size() > 1 && operands[1].type != type) return std::nullopt;  // mixed comparisons wait for legalize
  IntegerPair v{literal_as_integer(operands[0]), operands.size() > 1 ? literal_as_integer(operands[1]) : 0,
                is_signed_integer(type), static_cast<int>(8 * size_of(type))};
  if (op == Op::mod && v.b == 0) return 0;
  if (is_comparison(op)) {
    return v.is_signed ? compare(op, v.a, v.b) : compare(op, operands[0].payload, operands[1].payload);
  }
  const Bits result = evaluate_integer_words(op, v);
  if (!result) return result;
  return *result & mask_of(type);
}

Bits evaluate_boolean(Op op, std::span<const Node> operands) {
  const bool a = operands[0].payload != 0, b = operands.size() > 1 && operands[1].payload != 0;
  if (is_comparison(op)) return compare(op, a, b);
  switch (op) {
    case Op::bit_and:
      return a && b;
    case Op::bit_or:
      return a || b;
    case Op::bit_xor:
      return a != b;
    case Op::bit_not:
      return !a;
    default:
      return std::nullopt;
  }
}

/// Truncates toward zero and saturates; NaN gives 0.
std::uint64_t float_to_integer(double value, DType to) {
  if (value != value) return 0;
  const bool to_signed = is_signed_integer(to);
  const int magnitude_bits = static_cast<int>(8 * size_of(to)) - (to_signed ? 1 : 0);
  const double limit = std::ldexp(1.0, magnitude_bits);
  if (value >= limit) return mask_of(to) >> (to_signed ? 1 : 0);
  if (!to_signed) return value <= 0 ? 0 : static_cast<std::uint64_t>(value);
  if (value <= -limit) return std::uint64_t{1} << magnitude_bits;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) & mask_of(to);
}

template <class T>
std::uint64_t integer_to_float(const Node& literal) {
  return is_signed_integer(literal.type) ? bits_of<T>(static_cast<T>(literal_as_integer(literal)))
                                         : bits_of<T>(static_cast<T>(literal.payload));
}

Bits evaluate_cast(DType to, const Node& from) {
  if (is_complex(to)) return std::nullopt;
  const bool from_float = is_floating(from.type);
  if (to == DType::b1) return from_float ? literal_as_double(from) != 0 : from.payload != 0;
  if (is_integer(to)) {
    if (from_float) return float_to_integer(literal_as_double(from), to);
    return static_cast<std::uint64_t>(literal_as_integer(from)) & mask_of(to);
  }
  if (to == DType::f64) return from_float ? bits_of<double>(literal_as_double(from)) : integer_to_float<double>(from);
  if (to == DType::f32) {
    return from_float ? bits_of<float>(static_cast<float>(literal_as_double(from))) : integer_to_float<float>(from);
  }
  if (from.type == to) return from.payload;
  // A rounding cast of an f32 value stays: it is the form in which legalised bodies store f16 and bf16.
  const bool exact_as_double = from_float || size_of(from.type) < 8;
  if (!exact_as_double || from.type == DType::f32) return std::nullopt;
  return round_to_storage(literal_as_double(from), to);
}

}  // namespace

std::uint16_t round_to_storage(double value, DType type) {
  float narrow = static_cast<float>(value);
  // Rounded to odd, so that the second rounding cannot see a tie that was none.
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(narrow);
  if (value == value && static_cast<double>(narrow) != value && (bits & 1) == 0) {
    const bool is_short = std::abs(static_cast<double>(narrow)) < std::abs(value);
    narrow = std::bit_cast<float>(is_short ? bits + 1 : bits - 1);
  }
  return type == DType::f16 ? half(narrow).bits : bfloat16(narrow).bits;
}

std::optional<std::uint64_t> evaluate(const Node& node, std::span<const Node> operands) {
  if (node.kind == NodeKind::cast) {
    return node.payload == unrounded_cast ? std::nullopt : evaluate_cast(node.type, operands[0]);
  }
  if (node.kind == NodeKind::bitcast) return operands[0].payload;
  if (node.kind == NodeKind::mulhi && node.type == DType::u32) return (operands[0].payload * operands[1].payload) >> 32;
  if (node.kind != NodeKind::operation || node.op == Op::where || node.payload == library_form) {
    return std::nullopt;
  }
  switch (operands[0].type) {
    case DType::b1:
      return evaluate_boolean(node.op, operands);
    case DType::f32:
      return evaluate_float<float>(node.op, operands);
    case DType::f64:
      return evaluate_float<double>(node.op, operands);
    case DType::f16:
    case DType::bf16:
    case DType::c64:
    case DType::c128:
      return std::nullopt;
    default:
      return evaluate_integer(node.op, operands);
  }
}

}  // namespace kiln::codegen
