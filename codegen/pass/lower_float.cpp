// codegen/pass/lower_float.cpp -- f32/f64 composites: Python's division, sign, tests, powers and activations.
#include "codegen/pass/lowering.h"

namespace kiln::codegen {
namespace {

constexpr double pi = 3.141592653589793;
constexpr double sqrt_half = 0.7071067811865476;
constexpr double sqrt_2_over_pi = 0.7978845608028654;

struct FloorDivision {
  NodeId quotient;
  NodeId remainder;
};

/// Python's divmod: the remainder is exact through fmod, the quotient is rounded from it.
FloorDivision floor_division(Builder& b, NodeId x, NodeId y) {
  const NodeId zero = b.like(x, 0.0), one = b.like(x, 1.0);
  const NodeId rest = b.op(Op::fmod, x, y);
  const NodeId is_inexact = b.ne(rest, zero);
  const NodeId signs_differ = b.op(Op::bit_xor, b.lt(rest, zero), b.lt(y, zero));
  const NodeId adjust = b.both(is_inexact, signs_differ);
  const NodeId remainder = b.where(is_inexact, b.where(adjust, b.add(rest, y), rest), b.copysign(zero, y));

  const NodeId ratio = b.div(x, y);
  const NodeId exact = b.div(b.sub(x, rest), y);
  const NodeId quotient = b.where(adjust, b.sub(exact, one), exact);
  const NodeId floored = b.op(Op::floor, quotient);
  const NodeId too_low = b.gt(b.sub(quotient, floored), b.like(x, 0.5));
  const NodeId nearest = b.where(too_low, b.add(floored, one), floored);
  const NodeId with_sign = b.where(b.ne(quotient, zero), nearest, b.copysign(zero, ratio));
  return {b.where(b.eq(y, zero), ratio, with_sign), remainder};
}

/// -1, 0 or 1; NaN for NaN. The zero is positive, as NumPy's.
NodeId sign(Builder& b, NodeId x) {
  const NodeId zero = b.like(x, 0.0);
  const NodeId of_nonzero = b.copysign(b.like(x, 1.0), x);
  return b.where(b.is_nan(x), x, b.where(b.eq(x, zero), zero, of_nonzero));
}

/// e^-|x|, in (0, 1]: what the logistic functions share, free of overflow.
NodeId exp_minus_abs(Builder& b, NodeId x) { return b.op(Op::exp, b.neg(b.abs(x))); }

/// x / y for y in [1, 2].
NodeId quotient(Builder& b, NodeId x, NodeId y) {
  return b.type(x) == DType::f32 ? b.library_op(Op::div, x, y) : b.div(x, y);
}

/// scale / (1 + exp(-x))
NodeId logistic(Builder& b, NodeId x, NodeId scale) {
  const NodeId e = exp_minus_abs(b, x);
  const NodeId numerator = b.where(b.ge(x, b.like(x, 0.0)), scale, b.mul(scale, e));
  return quotient(b, numerator, b.add(b.like(x, 1.0), e));
}

NodeId sigmoid(Builder& b, NodeId x) {
  const NodeId e = exp_minus_abs(b, x), one = b.like(x, 1.0);
  return quotient(b, b.where(b.ge(x, b.like(x, 0.0)), one, e), b.add(one, e));
}

/// erfc(x), which both signs of x take from the value at |x|: in prices of options and the like they then share it.
NodeId complementary_error(Builder& b, NodeId x) {
  const NodeId tail = b.op(Op::erfc, b.abs(x));
  return b.where(b.lt(x, b.like(x, 0.0)), b.sub(b.like(x, 2.0), tail), tail);
}

/// x/2 erfc(-x / sqrt 2), which keeps the accuracy of the negative tail.
NodeId gelu(Builder& b, NodeId x) {
  const NodeId scaled = b.mul(x, b.like(x, sqrt_half));
  const NodeId half_x = b.mul(x, b.like(x, 0.5));
  if (b.type(x) == DType::f64) return b.mul(half_x, complementary_error(b, b.neg(scaled)));
  return b.mul(half_x, b.library_op(Op::erf, scaled));
}

/// 0.5 x (1 + tanh u) = x / (1 + exp(-2u)) with u = sqrt(2/pi) (x + 0.044715 x^3)
NodeId gelu_tanh(Builder& b, NodeId x) {
  if (b.type(x) == DType::f32) {
    const NodeId factor = b.add(b.mul(b.mul(x, x), b.like(x, sqrt_2_over_pi * 0.044715)), b.like(x, sqrt_2_over_pi));
    return b.mul(x, b.library_op(Op::tanh, b.mul(x, factor)));
  }
  const NodeId cubic =
      b.add(b.mul(b.mul(x, x), b.like(x, 2 * sqrt_2_over_pi * 0.044715)), b.like(x, 2 * sqrt_2_over_pi));
  return logistic(b, b.mul(x, cubic), x);
}

/// log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|))
NodeId softplus(Builder& b, NodeId x) {
  const NodeId zero = b.like(x, 0.0);
  const NodeId positive = b.where(b.gt(x, zero), x, zero);
  return b.add(positive, b.op(Op::log1p, exp_minus_abs(b, x)));
}

/// Literal exponents whose power is one correctly rounded operation; everything else stays a function call.
NodeId power(Builder& b, NodeId x, NodeId exponent) {
  if (!is_literal(b.graph(), exponent)) return no_node;
  const double value = literal_as_double(b.node(exponent));
  if (value == 0.0) return b.like(x, 1.0);  // also of NaN
  if (value == 1.0) return x;
  if (value == 2.0) return b.mul(x, x);
  if (value == -1.0) return b.div(b.like(x, 1.0), x);
  if (value == 0.5) {  // pow(-0, 0.5) = +0 and pow(-inf, 0.5) = +inf, unlike sqrt
    const NodeId infinity = b.infinity(b.type(x));
    const NodeId root = b.add(b.sqrt(x), b.like(x, 0.0));
    return b.where(b.eq(x, b.neg(infinity)), infinity, root);
  }
  return no_node;
}

/// Angle of a real number: 0, pi for the negative ones and -0, NaN for NaN.
NodeId angle(Builder& b, NodeId x) {
  const NodeId is_negative = b.lt(b.copysign(b.like(x, 1.0), x), b.like(x, 0.0));
  return b.where(b.is_nan(x), x, b.where(is_negative, b.like(x, pi), b.like(x, 0.0)));
}

NodeId lower_activation(Builder& b, Op op, NodeId x) {
  switch (op) {
    case Op::sigmoid:
      return sigmoid(b, x);
    case Op::relu:
      return b.op(Op::maximum, x, b.like(x, 0.0));
    case Op::gelu:
      return gelu(b, x);
    case Op::gelu_tanh:
      return gelu_tanh(b, x);
    case Op::silu:
      return logistic(b, x, x);
    case Op::softplus:
      return softplus(b, x);
    default:
      return no_node;
  }
}

}  // namespace

NodeId lower_float(Builder& b, Op op, std::span<const NodeId> operands) {
  const NodeId x = operands[0];
  const NodeId y = operands.size() > 1 ? operands[1] : no_node;
  switch (op) {
    case Op::true_divide:
      return b.div(x, y);
    case Op::floor_divide:
      return floor_division(b, x, y).quotient;
    case Op::remainder:
      return floor_division(b, x, y).remainder;
    case Op::pow:
      return power(b, x, y);
    case Op::erfc:
      return complementary_error(b, x);
    case Op::sign:
      return sign(b, x);
    case Op::clip:
      return b.op(Op::minimum, b.op(Op::maximum, x, y), operands[2]);
    case Op::logical_and:
      return b.both(b.is_true(x), b.is_true(y));
    case Op::logical_or:
      return b.either(b.is_true(x), b.is_true(y));
    case Op::logical_not:
      return b.eq(x, b.like(x, 0.0));
    case Op::isnan:
      return b.is_nan(x);
    case Op::isinf:
      return b.is_inf(x);
    case Op::isfinite:
      return b.is_finite(x);
    case Op::real:
    case Op::conj:
      return x;
    case Op::imag:
      return b.like(x, 0.0);
    case Op::arg:
      return angle(b, x);
    default:
      return lower_activation(b, op, x);
  }
}

}  // namespace kiln::codegen
