// codegen/pass/complex_arithmetic.cpp -- complex division, powers, exponential and logarithm from real operations.
//
// Special values follow C99 Annex G where a select or two buys them. Helpers stay free of overflow for all finite
// operands.
#include <cmath>

#include "codegen/pass/lowering.h"
#include "support/check.h"

namespace kiln::codegen {
namespace {

constexpr double ln_2 = 0.6931471805599453;
constexpr double ln_10 = 2.302585092994046;

bool is_single(const Builder& b, NodeId x) { return b.type(x) == DType::f32; }

NodeId larger(Builder& b, NodeId x, NodeId y) { return b.op(Op::fmax, x, y); }
NodeId smaller(Builder& b, NodeId x, NodeId y) { return b.op(Op::fmin, x, y); }

ComplexParts scaled(Builder& b, ComplexParts z, NodeId factor) {
  return {b.mul(z.real, factor), b.mul(z.imag, factor)};
}

ComplexParts choose(Builder& b, NodeId condition, ComplexParts x, ComplexParts y) {
  return {b.where(condition, x.real, y.real), b.where(condition, x.imag, y.imag)};
}

/// 1 or 0 with the sign of x: infinite operands stand for their direction.
NodeId direction(Builder& b, NodeId x) { return b.copysign(b.where(b.is_inf(x), b.like(x, 1.0), b.like(x, 0.0)), x); }

/// x conj(y) without division, for the special values of a quotient.
ComplexParts times_conjugate(Builder& b, ComplexParts x, ComplexParts y) {
  return {b.add(b.mul(x.real, y.real), b.mul(x.imag, y.imag)), b.sub(b.mul(x.imag, y.real), b.mul(x.real, y.imag))};
}

/// How far a number is scaled so that products of its parts neither overflow nor lose bits: by a factor of 2^-k or 2^k
/// where its larger part is beyond 2^k or below 2^(1-k), with k half the range of exponents.
struct Scale {
  NodeId factor;
  NodeId root, root_of_undo;  ///< sqrt(factor) and its inverse, for what must be applied in two steps
};

Scale scale_of(Builder& b, ComplexParts z) {
  const int k = is_single(b, z.real) ? 64 : 512;
  const auto power = [&](int exponent) { return b.like(z.real, std::ldexp(1.0, exponent)); };
  const NodeId extent = larger(b, b.abs(z.real), b.abs(z.imag));
  const NodeId is_large = b.ge(extent, power(k)), is_small = b.lt(extent, power(1 - k));
  const auto choose_power = [&](int if_large) {
    return b.where(is_large, power(if_large), b.where(is_small, power(-if_large), power(0)));
  };
  return {choose_power(-k), choose_power(-k / 2), choose_power(k / 2)};
}

ComplexParts sign(Builder& b, ComplexParts z) {
  const NodeId infinite = b.either(b.is_inf(z.real), b.is_inf(z.imag));
  const NodeId both_infinite = b.both(b.is_inf(z.real), b.is_inf(z.imag));
  const NodeId nan = b.like(z.real, std::nan(""));
  const ComplexParts at_infinity = {b.where(both_infinite, nan, direction(b, z.real)),
                                    b.where(both_infinite, nan, direction(b, z.imag))};
  const ComplexParts near = scaled(b, z, scale_of(b, z).factor);
  const NodeId magnitude = b.op(Op::hypot, near.real, near.imag), zero = b.like(z.real, 0.0);
  const ComplexParts unit = {b.div(near.real, magnitude), b.div(near.imag, magnitude)};
  return choose(b, infinite, at_infinity, choose(b, b.eq(magnitude, zero), {zero, zero}, unit));
}

/// True when `value` is a literal equal to `wanted`.
bool is_constant(const Builder& b, NodeId value, double wanted) {
  const Node& node = b.node(value);
  return node.kind == NodeKind::literal && literal_as_double(node) == wanted;
}

ComplexParts power(Builder& b, ComplexParts z, ComplexParts w) {
  if (is_constant(b, w.imag, 0.0)) {
    if (is_constant(b, w.real, 1.0)) return z;
    if (is_constant(b, w.real, 2.0)) return complex_multiply(b, z, z);
    if (is_constant(b, w.real, 3.0)) return complex_multiply(b, complex_multiply(b, z, z), z);
  }
  const NodeId zero = b.like(z.real, 0.0), one = b.like(z.real, 1.0);
  const ComplexParts general = complex_exp(b, complex_multiply(b, w, complex_log(b, z)));
  const NodeId base_is_zero = b.both(b.eq(z.real, zero), b.eq(z.imag, zero));
  const NodeId vanishes = b.both(base_is_zero, b.gt(w.real, zero));
  const NodeId exponent_is_zero = b.both(b.eq(w.real, zero), b.eq(w.imag, zero));
  return choose(b, exponent_is_zero, {one, zero}, choose(b, vanishes, {zero, zero}, general));
}

/// exp(z) - 1: the real part as expm1(x) cos y - 2 sin(y/2)^2.
ComplexParts expm1(Builder& b, ComplexParts z) {
  const NodeId half_sine = b.op(Op::sin, b.mul(z.imag, b.like(z.imag, 0.5)));
  const NodeId versine = b.mul(b.mul(half_sine, half_sine), b.like(z.imag, 2.0));
  const NodeId real = b.sub(b.mul(b.op(Op::expm1, z.real), b.op(Op::cos, z.imag)), versine);
  const ComplexParts exponential = complex_exp(b, z);
  // Far from 0 there is no cancellation, and exp carries the special values.
  const NodeId near = b.lt(b.abs(z.real), b.like(z.real, 1.0));
  return {b.where(near, real, b.sub(exponential.real, b.like(z.real, 1.0))), exponential.imag};
}

/// log(1 + z): |1 + z|^2 - 1 = x (2 + x) + y^2 near 0.
ComplexParts log1p(Builder& b, ComplexParts z) {
  const NodeId one = b.like(z.real, 1.0), half = b.like(z.real, 0.5);
  const NodeId excess = b.fma(z.imag, z.imag, b.mul(z.real, b.add(z.real, b.like(z.real, 2.0))));
  const NodeId close = b.both(b.lt(b.abs(z.real), half), b.lt(b.abs(z.imag), half));
  const ComplexParts moved = {b.add(z.real, one), z.imag};
  const NodeId real = b.where(close, b.mul(half, b.op(Op::log1p, excess)), log_magnitude(b, moved));
  return {real, b.op(Op::atan2, z.imag, moved.real)};
}

ComplexParts logarithm_to_base(Builder& b, ComplexParts z, double ln_base) {
  return scaled(b, complex_log(b, z), b.like(z.real, 1.0 / ln_base));
}

}  // namespace

ComplexParts complex_multiply(Builder& b, ComplexParts x, ComplexParts y) {
  return {b.sub(b.mul(x.real, y.real), b.mul(x.imag, y.imag)), b.add(b.mul(x.real, y.imag), b.mul(x.imag, y.real))};
}

namespace {

/// Smith's division (1962), which neither overflows nor underflows between operands of moderate size.
ComplexParts smith_quotient(Builder& b, ComplexParts x, ComplexParts y) {
  const NodeId swaps = b.lt(b.abs(y.real), b.abs(y.imag));
  const NodeId large = b.where(swaps, y.imag, y.real), small = b.where(swaps, y.real, y.imag);
  const NodeId p = b.where(swaps, x.imag, x.real), q = b.where(swaps, x.real, x.imag);
  const NodeId ratio = b.div(small, large);
  const NodeId denominator = b.add(large, b.mul(small, ratio));
  const NodeId product = b.mul(p, ratio);
  const NodeId imaginary = b.where(swaps, b.sub(product, q), b.sub(q, product));  // not negated: 0 keeps its sign
  return {b.div(b.add(p, b.mul(q, ratio)), denominator), b.div(imaginary, denominator)};
}

}  // namespace

/// Smith's quotient of operands that powers of two brought to moderate size, then the infinities that C99 Annex G
/// recovers from a NaN result.
ComplexParts complex_divide(Builder& b, ComplexParts x, ComplexParts y) {
  const Scale of_x = scale_of(b, x), of_y = scale_of(b, y);
  // The quotient times factor(y) / factor(x), in two equal steps, since that may be beyond the largest number.
  const NodeId step = b.mul(of_x.root_of_undo, of_y.root);
  const ComplexParts moderate = scaled(b, x, of_x.factor);
  const ComplexParts near = smith_quotient(b, moderate, scaled(b, y, of_y.factor));
  const ComplexParts smith = scaled(b, scaled(b, near, step), step);

  const NodeId infinity = b.infinity(b.type(x.real)), zero = b.like(x.real, 0.0);
  const NodeId lost = b.either(b.is_nan(smith.real), b.is_nan(smith.imag));
  const NodeId divisor_is_zero = b.both(b.eq(y.real, zero), b.eq(y.imag, zero));
  const NodeId x_is_infinite = b.either(b.is_inf(x.real), b.is_inf(x.imag));
  const NodeId y_is_infinite = b.either(b.is_inf(y.real), b.is_inf(y.imag));
  const NodeId x_is_finite = b.both(b.is_finite(x.real), b.is_finite(x.imag));
  const NodeId y_is_finite = b.both(b.is_finite(y.real), b.is_finite(y.imag));

  const ComplexParts over_zero = scaled(b, x, b.copysign(infinity, y.real));
  const ComplexParts from_infinity =
      scaled(b, times_conjugate(b, {direction(b, x.real), direction(b, x.imag)}, y), infinity);
  const ComplexParts to_zero =  // only signs are left, so the sum of two large parts must not become infinite
      scaled(b, times_conjugate(b, moderate, {direction(b, y.real), direction(b, y.imag)}), zero);
  ComplexParts recovered = choose(b, b.both(x_is_finite, y_is_infinite), to_zero, smith);
  recovered = choose(b, b.both(x_is_infinite, y_is_finite), from_infinity, recovered);
  recovered = choose(b, divisor_is_zero, over_zero, recovered);
  return choose(b, lost, recovered, smith);
}

/// Kahan (1987): one real square root of (|z| + |x|) / 2, the other part by division.
ComplexParts complex_sqrt(Builder& b, ComplexParts z) {
  const NodeId zero = b.like(z.real, 0.0), one = b.like(z.real, 1.0), infinity = b.infinity(b.type(z.real));
  const bool single = is_single(b, z.real);
  // Scaling by a power of 4 keeps |z| finite and normal.
  const NodeId extent = larger(b, b.abs(z.real), b.abs(z.imag));
  const NodeId is_large = b.gt(extent, b.like(extent, single ? 0x1p125 : 0x1p1021));
  const NodeId is_small = b.lt(extent, b.like(extent, single ? 0x1p-100 : 0x1p-970));
  const double up = single ? 0x1p60 : 0x1p100, down = 0x1p-4;
  const NodeId factor = b.where(is_large, b.like(extent, down), b.where(is_small, b.like(extent, up), one));
  const NodeId undo =
      b.where(is_large, b.like(extent, 0x1p2), b.where(is_small, b.like(extent, single ? 0x1p-30 : 0x1p-50), one));
  const ComplexParts s = scaled(b, z, factor);

  const NodeId half = b.like(z.real, 0.5);
  const NodeId mean = b.mul(half, b.add(b.op(Op::hypot, s.real, s.imag), b.abs(s.real)));
  const NodeId root = b.sqrt(mean);
  const NodeId quotient = b.mul(half, b.div(b.abs(s.imag), root));
  const NodeId other = b.mul(b.where(b.eq(root, zero), zero, quotient), undo);
  const NodeId main = b.mul(root, undo);
  const NodeId right = b.ge(z.real, zero), left = b.lt(z.real, zero);
  const NodeId real = b.where(left, other, main);
  const NodeId imag = b.copysign(b.where(right, other, main), z.imag);
  const NodeId is_infinite = b.is_inf(z.imag);
  return {b.where(is_infinite, infinity, real), b.where(is_infinite, z.imag, imag)};
}

/// e^x (cos y + i sin y); part of a large x is applied after the product, where the result may be finite.
ComplexParts complex_exp(Builder& b, ComplexParts z) {
  const NodeId zero = b.like(z.real, 0.0), one = b.like(z.real, 1.0), infinity = b.infinity(b.type(z.real));
  const double threshold = is_single(b, z.real) ? 85.0 : 700.0;
  const double e_to_threshold = is_single(b, z.real) ? 0x1.8bec7503ca477p+122 : 0x1.d945df4f8ec8ep+1009;
  const NodeId is_large = b.gt(z.real, b.like(z.real, threshold));
  const NodeId reduced = b.where(is_large, b.sub(z.real, b.like(z.real, threshold)), z.real);
  const NodeId rest = b.where(is_large, b.like(z.real, e_to_threshold), one);
  const NodeId magnitude = b.op(Op::exp, reduced);
  const NodeId cosine = b.op(Op::cos, z.imag), sine = b.op(Op::sin, z.imag);
  const ComplexParts product = scaled(b, {b.mul(magnitude, cosine), b.mul(magnitude, sine)}, rest);

  const NodeId turns = b.is_finite(z.imag);
  const NodeId vanishes = b.eq(z.real, b.neg(infinity)), explodes = b.eq(z.real, infinity);
  const NodeId real = b.where(turns, product.real, b.where(vanishes, zero, b.where(explodes, infinity, product.real)));
  const NodeId imag = b.where(turns, product.imag, b.where(vanishes, zero, product.imag));
  const NodeId is_real = b.eq(z.imag, zero);  // e^x exactly, also where e^x is infinite or NaN
  return {b.where(is_real, b.mul(magnitude, rest), real), b.where(is_real, z.imag, imag)};
}

NodeId log_magnitude(Builder& b, ComplexParts z) {
  const NodeId half = b.like(z.real, 0.5), one = b.like(z.real, 1.0), zero = b.like(z.real, 0.0);
  const bool single = is_single(b, z.real);
  const NodeId x = b.abs(z.real), y = b.abs(z.imag);
  const NodeId high = larger(b, x, y), low = smaller(b, x, y);
  const NodeId excess = b.fma(low, low, b.mul(b.sub(high, one), b.add(high, one)));  // |z|^2 - 1
  const NodeId near_one = b.mul(half, b.op(Op::log1p, excess));

  const NodeId is_large = b.gt(high, b.like(high, single ? 0x1p126 : 0x1p1022));
  const NodeId is_small = b.lt(high, b.like(high, single ? 0x1p-100 : 0x1p-970));
  const int shift = single ? 64 : 128;
  const NodeId factor =
      b.where(is_large, b.like(high, 0x1p-2), b.where(is_small, b.like(high, std::ldexp(1.0, shift)), one));
  const NodeId undo = b.where(is_large, b.like(high, 2 * ln_2), b.where(is_small, b.like(high, -shift * ln_2), zero));
  const NodeId general = b.add(b.op(Op::log, b.op(Op::hypot, b.mul(x, factor), b.mul(y, factor))), undo);

  const NodeId is_near = b.both(b.gt(high, half), b.lt(high, b.like(high, 1.5)));
  const NodeId no_nan = b.both(b.eq(x, x), b.eq(y, y));  // fmin and fmax pass over one
  return b.where(b.both(is_near, no_nan), near_one, general);
}

ComplexParts complex_log(Builder& b, ComplexParts z) { return {log_magnitude(b, z), b.op(Op::atan2, z.imag, z.real)}; }

ComplexParts lower_complex(Builder& b, Op op, std::span<const ComplexParts> operands) {
  const ComplexParts x = operands[0], y = operands[operands.size() - 1];
  switch (op) {
    case Op::add:
      return {b.add(x.real, y.real), b.add(x.imag, y.imag)};
    case Op::sub:
      return {b.sub(x.real, y.real), b.sub(x.imag, y.imag)};
    case Op::neg:
      return {b.neg(x.real), b.neg(x.imag)};
    case Op::conj:
      return {x.real, b.neg(x.imag)};
    case Op::mul:
      return complex_multiply(b, x, y);
    case Op::div:
    case Op::true_divide:
      return complex_divide(b, x, y);
    case Op::pow:
      return power(b, x, y);
    case Op::sign:
      return sign(b, x);
    case Op::sqrt:
      return complex_sqrt(b, x);
    case Op::rsqrt:
      return complex_divide(b, {b.like(x.real, 1.0), b.like(x.real, 0.0)}, complex_sqrt(b, x));
    case Op::exp:
      return complex_exp(b, x);
    case Op::expm1:
      return expm1(b, x);
    case Op::log:
      return complex_log(b, x);
    case Op::log1p:
      return log1p(b, x);
    case Op::log2:
      return logarithm_to_base(b, x, ln_2);
    case Op::log10:
      return logarithm_to_base(b, x, ln_10);
    default:
      return complex_trigonometric(b, op, x);
  }
}

}  // namespace kiln::codegen
