// tests/fuzz/reference_ops.cpp -- the meaning of one elementwise operation or conversion, with its error.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/fuzz/reference.h"

namespace fuzz {
namespace {

using Real = long double;
constexpr Real infinity = std::numeric_limits<Real>::infinity();

Real largest(DType compute) {
  return compute == DType::f32 ? Real{std::numeric_limits<float>::max()} : Real{std::numeric_limits<double>::max()};
}

/// Which way a comparison goes; 2 when errors leave it open, 3 for NaN.
int order(const Number& a, const Number& b) {
  if (std::isnan(a.x) || std::isnan(b.x)) return 3;
  if (a.error + b.error > 0 && std::fabs(a.x - b.x) <= a.error + b.error) return 2;
  return a.x < b.x ? -1 : a.x > b.x ? 1 : 0;
}

Number compare(Op op, const Number& a, const Number& b) {
  const int o = order(a, b);
  if (o == 2) return unknown();
  if (o == 3) return truth(op == Op::ne);
  switch (op) {
    case Op::lt:
      return truth(o < 0);
    case Op::le:
      return truth(o <= 0);
    case Op::gt:
      return truth(o > 0);
    case Op::ge:
      return truth(o >= 0);
    case Op::eq:
      return truth(o == 0);
    default:
      return truth(o != 0);
  }
}

/// fmin and fmax may give either of two zeros.
Number extreme(Op op, const Number& a, const Number& b) {
  const bool propagates = op == Op::minimum || op == Op::maximum, larger = op == Op::maximum || op == Op::fmax;
  if (!propagates && std::isnan(a.x) != std::isnan(b.x)) return std::isnan(a.x) ? b : a;
  Number n = extreme_of(a, b, larger);
  if (!propagates && a.x == 0 && b.x == 0) n.sign = n.sign && std::signbit(a.x) == std::signbit(b.x);
  return n;
}

Number quotient(DType type, const Number& a, const Number& b) {
  const Real q = a.x / b.x;
  if (b.x == 0 && !b.sign && a.x != 0 && !std::isnan(a.x)) return unknown();  // which infinity?
  if (b.error > 0 && std::fabs(b.x) <= 2 * b.error) return unknown();
  if (!std::isfinite(q)) return computed(type, q, a.error + b.error, 1);
  return computed(type, q, (a.error + std::fabs(q) * b.error) / (std::fabs(b.x) - b.error), 4);
}

Number product(DType type, const Number& a, const Number& b) {
  const Real p = a.x * b.x;
  if (!std::isfinite(p)) return computed(type, p, a.error + b.error, 1);
  return computed(type, p, std::fabs(a.x) * b.error + std::fabs(b.x) * a.error + a.error * b.error, 1);
}

Number stepped(Op op, const Number& a) {
  const auto step = [&](Real x) { return op == Op::floor ? std::floor(x) : std::trunc(x); };
  if (!std::isfinite(a.x)) return a;
  if (step(a.x - a.error) != step(a.x + a.error)) return unknown();
  Number n;
  n.x = step(a.x);
  return n;
}

/// A function evaluated in kiln's own way: `units` is generous, the slope bounds how errors grow.
Number function(Op op, DType type, const Number& a) {
  const Real x = a.x, e = a.error;
  switch (op) {
    case Op::sqrt:
      if (e > 0 && x <= 2 * e) return unknown();
      return computed(type, std::sqrt(x), e > 0 ? e / std::sqrt(x) : 0, 2);
    case Op::exp:
      return computed(type, std::exp(x), e > 0 ? std::exp(x) * std::expm1(e) : 0, 4);
    case Op::log1p:
      if (e > 0 && 1 + x <= 2 * e) return unknown();
      return computed(type, std::log1p(x), e > 0 ? e / (1 + x - e) : 0, 4);
    case Op::tanh:
      return computed(type, std::tanh(x), std::isinf(x) ? 0 : e, 4);
    case Op::sigmoid:
      return computed(type, 1 / (1 + std::exp(-x)), e, 8);
    case Op::silu:
      // x / (1 + exp(-x)) as written: -inf gives NaN.
      return computed(type, x / (1 + std::exp(-x)), 1.2L * e, 8);
    case Op::softplus:
      return computed(type, x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)), e, 8);
    case Op::sin:
      return computed(type, std::isinf(x) ? std::nanl("") : std::sin(x), e, 4);
    default:
      return computed(type, std::isinf(x) ? std::nanl("") : std::cos(x), e, 4);
  }
}

Number floating(Op op, DType type, const Number* v) {
  const Number& a = v[0];
  switch (op) {
    case Op::add:
      return computed(type, a.x + v[1].x, a.error + v[1].error, 1);
    case Op::sub:
      return computed(type, a.x - v[1].x, a.error + v[1].error, 1);
    case Op::mul:
      return product(type, a, v[1]);
    case Op::div:
      return quotient(type, a, v[1]);
    case Op::minimum:
    case Op::maximum:
    case Op::fmin:
    case Op::fmax:
      return extreme(op, a, v[1]);
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
    case Op::eq:
    case Op::ne:
      return compare(op, a, v[1]);
    case Op::neg: {
      Number n = a;
      n.x = -a.x;
      return n;
    }
    case Op::abs: {
      Number n = a;
      n.x = std::fabs(a.x);
      return n;
    }
    case Op::relu: {
      Number n = a;
      if (a.x < 0) n.x = 0;
      n.sign = false;
      return n;
    }
    case Op::floor:
    case Op::trunc:
      return stepped(op, a);
    case Op::isnan:
      return truth(std::isnan(a.x));
    case Op::isfinite:
      return truth(std::isfinite(a.x));
    default:
      return function(op, type, a);
  }
}

bool less(std::int64_t a, std::int64_t b, DType type) {
  return type == DType::u64 ? static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b) : a < b;
}

std::int64_t divide(std::int64_t a, std::int64_t b, DType type, bool remainder) {
  if (b == 0) return 0;
  if (type == DType::u64) {
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    return static_cast<std::int64_t>(remainder ? x % y : x / y);
  }
  if (b == -1) return remainder ? 0 : wrap(0 - static_cast<std::uint64_t>(a), type);
  return remainder ? a % b : a / b;
}

std::int64_t shift(Op op, std::int64_t a, std::int64_t by, DType type) {
  const auto width = static_cast<std::int64_t>(8 * kiln::size_of(type));
  const bool outside = by < 0 || by >= width;
  if (op == Op::shl) return outside ? 0 : wrap(static_cast<std::uint64_t>(a) << by, type);
  if (kiln::is_signed_integer(type)) return outside ? (a < 0 ? -1 : 0) : a >> by;
  return outside ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(a) >> by);
}

Number integer(Op op, DType type, const Number* v) {
  const std::int64_t a = v[0].i, b = v[1].i;
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  Number n;
  switch (op) {
    case Op::add:
      n.i = wrap(x + y, type);
      break;
    case Op::sub:
      n.i = wrap(x - y, type);
      break;
    case Op::mul:
      n.i = wrap(x * y, type);
      break;
    case Op::neg:
      n.i = wrap(0 - x, type);
      break;
    case Op::abs:
      n.i = kiln::is_signed_integer(type) && a < 0 ? wrap(0 - x, type) : a;
      break;
    case Op::sign:
      n.i = a == 0 ? 0 : kiln::is_signed_integer(type) && a < 0 ? -1 : 1;
      break;
    case Op::div:
    case Op::mod:
      n.i = divide(a, b, type, op == Op::mod);
      break;
    case Op::bit_and:
      n.i = a & b;
      break;
    case Op::bit_or:
      n.i = a | b;
      break;
    case Op::bit_xor:
      n.i = a ^ b;
      break;
    case Op::bit_not:
      n.i = wrap(~x, type);
      break;
    case Op::minimum:
      n.i = less(a, b, type) ? a : b;
      break;
    case Op::maximum:
      n.i = less(a, b, type) ? b : a;
      break;
    case Op::shl:
    case Op::shr:
      n.i = shift(op, a, b, type);
      break;
    case Op::lt:
      return truth(less(a, b, type));
    default:
      return truth(a == b);
  }
  return n;
}

Number boolean(Op op, const Number* v) {
  const bool a = v[0].i != 0, b = v[1].i != 0;
  switch (op) {
    case Op::logical_and:
      return truth(a && b);
    case Op::logical_or:
      return truth(a || b);
    case Op::logical_not:
      return truth(!a);
    case Op::bit_xor:
      return truth(a != b);
    default:
      return truth(a == b);
  }
}

Real integer_value(std::int64_t i, DType type) {
  return type == DType::u64 ? Real(static_cast<std::uint64_t>(i)) : Real(i);
}

std::int64_t saturated(Real x, DType to) {
  if (std::isnan(x)) return 0;
  const int width = static_cast<int>(8 * kiln::size_of(to));
  const bool is_signed = kiln::is_signed_integer(to);
  const Real low = is_signed ? -std::ldexp(1.0L, width - 1) : 0;
  const Real high = std::ldexp(1.0L, is_signed ? width - 1 : width) - 1;
  const Real bounded = std::clamp(std::trunc(x), low, high);
  return is_signed ? static_cast<std::int64_t>(bounded)
                   : static_cast<std::int64_t>(static_cast<std::uint64_t>(bounded));
}

Number float_to_integer(const Number& value, DType to) {
  Number n;
  n.i = saturated(value.x, to);
  n.unknown = saturated(value.x - value.error, to) != saturated(value.x + value.error, to);
  return n;
}

}  // namespace

Number computed(DType type, Real x, Real error, Real units) {
  const DType compute = computing_type(type);
  Number n;
  n.x = x;
  if (std::isnan(x) || std::isinf(x)) {
    n.unknown = error > 0 || std::isnan(error);
    return n;
  }
  const Real least = compute == DType::f32 ? 0x1p-149L : 0x1p-1074L;
  n.error = error + units * (unit_roundoff(compute) * std::fabs(x) + least);
  n.unknown = !(std::fabs(x) + n.error < largest(compute) / 4);
  if (units == 0 && error == 0) n.unknown = false;
  return n;
}

std::int64_t wrap(std::uint64_t bits, DType type) {
  const int width = static_cast<int>(8 * kiln::size_of(type));
  if (width == 64) return static_cast<std::int64_t>(bits);
  bits &= (std::uint64_t{1} << width) - 1;
  const bool negative = kiln::is_signed_integer(type) && (bits >> (width - 1)) != 0;
  return static_cast<std::int64_t>(negative ? bits | ~std::uint64_t{0} << width : bits);
}

long double unit_roundoff(DType type) {
  switch (type) {
    case DType::f16:
      return 0x1p-11L;
    case DType::bf16:
      return 0x1p-8L;
    case DType::f32:
    case DType::c64:
      return 0x1p-24L;
    default:
      return 0x1p-53L;
  }
}

DType computing_type(DType type) { return type == DType::f16 || type == DType::bf16 ? DType::f32 : type; }

Number apply_operation(Op op, DType operand_type, DType result_type, const Number* operands) {
  Number v[3];
  const bool has_three = op == Op::where || op == Op::fma || op == Op::clip;
  for (int i = 0; i < (has_three ? 3 : 2); ++i) v[i] = operands[i];
  if (op == Op::where) {
    if (v[0].unknown) return unknown();
    return v[0].i != 0 ? v[1] : v[2];
  }
  if (v[0].infinite && op == Op::isfinite) return truth(false);
  if (v[0].unknown || v[1].unknown || v[2].unknown) return unknown();
  if (kiln::is_complex(operand_type)) return complex_operation(op, operand_type, result_type, v);
  if (operand_type == DType::b1) return boolean(op, v);
  if (kiln::is_floating(operand_type)) {
    const DType type = result_type == DType::b1 ? operand_type : result_type;
    const std::optional<Number> rarer = rarer_floating(op, type, v);
    return with_zeros(op, operands, rarer ? *rarer : floating(op, type, v));
  }
  const std::optional<Number> rarer = rarer_integer(op, operand_type, v);
  return rarer ? *rarer : integer(op, operand_type, v);
}

Number convert(const Number& value, DType from, DType to) {
  if (value.unknown) return value;
  if (kiln::is_complex(to)) return complex_conversion(value, from, to);
  if (kiln::is_floating(from)) {
    if (to == DType::b1) {
      if (value.error > 0 && std::fabs(value.x) <= value.error) return unknown();
      return truth(value.x != 0);
    }
    if (!kiln::is_floating(to)) return float_to_integer(value, to);
    if (unit_roundoff(to) < unit_roundoff(from) && computing_type(from) == from) return value;
    return stored(value, to);
  }
  if (to == DType::b1) return truth(value.i != 0);
  Number n;
  if (!kiln::is_floating(to)) {
    n.i = wrap(static_cast<std::uint64_t>(value.i), to);
    return n;
  }
  n.x = from == DType::b1 ? value.i : integer_value(value.i, from);
  n.sign = true;
  return stored(n, to);
}

}  // namespace fuzz
