// codegen/pass/lower_cast.cpp -- conversions: saturating float to integer, single rounding to f16 and bf16, truth
// values.
#include <cmath>

#include "codegen/pass/lowering.h"

namespace kiln::codegen {
namespace {

/// Saturates, NaN gives 0: the operand of the remaining cast is clamped to values that fit.
NodeId float_to_integer(Builder& b, NodeId x, DType to) {
  const DType from = b.type(x);
  const int mantissa = from == DType::f32 ? 24 : 53;
  const bool to_signed = is_signed_integer(to);
  const int magnitude_bits = static_cast<int>(8 * size_of(to)) - (to_signed ? 1 : 0);
  const double limit = std::ldexp(1.0, magnitude_bits);  // the first value that does not fit
  const bool exact_maximum = magnitude_bits <= mantissa;
  // The largest float below `limit`, or the largest integer where that is a float too.
  const double high = exact_maximum ? limit - 1 : limit - std::ldexp(1.0, magnitude_bits - mantissa);
  const NodeId low_constant = b.constant(from, to_signed ? -limit : 0.0);
  const NodeId high_constant = b.constant(from, high);

  const NodeId not_below = b.where(b.gt(x, low_constant), x, low_constant);  // NaN becomes the low end
  const NodeId clamped = b.where(b.lt(not_below, high_constant), not_below, high_constant);
  NodeId result = b.cast(clamped, to);
  if (!exact_maximum) {
    const NodeId maximum = b.bits(to, mask_of(to) >> (to_signed ? 1 : 0));
    result = b.where(b.ge(x, b.constant(from, limit)), maximum, result);
  }
  return to_signed ? b.where(b.is_nan(x), b.constant(to, 0), result) : result;
}

/// f64 to f32 rounded to odd: an inexact result gets an odd last bit, so that rounding it once more to f16 or bf16
/// gives the correctly rounded value of the original (Boldo and Melquiond 2008).
NodeId round_to_odd(Builder& b, NodeId x) {
  const NodeId nearest = b.cast(x, DType::f32);
  const NodeId bits = b.bitcast(nearest, DType::u32);
  const NodeId back = b.abs(b.cast(nearest, DType::f64)), magnitude = b.abs(x);
  const NodeId one = b.constant(DType::u32, 1), zero = b.constant(DType::u32, 0);
  const NodeId is_even = b.eq(b.both(bits, one), zero);
  const NodeId up = b.add(bits, one), down = b.sub(bits, one);
  // The odd neighbour on the side of x; both comparisons are false for exact results and NaN.
  const NodeId neighbour = b.where(b.gt(magnitude, back), up, b.where(b.lt(magnitude, back), down, bits));
  return b.bitcast(b.where(is_even, neighbour, bits), DType::f32);
}

NodeId rounding_cast(Builder& b, NodeId x, DType to) { return b.primitive(NodeKind::cast, to, {x}); }

/// i64/u64 to a f64 that rounds to the same bf16: low bits of large values collapse into one sticky bit.
NodeId sticky_double(Builder& b, NodeId x) {
  const DType type = b.type(x);
  const NodeId zero = b.constant(type, 0);
  const NodeId low_bits = b.bits(type, 0xfff), sticky_bit = b.bits(type, 0x800);
  const NodeId high = b.both(x, b.bits(type, ~std::uint64_t{0xfff}));
  const NodeId sticky = b.where(b.ne(b.both(x, low_bits), zero), sticky_bit, zero);
  const NodeId squeezed = b.either(high, sticky);
  const NodeId limit = b.bits(type, std::uint64_t{1} << 53);
  NodeId is_large = b.ge(x, limit);
  if (is_signed_integer(type)) is_large = b.either(is_large, b.le(x, b.neg(limit)));
  return b.cast(b.where(is_large, squeezed, x), DType::f64);
}

NodeId integer_to_storage(Builder& b, NodeId x, DType to) {
  const DType from = b.type(x);
  if (from == DType::b1 || size_of(from) <= 2) return rounding_cast(b, b.cast(x, DType::f32), to);
  if (to == DType::f16) {  // everything from 65520 on is infinite, and smaller integers are exact in f32
    NodeId clamped = b.op(Op::minimum, x, b.constant(from, 131072));
    if (is_signed_integer(from)) clamped = b.op(Op::maximum, clamped, b.constant(from, -131072));
    return rounding_cast(b, b.cast(clamped, DType::f32), to);
  }
  const NodeId wide = size_of(from) == 4 ? b.cast(x, DType::f64) : sticky_double(b, x);
  return rounding_cast(b, round_to_odd(b, wide), to);
}

}  // namespace

NodeId lower_cast(Builder& b, NodeId x, DType to) {
  const DType from = b.type(x);
  if (to == DType::b1) return b.is_true(x);
  if (is_integer(to)) return is_floating(from) ? float_to_integer(b, x, to) : no_node;
  if (to == DType::f16 || to == DType::bf16) {
    if (from == DType::f64) return rounding_cast(b, round_to_odd(b, x), to);
    if (!is_floating(from)) return integer_to_storage(b, x, to);
  }
  return no_node;
}

}  // namespace kiln::codegen
