// tests/fuzz/reference_functions.cpp -- the meaning of the rarer elementwise operations, with their errors: functions
// of one and two numbers, quotients rounded down, powers, clip and fma.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/fuzz/reference.h"
#include "tests/support/reference.h"

namespace fuzz {
namespace {

using Real = long double;
constexpr Real ln2 = 0.693147180559945309417232121458176568L;

/// Within its error the operand may have the other sign or be 0.
bool may_vanish(const Number& a) { return a.error > 0 && std::fabs(a.x) <= 2 * a.error; }
bool may_be_negative(const Number& a) { return a.error > 0 && a.x <= 2 * a.error; }

Number logarithm(DType type, const Number& a, Real value, Real base) {
  if (may_be_negative(a)) return unknown();
  return computed(type, value, a.error > 0 ? a.error / (a.x - a.error) / base : 0, 4);
}

Number rounded(const Number& a, Real (*step)(Real)) {
  if (!std::isfinite(a.x)) return a;
  if (step(a.x - a.error) != step(a.x + a.error)) return unknown();
  Number n;
  n.x = step(a.x);
  return n;
}

/// Only of exact operands: an error may lead to the next integer.
Number of_exact(DType type, const Number& a, const Number& b, Real value, Real units) {
  if (a.error > 0 || b.error > 0) return unknown();
  return computed(type, value, 0, units);
}

Number angle(DType type, const Number& y, const Number& x) {
  const Real radius = std::hypot(y.x, x.x), error = y.error + x.error;
  // On the branch cut the sign of a zero decides, which errors do not tell.
  if (x.x <= x.error && std::fabs(y.x) <= y.error) return unknown();
  if ((x.x == 0 && !x.sign) || (y.x == 0 && !y.sign)) return unknown();
  if (error > 0 && !(radius > 4 * error)) return unknown();
  return computed(type, std::atan2(y.x, x.x), error > 0 ? error / (radius - 2 * error) : 0, 4);
}

Number power(DType type, const Number& a, const Number& b) {
  const Real value = std::pow(a.x, b.x);
  if (a.x == 0 && !a.sign && b.x < 0) return unknown();  // which infinity?
  if (a.error == 0 && b.error == 0) return computed(type, value, 0, 8);
  if (may_be_negative(a) || a.x <= 0 || !std::isfinite(value)) return unknown();
  const Real relative = std::fabs(b.x) * a.error / (a.x - a.error) + (std::fabs(std::log(a.x)) + 1) * b.error;
  if (!(relative < 0.1L)) return unknown();
  return computed(type, value, 1.2L * value * relative, 8);
}

Number one_operand(Op op, DType type, const Number& a) {
  const Real x = a.x, e = std::isinf(a.x) ? 0 : a.error;
  switch (op) {
    case Op::rsqrt:
      if (may_be_negative(a) || (x == 0 && !a.sign)) return unknown();
      return computed(type, 1 / std::sqrt(x), e > 0 ? e / (x * std::sqrt(x)) : 0, 4);
    case Op::cbrt:
      if (may_vanish(a)) return unknown();
      return computed(type, std::cbrt(x), e > 0 ? e / std::pow(std::cbrt(x), 2.0L) : 0, 4);
    case Op::exp2:
      return computed(type, std::exp2(x), e > 0 ? std::exp2(x) * std::expm1(e * ln2) : 0, 4);
    case Op::expm1:
      return computed(type, std::expm1(x), e > 0 ? std::exp(x) * std::expm1(e) : 0, 4);
    case Op::log:
      return logarithm(type, a, std::log(x), 1);
    case Op::log2:
      return logarithm(type, a, std::log2(x), ln2);
    case Op::log10:
      return logarithm(type, a, std::log10(x), 2);
    case Op::atan:
      return computed(type, std::atan(x), e, 4);
    case Op::asinh:
      return computed(type, std::asinh(x), e, 8);
    case Op::sinh:
      return computed(type, std::sinh(x), e > 0 ? std::cosh(std::fabs(x) + e) * e : 0, 8);
    case Op::cosh:
      return computed(type, std::cosh(x), e > 0 ? std::cosh(std::fabs(x) + e) * e : 0, 8);
    case Op::erf:
      return computed(type, std::erf(x), 1.2L * e, 8);
    case Op::erfc:
      return computed(type, std::erfc(x), 1.2L * e, 16);
    case Op::ceil:
      return rounded(a, [](Real value) { return std::ceil(value); });
    case Op::round:
      return rounded(a, [](Real value) { return std::nearbyint(value); });
    case Op::sign: {
      if (a.error > 0 && std::fabs(x) <= a.error) return unknown();
      Number n;
      n.x = reference::sign(x);
      return n;
    }
    default:
      return truth(std::isinf(x));
  }
}

bool has_one_operand(Op op) {
  switch (op) {
    case Op::rsqrt:
    case Op::cbrt:
    case Op::exp2:
    case Op::expm1:
    case Op::log:
    case Op::log2:
    case Op::log10:
    case Op::atan:
    case Op::asinh:
    case Op::sinh:
    case Op::cosh:
    case Op::erf:
    case Op::erfc:
    case Op::ceil:
    case Op::round:
    case Op::sign:
    case Op::isinf:
      return true;
    default:
      return false;
  }
}

bool less(std::int64_t a, std::int64_t b, DType type) {
  return type == DType::u64 ? static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b) : a < b;
}

reference::Int exact(std::int64_t i, DType type) {
  return type == DType::u64 ? reference::Int{static_cast<std::uint64_t>(i)} : reference::Int{i};
}

std::int64_t integer_power(std::int64_t base, std::int64_t exponent, DType type) {
  if (kiln::is_signed_integer(type))
    return wrap(static_cast<std::uint64_t>(reference::integer_power<std::int64_t>(base, exponent)), type);
  return wrap(
      reference::integer_power<std::uint64_t>(static_cast<std::uint64_t>(base), static_cast<std::uint64_t>(exponent)),
      type);
}

}  // namespace

std::optional<Number> rarer_floating(Op op, DType type, const Number* v) {
  const Number &a = v[0], &b = v[1];
  if (has_one_operand(op)) return one_operand(op, type, a);
  switch (op) {
    case Op::hypot:
      return computed(type, std::hypot(a.x, b.x), std::isinf(a.x) || std::isinf(b.x) ? 0 : a.error + b.error, 4);
    case Op::atan2:
      return angle(type, a, b);
    case Op::pow:
      return power(type, a, b);
    case Op::fmod:
      return of_exact(type, a, b, std::fmod(a.x, b.x), 0);
    case Op::remainder:
      return of_exact(type, a, b, reference::python_mod(a.x, b.x), 1);
    case Op::floor_divide:
      return of_exact(type, a, b, reference::python_floor_divide(a.x, b.x), 2);
    case Op::copysign: {
      if (std::isnan(b.x) || std::fabs(b.x) <= b.error) return unknown();  // the sign of NaN is nobody's
      Number n = a;
      n.x = std::copysign(a.x, b.x);
      return n;
    }
    case Op::fma: {
      Number factors[] = {a, b};
      const Number product = apply_operation(Op::mul, type, type, factors);
      if (product.unknown) return product;
      return computed(type, a.x * b.x + v[2].x, product.error + v[2].error, 1);
    }
    case Op::clip: {
      const Number low[] = {a, b};
      const Number high[] = {apply_operation(Op::maximum, type, type, low), v[2]};
      return apply_operation(Op::minimum, type, type, high);
    }
    default:
      return std::nullopt;
  }
}

std::optional<Number> rarer_integer(Op op, DType type, const Number* v) {
  const std::int64_t a = v[0].i, b = v[1].i;
  Number n;
  switch (op) {
    case Op::floor_divide:
      n.i = wrap(static_cast<std::uint64_t>(reference::floor_divide(exact(a, type), exact(b, type))), type);
      return n;
    case Op::remainder:
      n.i = wrap(static_cast<std::uint64_t>(reference::remainder(exact(a, type), exact(b, type))), type);
      return n;
    case Op::fmod:
      n.i = wrap(static_cast<std::uint64_t>(reference::truncate_modulo(exact(a, type), exact(b, type))), type);
      return n;
    case Op::pow:
      n.i = integer_power(a, b, type);
      return n;
    case Op::fma:
      n.i = wrap(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b) + static_cast<std::uint64_t>(v[2].i),
                 type);
      return n;
    case Op::clip:
      n.i = less(a, b, type) ? b : a;
      if (less(v[2].i, n.i, type)) n.i = v[2].i;
      return n;
    case Op::true_divide:
      return computed(DType::f64, static_cast<Real>(exact(a, type)) / static_cast<Real>(exact(b, type)), 0, 4);
    case Op::ge:
      return truth(!less(a, b, type));
    case Op::gt:
      return truth(less(b, a, type));
    case Op::le:
      return truth(!less(b, a, type));
    case Op::ne:
      return truth(a != b);
    default:
      return std::nullopt;
  }
}

}  // namespace fuzz
