// tests/fuzz/reference_complex.cpp -- the meaning of complex operations, reductions and elements, with their errors.
//
// A complex Number holds its parts in x and y; `error` bounds the distance in the plane of those that are finite. What
// works part by part says each part of numbers that are not finite; products and functions leave them open, as C++
// does, and of quotients only says which are infinite.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "tests/fuzz/reference.h"

namespace fuzz {
namespace {

using Real = long double;
using Complex = std::complex<Real>;

Complex value_of(const Number& n) { return {n.x, n.y}; }

bool is_finite(const Number& n) { return std::isfinite(n.x) && std::isfinite(n.y); }

Real largest(DType part) { return part == DType::f32 ? 0x1p120L : 0x1p1000L; }
Real least(DType part) { return part == DType::f32 ? 0x1p-140L : 0x1p-1060L; }

/// `error` from the operands, `units` roundings of the magnitude; for results near the ends of the range nothing is
/// said, because products inside may overflow or underflow.
Number computed(DType type, Complex z, Real error, Real units) {
  const DType part = kiln::real_of(type);
  const Real magnitude = std::abs(z);
  Number n;
  n.x = z.real(), n.y = z.imag();
  n.error = error + units * unit_roundoff(part) * magnitude + least(part);
  n.unknown = !(magnitude + n.error < largest(part));
  return n;
}

/// A real result of a complex operand.
Number real_result(DType type, Real x, Real error, Real units) {
  Number n = computed(type, {x, 0}, error, units);
  return n;
}

Number quotient(DType type, const Number& a, const Number& b) {
  const Real below = std::abs(value_of(b));
  if (below <= 4 * b.error || below < std::sqrt(least(kiln::real_of(type)))) return unknown();
  const Complex q = value_of(a) / value_of(b);
  return computed(type, q, (a.error + std::abs(q) * b.error) / (below - b.error), 8);
}

Number product(DType type, const Number& a, const Number& b) {
  const Real left = std::abs(value_of(a)), right = std::abs(value_of(b));
  return computed(type, value_of(a) * value_of(b), left * b.error + right * a.error + a.error * b.error, 4);
}

/// Part by part, of operands that need not be finite.
Number sum_of_parts(DType type, const Number& a, const Number& b, Real sign) {
  const auto finite = [](Real x) { return std::isfinite(x) ? x : 0; };
  const Complex z = value_of(a) + sign * value_of(b);
  Number n = computed(type, {finite(z.real()), finite(z.imag())}, a.error + b.error, 2);
  n.x = z.real(), n.y = z.imag();
  return n;
}

Number infinite_quotient(const Number& a, const Number& b) {
  Number n = unknown();
  const bool infinite = std::isinf(a.x) || std::isinf(a.y);
  n.infinite = infinite && is_finite(b) && std::abs(value_of(b)) > 4 * b.error;
  return n;
}

bool has_nan(const Number& n) { return std::isnan(n.x) || std::isnan(n.y); }
bool has_infinity(const Number& n) { return std::isinf(n.x) || std::isinf(n.y); }

Number equal(const Number& a, const Number& b, bool wanted) {
  if (!is_finite(a) || !is_finite(b)) {
    if (a.error > 0 || b.error > 0) return unknown();
    return truth((a.x == b.x && a.y == b.y) == wanted);
  }
  const Real distance = std::abs(value_of(a) - value_of(b)), error = a.error + b.error;
  if (error > 0 && distance <= 2 * error) return unknown();
  return truth((distance == 0) == wanted);
}

Complex function_of(Op op, Complex z) {
  switch (op) {
    case Op::sqrt:
      return std::sqrt(z);
    case Op::exp:
      return std::exp(z);
    case Op::log:
      return std::log(z);
    case Op::sin:
      return std::sin(z);
    case Op::cos:
      return std::cos(z);
    case Op::tanh:
      return std::tanh(z);
    case Op::sinh:
      return std::sinh(z);
    case Op::atan:
      return std::atan(z);
    case Op::asin:
      return std::asin(z);
    case Op::log1p:
      return std::log(Real{1} + z);
    default:
      return std::exp(z) - Real{1};  // expm1
  }
}

bool has_cuts(Op op) { return op == Op::sqrt || op == Op::log || op == Op::log1p || op == Op::atan || op == Op::asin; }

/// What an error of the operand makes of the result: the function a little away, in eight directions.
Number function(Op op, DType type, const Number& a) {
  const Complex z = value_of(a), f = function_of(op, z);
  if (!std::isfinite(f.real()) || !std::isfinite(f.imag())) return unknown();
  if (has_cuts(op) && (a.y == 0 || a.x == 0)) return unknown();  // on a cut, or beside one: the sign of a zero decides
  const Real away = a.error + 16 * unit_roundoff(kiln::real_of(type)) * (std::abs(z) + (op == Op::log1p ? 1 : 0));
  Real change = 0;
  for (int k = 0; k < 8; ++k) {
    const Complex moved = function_of(op, z + std::polar(away, Real(k) * 0.785398163397448309616L));
    if (!std::isfinite(moved.real()) || !std::isfinite(moved.imag())) return unknown();
    change = std::max(change, std::abs(moved - f));
  }
  if (change > 0.01L * (1 + std::abs(f))) return unknown();  // a cut, a pole or chaos
  return computed(type, f, 2 * change + 16 * unit_roundoff(kiln::real_of(type)), 64);
}

Number real_of_complex(Op op, DType type, const Number& a) {
  if (!is_finite(a) && (op == Op::abs || op == Op::arg)) {
    Number n;
    n.x = has_infinity(a) ? std::numeric_limits<Real>::infinity() : std::nanl("");
    return op == Op::abs ? n : unknown();
  }
  const Real magnitude = std::abs(value_of(a));
  switch (op) {
    case Op::real:
    case Op::imag: {
      Number n;
      n.x = op == Op::real ? a.x : a.y;
      n.error = std::isfinite(n.x) ? a.error : 0;
      return n;
    }
    case Op::abs:
      return real_result(type, magnitude, a.error, 4);
    default:  // arg
      if (a.y == 0 || magnitude <= 4 * a.error || (a.x < 0 && std::fabs(a.y) <= a.error)) return unknown();
      return real_result(type, std::arg(value_of(a)), 2 * a.error / magnitude, 4);
  }
}

Number count_true(Function function, const Values& values) {
  std::int64_t certain = 0, open = 0;
  for (const Number& v : values) {
    const bool is_open = v.unknown || (v.error > 0 && std::abs(value_of(v)) <= 2 * v.error);
    open += is_open ? 1 : 0;
    certain += !is_open && (v.x != 0 || v.y != 0) ? 1 : 0;
  }
  const auto n = static_cast<std::int64_t>(values.size());
  Number result;
  result.i = function == Function::any ? certain > 0 : function == Function::all ? certain == n : certain;
  result.unknown = function == Function::any   ? certain == 0 && open > 0
                   : function == Function::all ? certain + open == n && open > 0
                                               : open > 0;
  return result;
}

Real tree_units(std::size_t n) { return 3 + std::ceil(std::log2(static_cast<Real>(std::max<std::size_t>(n, 1)))); }

Number sum(const Values& values, DType type) {
  const Real u = unit_roundoff(kiln::real_of(type));
  Complex total = 0, finite = 0;
  Real magnitude = 0, error = 0;
  const auto size = [](Real x) { return std::isfinite(x) ? std::fabs(x) : 0; };
  for (const Number& v : values) {
    total += value_of(v);
    magnitude += size(v.x) + size(v.y);
    error += v.error;
  }
  finite = {std::isfinite(total.real()) ? total.real() : 0, std::isfinite(total.imag()) ? total.imag() : 0};
  Number n = computed(type, finite, error + tree_units(values.size()) * u * magnitude, 0);
  n.x = total.real(), n.y = total.imag();
  n.unknown = n.unknown || magnitude > largest(kiln::real_of(type));
  return n;
}

Number prod(const Values& values, DType type) {
  const DType part = kiln::real_of(type);
  Complex total = 1;
  Real high = 1, up = 0, down = 0;
  for (const Number& v : values) {
    const Real magnitude = std::abs(value_of(v));
    total *= value_of(v);
    high *= (magnitude + v.error) * (1 + 4 * unit_roundoff(part));
    const Real exponent = magnitude > 0 ? std::log2(magnitude) : 0;
    up += std::max<Real>(exponent, 0), down += std::max<Real>(-exponent, 0);
  }
  const Real most = std::log2(largest(part)) / 2;  // products of parts of partial products
  if (up > most || down > most) return unknown();
  return computed(type, total, high - std::abs(total), 8);
}

Number scaled(const Number& total, Real n, DType type) {
  if (total.unknown || n == 0) return unknown();
  return computed(type, value_of(total) / n, total.error / n, 2);
}

/// Real results: var, std_ and norm.
Number spread(Function function, const Values& values, DType type, int ddof) {
  const DType part = kiln::real_of(type);
  const auto n = static_cast<Real>(values.size());
  const Real u = unit_roundoff(part);
  Number center;
  if (function != Function::norm) center = scaled(sum(values, type), n, type);
  if (center.unknown) return unknown();
  Real squares = 0, error = 0;
  for (const Number& v : values) {
    const Real d = std::abs(value_of(v) - value_of(center));
    const Real slack = v.error + center.error + 4 * u * (std::abs(value_of(v)) + std::abs(value_of(center)));
    squares += d * d;
    error += 2 * d * slack + slack * slack;
  }
  const Real divisor = function == Function::norm ? 1 : n - ddof;
  if (divisor <= 0 || !(squares < largest(part))) return unknown();
  error += (tree_units(values.size()) + 8) * u * squares;
  const Real x = squares / divisor, off = error / divisor + least(part);
  if (function == Function::var) return real_result(part, x, off, 4);
  const Real low = std::sqrt(std::max<Real>(0, x - off)), high = std::sqrt(x + off), root = std::sqrt(x);
  return real_result(part, root, std::max(high - root, root - low), 4);
}

template <class T>
void put(std::vector<unsigned char>& bytes, T x, T y) {
  const auto at = bytes.size();
  bytes.resize(at + 2 * sizeof(T));
  std::memcpy(&bytes[at], &x, sizeof(T));
  std::memcpy(&bytes[at + sizeof(T)], &y, sizeof(T));
}

}  // namespace

Number complex_operation(Op op, DType operand_type, DType result_type, const Number* v) {
  const Number &a = v[0], &b = v[1];
  switch (op) {
    case Op::add:
    case Op::sub:
      return sum_of_parts(result_type, a, b, op == Op::add ? 1 : -1);
    default:
      break;
  }
  const bool two = op == Op::mul || op == Op::div;
  if (two && (!is_finite(a) || !is_finite(b))) return op == Op::div ? infinite_quotient(a, b) : unknown();
  switch (op) {
    case Op::mul:
      return product(result_type, a, b);
    case Op::div:
      return quotient(result_type, a, b);
    case Op::eq:
    case Op::ne:
      return equal(a, b, op == Op::eq);
    case Op::neg:
    case Op::conj: {
      Number n = a;
      n.y = -a.y;
      if (op == Op::neg) n.x = -a.x;
      return n;
    }
    case Op::isnan:
      return truth(has_nan(a));
    case Op::isinf:
      return truth(has_infinity(a));
    case Op::isfinite:
      return truth(is_finite(a));
    case Op::real:
    case Op::imag:
    case Op::abs:
    case Op::arg:
      return real_of_complex(op, result_type, a);
    default:
      return is_finite(a) ? function(op, operand_type, a) : unknown();
  }
}

Number complex_conversion(const Number& value, DType from, DType to) {
  Number n = kiln::is_complex(from) ? value : convert(value, from, kiln::real_of(to));
  if (!kiln::is_complex(from)) return n;
  return complex_stored(n, to);
}

Number complex_stored(const Number& value, DType type) {
  const DType part = kiln::real_of(type);
  Number x = value, y = value;
  y.x = value.y;
  if (!std::isfinite(x.x)) x.error = 0;
  if (!std::isfinite(y.x)) y.error = 0;
  x = stored(x, part), y = stored(y, part);
  Number n = value;
  n.x = x.x, n.y = y.x;
  n.error = std::max(x.error, y.error) * 1.5L;
  n.unknown = value.unknown || x.unknown || y.unknown;
  return n;
}

Number complex_reduction(Function function, const Values& values, DType type, int ddof) {
  if (function == Function::any || function == Function::all || function == Function::count_nonzero)
    return count_true(function, values);
  const auto is_open = [](const Number& v) { return v.unknown; };
  if (std::any_of(values.begin(), values.end(), is_open)) return unknown();
  const bool all_finite = std::all_of(values.begin(), values.end(), is_finite);
  if (!all_finite && function != Function::sum) return unknown();
  switch (function) {
    case Function::sum:
      return sum(values, type);
    case Function::prod:
      return prod(values, type);
    case Function::mean:
      return scaled(sum(values, type), static_cast<Real>(values.size()), type);
    default:
      return spread(function, values, type, ddof);
  }
}

Number put_complex(std::vector<unsigned char>& bytes, DType type, double x, double y) {
  Number n;
  if (type == DType::c64) {
    n.x = static_cast<float>(x), n.y = static_cast<float>(y);
    put(bytes, static_cast<float>(x), static_cast<float>(y));
  } else {
    n.x = x, n.y = y;
    put(bytes, x, y);
  }
  return n;
}

bool complex_agrees(const Number& expected, DType type, const unsigned char* bytes) {
  const Number got = complex_element(type, bytes);
  if (expected.infinite) return has_infinity(got);
  if (expected.unknown) return true;
  const Number want = complex_stored(expected, type);
  if (want.unknown) return true;
  if (is_finite(want)) return std::abs(value_of(got) - value_of(want)) <= want.error;
  const auto part_agrees = [&](Real x, Real wanted) {
    if (std::isnan(wanted)) return std::isnan(x);
    return x == wanted || std::fabs(x - wanted) <= want.error;
  };
  return part_agrees(got.x, want.x) && part_agrees(got.y, want.y);
}

Number complex_element(DType type, const unsigned char* bytes) {
  Number n;
  if (type == DType::c64) {
    float parts[2];
    std::memcpy(parts, bytes, sizeof parts);
    n.x = parts[0], n.y = parts[1];
  } else {
    double parts[2];
    std::memcpy(parts, bytes, sizeof parts);
    n.x = parts[0], n.y = parts[1];
  }
  return n;
}

}  // namespace fuzz
