// tests/fuzz/reference_reductions.cpp -- reductions and scans of one row, with their errors.
//
// A sum of n terms by a tree is off by at most log2(n) u sum|x| (Higham, Accuracy and Stability of Numerical
// Algorithms, 4.2); two units more are allowed for the roundings around it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/fuzz/reference.h"

namespace fuzz {
namespace {

using Real = long double;

Real tree_units(std::size_t n) { return 3 + std::ceil(std::log2(static_cast<Real>(std::max<std::size_t>(n, 1)))); }

Real least(DType compute) { return compute == DType::f32 ? 0x1p-149L : 0x1p-1074L; }

/// A finite result that computing cannot have made infinite, else unknown.
Number bounded(Real x, Real error, DType type) {
  const DType compute = computing_type(type);
  Number n;
  n.x = x;
  n.error = std::isfinite(x) ? error : 0;
  const Real largest = compute == DType::f32 ? 0x1p126L : 0x1p1022L;
  n.unknown = std::isnan(error) || (std::isfinite(x) && std::fabs(x) + error > largest);
  return n;
}

Real largest(DType compute) {
  return compute == DType::f32 ? Real{std::numeric_limits<float>::max()} : Real{std::numeric_limits<double>::max()};
}

Number of_value(Real x) {
  Number n;
  n.x = x;
  return n;
}

Number sum(const Values& values, DType type) {
  RunningSum total;
  for (const Number& v : values) total.add(v);
  return total.value(type);
}

Number prod(const Values& values, DType type) {
  RunningProduct total;
  for (const Number& v : values) total.add(v, type);
  return total.value(type);
}

Number extreme(const Values& values, bool larger) {
  Number n = values[0];
  for (std::size_t i = 1; i < values.size() && !std::isnan(n.x); ++i) n = extreme_of(n, values[i], larger);
  return n;
}

Number position(const Values& values, bool larger) {
  Number n;
  std::size_t best = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i].x)) {
      n.i = static_cast<std::int64_t>(i);
      return n;
    }
    if (larger ? values[i].x > values[best].x : values[i].x < values[best].x) best = i;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Real margin = values[i].error + values[best].error;
    if (i != best && margin > 0 && std::fabs(values[i].x - values[best].x) <= margin) return unknown();
  }
  n.i = static_cast<std::int64_t>(best);
  return n;
}

Number scaled(const Number& total, Real n, DType type) {
  const Real x = total.x / n;
  if (total.x == 0 && total.error == 0 && n > 0) return total;
  return bounded(
      x, total.error / n + 2 * unit_roundoff(computing_type(type)) * std::fabs(x) + least(computing_type(type)), type);
}

Number variance(const Values& values, DType type, int ddof) {
  const auto n = static_cast<Real>(values.size());
  const Real u = unit_roundoff(computing_type(type));
  const Number mean = scaled(sum(values, type), n, type);
  if (mean.unknown) return mean;
  Real squares = 0, error = 0;
  for (const Number& v : values) {
    const Real d = v.x - mean.x, slack = v.error + mean.error + 2 * u * (std::fabs(v.x) + std::fabs(mean.x));
    squares += d * d;
    error += 2 * std::fabs(d) * slack + slack * slack;
  }
  if (!std::isfinite(squares)) squares = std::nanl("");
  error += (tree_units(values.size()) + 8) * u * squares;
  Number total = bounded(squares, error, type);
  const Real divisor = std::max<Real>(0, n - ddof);
  if (divisor == 0) {
    if (total.error > 0) return unknown();
    total.x = total.x / divisor;
    return total;
  }
  return total.unknown ? total : scaled(total, divisor, type);
}

Number square_root(const Number& v, DType type) {
  if (v.unknown) return v;
  if (!std::isfinite(v.x)) return bounded(std::sqrt(v.x), 0, type);
  const Real low = std::sqrt(std::max<Real>(0, v.x - v.error)), high = std::sqrt(v.x + v.error), root = std::sqrt(v.x);
  return bounded(root, std::max(high - root, root - low) + 2 * unit_roundoff(computing_type(type)) * root, type);
}

Number norm(const Values& values, DType type) {
  Values squares;
  for (const Number& v : values) {
    Number s;
    s.x = v.x * v.x;
    s.error = std::isfinite(s.x)
                  ? 2 * std::fabs(v.x) * v.error + v.error * v.error + unit_roundoff(computing_type(type)) * s.x
                  : 0;
    squares.push_back(s);
  }
  return square_root(sum(squares, type), type);
}

Number logsumexp(const Values& values, DType type) {
  const Real u = unit_roundoff(computing_type(type));
  Real most = -std::numeric_limits<Real>::infinity(), error = 0;
  for (const Number& v : values) {
    if (std::isnan(v.x)) return v;
    most = std::max(most, v.x);
    if (std::isfinite(v.x)) error = std::max(error, v.error);
  }
  if (std::isinf(most)) return bounded(most, 0, type);
  Real total = 0;
  for (const Number& v : values) total += std::exp(v.x - most);
  const Real x = most + std::log(total);
  const Real units = tree_units(values.size()) + 8;
  return bounded(x, error + units * u * (1 + std::fabs(most) + std::fabs(x)), type);
}

bool is_true(const Number& v, DType type) { return kiln::is_floating(type) ? v.x != 0 : v.i != 0; }
bool is_open(const Number& v, DType type) {
  return v.unknown || (kiln::is_floating(type) && v.error > 0 && std::fabs(v.x) <= v.error);
}

/// any, all, count_nonzero of any type.
Number count_true(Function function, const Values& values, DType type) {
  std::int64_t certain = 0, open = 0;
  for (const Number& v : values) {
    const bool is_uncertain = is_open(v, type);
    open += is_uncertain ? 1 : 0;
    certain += !is_uncertain && is_true(v, type) ? 1 : 0;
  }
  const auto n = static_cast<std::int64_t>(values.size());
  Number result;
  if (function == Function::any) {
    result.i = certain > 0 ? 1 : 0;
    result.unknown = certain == 0 && open > 0;
  } else if (function == Function::all) {
    result.i = certain == n ? 1 : 0;
    result.unknown = certain + open == n && open > 0;
  } else {
    result.i = certain;
    result.unknown = open > 0;
  }
  return result;
}

Number of_integers(Function function, const Values& values, DType type) {
  const auto less = [&](const Number& a, const Number& b) {
    return type == DType::u64 ? static_cast<std::uint64_t>(a.i) < static_cast<std::uint64_t>(b.i) : a.i < b.i;
  };
  Number n;
  std::uint64_t total = function == Function::prod ? 1 : 0;
  std::size_t best = 0;
  const bool larger = function == Function::max || function == Function::argmax;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<std::uint64_t>(values[i].i);
    total = function == Function::prod ? total * value : total + value;
    if (larger ? less(values[best], values[i]) : less(values[i], values[best])) best = i;
  }
  if (function == Function::sum || function == Function::prod) {
    n.i = static_cast<std::int64_t>(total);
  } else if (function == Function::max || function == Function::min) {
    n = values[best];
  } else {
    n.i = static_cast<std::int64_t>(best);
  }
  return n;
}

Number of_floats(Function function, const Values& values, DType type, int ddof) {
  switch (function) {
    case Function::sum:
      return sum(values, type);
    case Function::prod:
      return prod(values, type);
    case Function::max:
    case Function::min:
      return extreme(values, function == Function::max);
    case Function::argmax:
    case Function::argmin:
      return position(values, function == Function::argmax);
    case Function::mean: {
      const Number total = sum(values, type);
      return total.unknown ? total : scaled(total, static_cast<Real>(values.size()), type);
    }
    case Function::var:
      return variance(values, type, ddof);
    case Function::std_:
      return square_root(variance(values, type, ddof), type);
    case Function::norm:
      return norm(values, type);
    default:
      return logsumexp(values, type);
  }
}

}  // namespace

Number reduce(Function function, const Values& values, DType type, int ddof) {
  if (function == Function::any || function == Function::all || function == Function::count_nonzero)
    return kiln::is_complex(type) ? complex_reduction(function, values, type, ddof)
                                  : count_true(function, values, type);
  if (kiln::is_complex(type)) return complex_reduction(function, values, type, ddof);
  if (std::any_of(values.begin(), values.end(), [](const Number& v) { return v.unknown; })) return unknown();
  if (kiln::is_floating(type)) return of_floats(function, values, type, ddof);
  if (function <= Function::min || function == Function::argmax || function == Function::argmin)
    return of_integers(function, values, type);
  Values as_floats;
  for (const Number& v : values) as_floats.push_back(convert(v, type, DType::f64));
  return of_floats(function, as_floats, DType::f64, ddof);
}

/// The order of the terms is free, so a partial sum may hold any of them: it is as large as all positive or all
/// negative ones together, and overflows only if those do. An infinity stays unless the others overflow to the opposite
/// one.
void RunningSum::add(const Number& v) {
  ++count_;
  total_ += v.x;
  zeros_ = zeros_ && v.x == 0 && v.error == 0 && v.sign;
  negative_zeros_ = negative_zeros_ && std::signbit(v.x);
  if (!std::isfinite(v.x)) return;
  (v.x > 0 ? positive_ : negative_) += std::fabs(v.x);
  error_ += v.error;
}

Number RunningSum::value(DType type, bool one_by_one) const {
  const DType compute = computing_type(type);
  const Real u = unit_roundoff(compute), units = one_by_one ? static_cast<Real>(count_) : tree_units(count_);
  if (std::isnan(total_)) return of_value(total_);
  if (zeros_) {
    Number zero = of_value(count_ > 0 && negative_zeros_ ? -0.0L : 0.0L);
    zero.sign = true;
    return zero;
  }
  const Real magnitude = positive_ + negative_, reach = units * u * magnitude + error_;
  const bool may_rise = positive_ + reach >= largest(compute), may_fall = negative_ + reach >= largest(compute);
  if (std::isinf(total_)) return (total_ > 0 ? may_fall : may_rise) ? unknown() : of_value(total_);
  if (may_rise || may_fall) {
    const bool must = std::min(positive_, negative_) == 0 && magnitude - reach > largest(compute) * (1 + u);
    return must ? of_value(std::copysign(std::numeric_limits<Real>::infinity(), total_)) : unknown();
  }
  Number n = of_value(total_);
  n.error = reach + least(compute);
  return n;
}

/// The order of the factors is free, so a partial product may be as large as all factors above 1 together, and as small
/// as all below 1: where neither end of the range is passed, every order gives the same up to rounding. Where one is,
/// infinities and zeros may meet, or a product of zero or infinity may be neither.
void RunningProduct::add(const Number& v, DType type) {
  has_nan_ = has_nan_ || std::isnan(v.x);
  if (has_nan_) return;
  is_negative_ = is_negative_ != std::signbit(v.x);
  signs_ = signs_ && v.error == 0 && (v.x != 0 || v.sign);
  total_ *= v.x;
  has_infinity_ = has_infinity_ || std::isinf(v.x), has_zero_ = has_zero_ || (v.x == 0 && v.error == 0);
  may_be_zero_ = may_be_zero_ || std::fabs(v.x) <= v.error;
  if (std::isinf(v.x) || v.x == 0) return;
  high_ *= (std::fabs(v.x) + v.error) * (1 + unit_roundoff(computing_type(type)));
  up_ += std::max<Real>(0, std::log2(std::fabs(v.x) + v.error));
  down_ += std::max<Real>(0, -std::log2(std::max(std::fabs(v.x) - v.error, Real{0x1p-16000L})));
}

Number RunningProduct::value(DType type) const {
  const DType compute = computing_type(type);
  const Real u = unit_roundoff(compute), highest = compute == DType::f32 ? 127 : 1023;
  if (has_nan_ || (has_infinity_ && has_zero_)) return of_value(std::nanl(""));
  const bool overflows = up_ > highest - 1, underflows = down_ > highest - 2;
  if (has_infinity_) return underflows || may_be_zero_ ? unknown() : of_value(total_);
  if (has_zero_) {
    Number zero = of_value(is_negative_ ? -0.0L : 0.0L);
    zero.sign = signs_;
    return overflows ? unknown() : zero;
  }
  if (overflows || (underflows && !may_be_zero_)) return unknown();
  Number n = of_value(total_);
  n.error = high_ - std::fabs(total_) + 4 * u * std::fabs(total_) + least(compute);
  if (may_be_zero_) n.error = high_ + std::fabs(total_) + least(compute);
  return n;
}

Number extreme_of(const Number& a, const Number& b, bool larger) {
  if (std::isnan(a.x) || std::isnan(b.x)) return std::isnan(a.x) ? a : b;
  Number n = (larger ? a.x >= b.x : a.x <= b.x) ? a : b;
  if (a.x == 0 && b.x == 0) {  // -0 < +0
    n.sign = a.sign && b.sign;
    n.x = std::signbit(a.x) == larger ? b.x : a.x;
  }
  const auto error = [](const Number& v) { return std::isinf(v.x) ? 0 : v.error; };
  n.error = std::isinf(n.x) ? 0 : std::max(error(a), error(b));
  return n;
}

}  // namespace fuzz
