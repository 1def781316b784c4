// codegen/pass/lower_integer.cpp -- bool and integer operations made total: division, shifts, powers, mixed
// comparisons.
//
// Guards are written in full; when an operand is a literal, folding removes the part that cannot happen.
#include "codegen/pass/lowering.h"

namespace kiln::codegen {
namespace {

constexpr int width_of(DType type) { return static_cast<int>(8 * size_of(type)); }

NodeId minimum_value(Builder& b, DType type) {
  return b.bits(type, is_signed_integer(type) ? std::uint64_t{1} << (width_of(type) - 1) : 0);
}

bool is_signed(const Builder& b, NodeId value) { return is_signed_integer(b.type(value)); }

/// What division by `y` needs: x / divisor is always defined, and is x where y is 0 or x / y would overflow.
struct SafeDivision {
  NodeId is_zero;
  NodeId divisor;
};

SafeDivision safe_division(Builder& b, NodeId x, NodeId y) {
  const NodeId is_zero = b.eq(y, b.like(y, 0));
  NodeId unsafe = is_zero;
  if (is_signed(b, x)) {
    const NodeId overflow = b.both(b.eq(y, b.like(y, -1)), b.eq(x, minimum_value(b, b.type(x))));
    unsafe = b.either(is_zero, overflow);
  }
  return {is_zero, b.where(unsafe, b.like(y, 1), y)};
}

/// x / 0 = 0, MIN / -1 = MIN.
NodeId divide(Builder& b, NodeId x, NodeId y) {
  const SafeDivision safe = safe_division(b, x, y);
  return b.where(safe.is_zero, b.like(x, 0), b.div(x, safe.divisor));
}

/// x % 0 = 0 and x % -1 = 0, both as x % 1.
NodeId safe_modulus_divisor(Builder& b, NodeId y) {
  NodeId unsafe = b.eq(y, b.like(y, 0));
  if (is_signed(b, y)) unsafe = b.either(unsafe, b.eq(y, b.like(y, -1)));
  return b.where(unsafe, b.like(y, 1), y);
}

NodeId modulus(Builder& b, NodeId x, NodeId y) { return b.op(Op::mod, x, safe_modulus_divisor(b, y)); }

/// Python's x // y: one less than the truncated quotient when it is inexact and negative.
NodeId floor_divide(Builder& b, NodeId x, NodeId y) {
  if (!is_signed(b, x)) return divide(b, x, y);
  const SafeDivision safe = safe_division(b, x, y);
  const NodeId zero = b.like(x, 0);
  const NodeId quotient = b.div(x, safe.divisor);
  const NodeId rest = b.sub(x, b.mul(quotient, safe.divisor));
  const NodeId signs_differ = b.lt(b.op(Op::bit_xor, rest, safe.divisor), zero);
  const NodeId adjust = b.both(b.ne(rest, zero), signs_differ);
  const NodeId floored = b.where(adjust, b.sub(quotient, b.like(x, 1)), quotient);
  return b.where(safe.is_zero, zero, floored);
}

/// Python's x % y: the sign of the divisor.
NodeId remainder(Builder& b, NodeId x, NodeId y) {
  if (!is_signed(b, x)) return modulus(b, x, y);
  const NodeId divisor = safe_modulus_divisor(b, y);
  const NodeId zero = b.like(x, 0);
  const NodeId rest = b.op(Op::mod, x, divisor);
  const NodeId signs_differ = b.lt(b.op(Op::bit_xor, rest, divisor), zero);
  return b.where(b.both(b.ne(rest, zero), signs_differ), b.add(rest, divisor), rest);
}

NodeId shift(Builder& b, Op op, NodeId x, NodeId amount) {
  const int width = width_of(b.type(x));
  const DType counts = unsigned_of(b.type(amount));
  const NodeId in_range = b.lt(b.cast(amount, counts), b.constant(counts, width));
  if (op == Op::shr && is_signed(b, x)) {
    return b.op(op, x, b.where(in_range, amount, b.like(amount, width - 1)));
  }
  const NodeId shifted = b.op(op, x, b.where(in_range, amount, b.like(amount, 0)));
  return b.where(in_range, shifted, b.like(x, 0));
}

/// base to a negative exponent: 1 and -1 have inverses, every other base gives 0.
NodeId negative_power(Builder& b, NodeId base, NodeId exponent) {
  const NodeId zero = b.like(base, 0), one = b.like(base, 1), minus_one = b.like(base, -1);
  const NodeId is_odd = b.ne(b.both(exponent, one), zero);
  const NodeId of_minus_one = b.where(is_odd, minus_one, one);
  return b.where(b.eq(base, one), one, b.where(b.eq(base, minus_one), of_minus_one, zero));
}

/// Square and multiply by the bits of a literal exponent.
NodeId literal_power(Builder& b, NodeId base, const Node& exponent) {
  if (is_signed_integer(exponent.type) && literal_as_integer(exponent) < 0) {
    return negative_power(b, base, b.bits(exponent.type, exponent.payload));
  }
  NodeId square = base, product = no_node;
  for (std::uint64_t rest = exponent.payload; rest != 0; rest >>= 1) {
    if (rest & 1) product = product == no_node ? square : b.mul(product, square);
    if (rest >> 1) square = b.mul(square, square);
  }
  return product == no_node ? b.like(base, 1) : product;
}

/// Bits that the exponent can have: fewer than its type's when it was extended from a narrower one.
int exponent_bits(const Builder& b, NodeId exponent) {
  DType type = b.type(exponent);
  const Node& node = b.node(exponent);
  if (node.kind == NodeKind::cast) {
    const DType from = b.type(node.operands[0]);
    const bool extends = is_integer(from) && size_of(from) < size_of(type);
    if (from == DType::b1) return 1;
    if (extends) type = from;
  }
  return width_of(type) - (is_signed_integer(type) ? 1 : 0);
}

/// base ** exponent modulo 2^n: square and multiply, unrolled over the exponent's bits.
NodeId power(Builder& b, NodeId base, NodeId exponent) {
  if (is_literal(b.graph(), exponent)) return literal_power(b, base, Node(b.node(exponent)));
  const int bits = exponent_bits(b, exponent);
  const NodeId zero = b.like(base, 0), one = b.like(base, 1);
  NodeId square = base, product = one;
  for (int bit = 0; bit < bits; ++bit) {
    const NodeId is_set = b.ne(b.both(exponent, b.bits(b.type(exponent), std::uint64_t{1} << bit)), zero);
    product = b.mul(product, b.where(is_set, square, one));
    if (bit + 1 < bits) square = b.mul(square, square);
  }
  if (!is_signed(b, exponent)) return product;
  return b.where(b.lt(exponent, zero), negative_power(b, base, exponent), product);
}

NodeId sign(Builder& b, NodeId x) {
  const NodeId zero = b.like(x, 0), one = b.like(x, 1);
  if (!is_signed(b, x)) return b.where(b.ne(x, zero), one, zero);
  return b.where(b.gt(x, zero), one, b.where(b.lt(x, zero), b.like(x, -1), zero));
}

}  // namespace

NodeId lower_integer(Builder& b, Op op, std::span<const NodeId> operands) {
  const NodeId x = operands[0];
  const NodeId y = operands.size() > 1 ? operands[1] : no_node;
  switch (op) {
    case Op::div:
      return divide(b, x, y);
    case Op::mod:
    case Op::fmod:
      return modulus(b, x, y);
    case Op::floor_divide:
      return floor_divide(b, x, y);
    case Op::remainder:
      return remainder(b, x, y);
    case Op::pow:
      return power(b, x, y);
    case Op::fma:
      return b.add(b.mul(x, y), operands[2]);
    case Op::abs:
      return is_signed(b, x) ? b.where(b.lt(x, b.like(x, 0)), b.neg(x), x) : x;
    case Op::sign:
      return sign(b, x);
    case Op::shl:
    case Op::shr:
      return shift(b, op, x, y);
    case Op::fmin:
      return b.op(Op::minimum, x, y);
    case Op::fmax:
      return b.op(Op::maximum, x, y);
    case Op::clip:
      return b.op(Op::minimum, b.op(Op::maximum, x, y), operands[2]);
    case Op::relu:
      return is_signed(b, x) ? b.op(Op::maximum, x, b.like(x, 0)) : x;
    case Op::logical_and:
      return b.both(b.is_true(x), b.is_true(y));
    case Op::logical_or:
      return b.either(b.is_true(x), b.is_true(y));
    case Op::logical_not:
      return b.eq(x, b.like(x, 0));
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::trunc:
    case Op::real:
    case Op::conj:
      return x;
    case Op::imag:
      return b.like(x, 0);
    case Op::isnan:
    case Op::isinf:
      return b.truth(false);
    case Op::isfinite:
      return b.truth(true);
    default:
      return no_node;
  }
}

NodeId lower_boolean(Builder& b, Op op, std::span<const NodeId> operands) {
  const NodeId x = operands[0];
  const NodeId y = operands.size() > 1 ? operands[1] : no_node;
  switch (op) {
    case Op::add:
    case Op::maximum:
    case Op::fmax:
    case Op::logical_or:
      return b.either(x, y);
    case Op::mul:
    case Op::minimum:
    case Op::fmin:
    case Op::logical_and:
      return b.both(x, y);
    case Op::clip:
      return b.both(b.either(x, y), operands[2]);
    case Op::logical_not:
      return b.invert(x);
    case Op::eq:
      return b.invert(b.op(Op::bit_xor, x, y));
    case Op::ne:
      return b.op(Op::bit_xor, x, y);
    case Op::lt:
      return b.both(b.invert(x), y);
    case Op::le:
      return b.either(b.invert(x), y);
    case Op::gt:
      return b.both(x, b.invert(y));
    case Op::ge:
      return b.either(x, b.invert(y));
    case Op::abs:
    case Op::real:
      return x;
    case Op::imag:
    case Op::isnan:
    case Op::isinf:
      return b.truth(false);
    case Op::isfinite:
      return b.truth(true);
    default:
      return no_node;
  }
}

NodeId compare_mixed_integers(Builder& b, Op op, NodeId x, NodeId y) {
  const DType common = promote(b.type(x), b.type(y));
  if (is_integer(common)) return b.op(op, b.cast(x, common), b.cast(y, common));
  // One is i64 and the other unsigned of 64 bits: a negative value is below every unsigned one.
  const bool x_is_signed = is_signed(b, x);
  const NodeId s = x_is_signed ? x : y;
  const NodeId is_negative = b.lt(s, b.like(s, 0));
  const NodeId as_unsigned = b.op(op, b.cast(x, DType::u64), b.cast(y, DType::u64));
  const bool x_below_gives = op == Op::lt || op == Op::le || op == Op::ne;
  const bool x_above_gives = op == Op::gt || op == Op::ge || op == Op::ne;
  const bool when_negative = x_is_signed ? x_below_gives : x_above_gives;
  return when_negative ? b.either(is_negative, as_unsigned) : b.both(b.invert(is_negative), as_unsigned);
}

}  // namespace kiln::codegen
