// codegen/pass/complex_trigonometric.cpp -- complex circular and hyperbolic functions and their inverses.
//
// Kahan, "Branch cuts for complex elementary functions" (1987): signed zeros choose the side of a cut, and circular
// functions are the hyperbolic ones of i z.
#include "codegen/pass/lowering.h"
#include "support/check.h"

namespace kiln::codegen {
namespace {

constexpr double ln_2 = 0.6931471805599453;

bool is_single(const Builder& b, NodeId x) { return b.type(x) == DType::f32; }

ComplexParts times_i(Builder& b, ComplexParts z) { return {b.neg(z.imag), z.real}; }
ComplexParts times_minus_i(Builder& b, ComplexParts z) { return {z.imag, b.neg(z.real)}; }

/// x and the factor that a hyperbolic function of the reduced x still needs: e^|x| may overflow where the product does
/// not.
struct Reduced {
  NodeId x;
  NodeId factor;
};

Reduced reduce_exponent(Builder& b, NodeId x) {
  const bool single = is_single(b, x);
  const double threshold = single ? 86.0 : 700.0, step = single ? 44.0 : 350.0;
  const double e_to_step = single ? 0x1.64b41c6d37832p+63 : 0x1.ec417a3e63c6ap+504;
  const NodeId is_large = b.gt(b.abs(x), b.like(x, threshold));
  const NodeId reduced = b.sub(x, b.copysign(b.like(x, step), x));
  return {b.where(is_large, reduced, x), b.where(is_large, b.like(x, e_to_step), b.like(x, 1.0))};
}

/// a b, but `exact` where it is zero: an infinite or NaN cofactor does not touch a zero that C99 keeps.
NodeId product_keeping_zero(Builder& b, NodeId zero_factor, NodeId product, NodeId exact) {
  return b.where(b.eq(zero_factor, b.like(zero_factor, 0.0)), exact, product);
}

/// sinh x cos y + i cosh x sin y
ComplexParts sinh(Builder& b, ComplexParts z) {
  const Reduced r = reduce_exponent(b, z.real);
  const NodeId real = b.mul(b.mul(b.op(Op::sinh, r.x), b.op(Op::cos, z.imag)), r.factor);
  const NodeId imag = b.mul(b.mul(b.op(Op::cosh, r.x), b.op(Op::sin, z.imag)), r.factor);
  return {product_keeping_zero(b, z.real, real, z.real), product_keeping_zero(b, z.imag, imag, z.imag)};
}

/// cosh x cos y + i sinh x sin y
ComplexParts cosh(Builder& b, ComplexParts z) {
  const Reduced r = reduce_exponent(b, z.real);
  const NodeId sine = b.op(Op::sin, z.imag), sinh_x = b.op(Op::sinh, r.x);
  const NodeId real = b.mul(b.mul(b.op(Op::cosh, r.x), b.op(Op::cos, z.imag)), r.factor);
  const NodeId imag = b.mul(b.mul(sinh_x, sine), r.factor);
  // 0 times anything: a zero whose sign is the product of the signs.
  const NodeId zero = b.mul(b.copysign(b.like(z.real, 1.0), z.real), b.copysign(b.like(z.imag, 0.0), z.imag));
  return {real, product_keeping_zero(b, z.imag, product_keeping_zero(b, z.real, imag, zero), zero)};
}

ComplexParts tanh(Builder& b, ComplexParts z) {
  const NodeId one = b.like(z.real, 1.0);
  const NodeId tangent = b.op(Op::tan, z.imag);
  const NodeId beta = b.add(one, b.mul(tangent, tangent));
  const NodeId s = b.op(Op::sinh, z.real);
  const NodeId rho = b.sqrt(b.add(one, b.mul(s, s)));
  const NodeId denominator = b.add(one, b.mul(beta, b.mul(s, s)));
  const ComplexParts general = {b.div(b.mul(b.mul(beta, rho), s), denominator), b.div(tangent, denominator)};
  // Far out: +-1, with the imaginary part 4 sin y cos y e^-2|x|.
  const NodeId is_large = b.gt(b.abs(z.real), b.like(z.real, is_single(b, z.real) ? 20.0 : 170.0));
  const NodeId decay = b.op(Op::exp, b.mul(b.abs(z.real), b.like(z.real, -2.0)));
  const NodeId turn = b.mul(b.mul(b.op(Op::sin, z.imag), b.op(Op::cos, z.imag)), b.like(z.real, 4.0));
  const NodeId zero = b.copysign(b.like(z.real, 0.0), z.imag);
  const NodeId far_imag = b.where(b.is_finite(z.imag), b.mul(turn, decay), b.where(b.is_inf(z.real), zero, z.imag));
  const NodeId imag = b.where(is_large, far_imag, general.imag);
  return {b.where(is_large, b.copysign(one, z.real), general.real), product_keeping_zero(b, z.imag, imag, z.imag)};
}

/// sqrt(1 - z) and sqrt(1 + z), the imaginary zeros signed as in z.
struct Roots {
  ComplexParts minus, plus;
};

Roots unit_roots(Builder& b, ComplexParts z) {
  const NodeId one = b.like(z.real, 1.0);
  return {complex_sqrt(b, {b.sub(one, z.real), b.neg(z.imag)}), complex_sqrt(b, {b.add(one, z.real), z.imag})};
}

/// Im(conj(x) y)
NodeId cross(Builder& b, ComplexParts x, ComplexParts y) { return b.sub(b.mul(x.real, y.imag), b.mul(x.imag, y.real)); }
/// Re(conj(x) y)
NodeId dot(Builder& b, ComplexParts x, ComplexParts y) { return b.add(b.mul(x.real, y.real), b.mul(x.imag, y.imag)); }

/// So large that 1 +- z^2 is -z^2: there the inverse functions are logarithms. Covers the infinities.
NodeId is_huge(Builder& b, ComplexParts z) {
  const NodeId extent = b.op(Op::fmax, b.abs(z.real), b.abs(z.imag));
  return b.gt(extent, b.like(extent, is_single(b, extent) ? 0x1p25 : 0x1p54));
}

NodeId log_of_twice(Builder& b, ComplexParts z) { return b.add(log_magnitude(b, z), b.like(z.real, ln_2)); }

ComplexParts asin(Builder& b, ComplexParts z) {
  const Roots r = unit_roots(b, z);
  const NodeId cosine = b.sub(b.mul(r.minus.real, r.plus.real), b.mul(r.minus.imag, r.plus.imag));
  const NodeId imag = b.op(Op::asinh, cross(b, r.minus, r.plus));
  const NodeId huge = is_huge(b, z);
  const NodeId x_over = b.where(huge, b.abs(z.imag), cosine);
  return {b.op(Op::atan2, z.real, x_over),
          b.where(huge, b.copysign(log_of_twice(b, z), z.imag), b.copysign(imag, z.imag))};
}

ComplexParts acos(Builder& b, ComplexParts z) {
  const Roots r = unit_roots(b, z);
  const NodeId near = b.mul(b.like(z.real, 2.0), b.op(Op::atan2, r.minus.real, r.plus.real));
  const NodeId imag = b.op(Op::asinh, cross(b, r.plus, r.minus));
  const NodeId huge = is_huge(b, z), down = b.neg(z.imag);
  const NodeId far = b.op(Op::atan2, b.abs(z.imag), z.real);
  return {b.where(huge, far, near), b.where(huge, b.copysign(log_of_twice(b, z), down), b.copysign(imag, down))};
}

ComplexParts acosh(Builder& b, ComplexParts z) {
  const NodeId one = b.like(z.real, 1.0);
  const ComplexParts minus = complex_sqrt(b, {b.sub(z.real, one), z.imag});
  const ComplexParts plus = complex_sqrt(b, {b.add(z.real, one), z.imag});
  const NodeId real = b.op(Op::asinh, dot(b, minus, plus));
  const NodeId imag = b.mul(b.like(z.real, 2.0), b.op(Op::atan2, minus.imag, plus.real));
  const NodeId huge = is_huge(b, z);
  return {b.where(huge, log_of_twice(b, z), real), b.where(huge, b.op(Op::atan2, z.imag, z.real), imag)};
}

ComplexParts atanh(Builder& b, ComplexParts z) {
  const NodeId zero = b.like(z.real, 0.0), one = b.like(z.real, 1.0), half = b.like(z.real, 0.5);
  const bool single = is_single(b, z.real);
  const NodeId x = b.abs(z.real), y = z.imag;
  const NodeId gap = b.sub(one, x);
  const NodeId distance2 = b.add(b.mul(gap, gap), b.mul(y, y));
  const NodeId quarter_log = b.mul(b.like(x, 0.25), b.op(Op::log1p, b.div(b.mul(b.like(x, 4.0), x), distance2)));
  // Beside the pole at 1 the squares underflow; there the real part is log(2 / |1 - z|) / 2.
  const NodeId distance = b.op(Op::hypot, gap, y);
  const NodeId at_pole = b.lt(distance, b.like(x, single ? 0x1p-40 : 0x1p-80));
  const NodeId pole = b.mul(half, b.sub(b.like(x, ln_2), b.op(Op::log, distance)));
  const NodeId near_imag = b.mul(half, b.op(Op::atan2, b.add(y, y), b.sub(b.mul(gap, b.add(one, x)), b.mul(y, y))));
  // Far out: x / |z|^2 and +-pi/2.
  const NodeId magnitude = b.op(Op::hypot, x, y);
  const NodeId infinite = b.either(b.is_inf(x), b.is_inf(y));
  const NodeId far_real = b.where(infinite, zero, b.div(b.div(x, magnitude), magnitude));
  const NodeId huge = is_huge(b, z);
  const NodeId real = b.where(huge, far_real, b.where(at_pole, pole, quarter_log));
  const NodeId far_imag = b.where(b.is_nan(y), y, b.copysign(b.like(y, 1.5707963267948966), y));
  return {b.copysign(real, z.real), b.where(huge, far_imag, near_imag)};
}

}  // namespace

ComplexParts complex_trigonometric(Builder& b, Op op, ComplexParts z) {
  switch (op) {
    case Op::sinh:
      return sinh(b, z);
    case Op::cosh:
      return cosh(b, z);
    case Op::tanh:
      return tanh(b, z);
    case Op::sin:
      return times_minus_i(b, sinh(b, times_i(b, z)));
    case Op::cos:
      return cosh(b, times_i(b, z));
    case Op::tan:
      return times_minus_i(b, tanh(b, times_i(b, z)));
    case Op::asin:
      return asin(b, z);
    case Op::acos:
      return acos(b, z);
    case Op::acosh:
      return acosh(b, z);
    case Op::atanh:
      return atanh(b, z);
    case Op::asinh:
      return times_i(b, asin(b, times_minus_i(b, z)));
    case Op::atan:
      return times_minus_i(b, atanh(b, times_i(b, z)));
    default:
      break;
  }
  KILN_INTERNAL_CHECK(false, "no complex lowering of {}", detail::op_info(op).name);
  return {};
}

}  // namespace kiln::codegen
