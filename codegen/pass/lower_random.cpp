// codegen/pass/lower_random.cpp -- counter-based random numbers: Philox4x32-10, uniform and Box-Muller normal.
//
// Philox: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. Only integer arithmetic
// and correctly rounded operations are used, and no mul feeds an add, so that every device gives the same bits.
#include <cmath>

#include "codegen/pass/lowering.h"

namespace kiln::codegen {
namespace {

NodeId low_word(Builder& b, NodeId value) { return b.cast(value, DType::u32); }

NodeId high_word(Builder& b, NodeId value) {
  return b.cast(b.op(Op::shr, value, b.constant(DType::u64, 32)), DType::u32);
}

NodeId join_words(Builder& b, NodeId low, NodeId high) {
  const NodeId shifted = b.op(Op::shl, b.cast(high, DType::u64), b.constant(DType::u64, 32));
  return b.op(Op::bit_or, shifted, b.cast(low, DType::u64));
}

/// x0 where bit `bit` of `lane` is clear, x1 where it is set.
NodeId select_by_bit(Builder& b, NodeId lane, unsigned bit, NodeId x0, NodeId x1) {
  const NodeId is_set = b.ne(b.both(lane, b.bits(b.type(lane), std::uint64_t{1} << bit)), b.like(lane, 0));
  return b.where(is_set, x1, x0);
}

/// c[0] + x (c[1] + x (c[2] + ...)), every step fused.
NodeId polynomial(Builder& b, NodeId x, std::span<const double> c) {
  NodeId sum = b.like(x, c.back());
  for (std::size_t i = c.size() - 1; i-- > 0;) sum = b.fma(sum, x, b.like(x, c[i]));
  return sum;
}

/// log(x) for normal x in (0, 1]: x = 2^e m with m in [sqrt(1/2), sqrt(2)), log m = 2 atanh((m - 1) / (m + 1)).
NodeId logarithm(Builder& b, NodeId x) {
  const DType type = b.type(x);
  const bool is_double = type == DType::f64;
  const DType word = is_double ? DType::i64 : DType::i32;
  const NodeId mantissa_bits = b.constant(word, is_double ? 52 : 23);
  const NodeId bits = b.bitcast(x, word);
  const NodeId sqrt_half = b.bits(word, is_double ? 0x3fe6a09e667f3bcdull : 0x3f3504f3ull);
  const NodeId exponent = b.op(Op::shr, b.sub(bits, sqrt_half), mantissa_bits);
  const NodeId m = b.bitcast(b.sub(bits, b.op(Op::shl, exponent, mantissa_bits)), type);
  const NodeId one = b.like(x, 1.0);
  const NodeId s = b.div(b.sub(m, one), b.add(m, one));
  const NodeId square = b.mul(s, s);
  double series[11];  // 1/3, 1/5, ...: |s| <= 0.172, so 4 terms reach f32 and 11 reach f64
  for (int k = 0; k < 11; ++k) series[k] = 1.0 / (2 * k + 3);
  const NodeId tail = b.mul(square, polynomial(b, square, {series, is_double ? 11u : 4u}));
  const NodeId twice = b.add(s, s);
  const NodeId log_m = b.fma(twice, tail, twice);
  return b.fma(b.cast(exponent, type), b.like(x, 0.6931471805599453), log_m);
}

/// cos of the angle whose quadrant is the top two bits of `word` (plus `turn` quarter turns) and whose place in it,
/// from -pi/4 to pi/4, is the rest.
NodeId cosine_of_word(Builder& b, NodeId word, NodeId turn, DType type) {
  const bool is_double = type == DType::f64;
  const DType unsigned_type = b.type(word);
  const DType signed_type = is_double ? DType::i64 : DType::i32;
  const int width = is_double ? 64 : 32;
  const NodeId quadrant = b.add(b.op(Op::shr, word, b.constant(unsigned_type, width - 2)), turn);
  const NodeId place = b.both(word, b.bits(unsigned_type, mask_of(unsigned_type) >> 2));
  const NodeId centred = b.sub(b.cast(place, signed_type), b.constant(signed_type, std::ldexp(1.0, width - 3)));
  const NodeId y = b.mul(b.cast(centred, type), b.constant(type, std::ldexp(1.0, 2 - width)));  // quarter turns
  const NodeId square = b.mul(y, y);
  double cosine[10], sine[10];  // Taylor in quarter turns: |y| <= 1/2
  double term = 1.0;
  for (int k = 0; k < 10; ++k) {
    constexpr double half_pi = 1.5707963267948966;
    cosine[k] = term;
    sine[k] = term * half_pi / (2 * k + 1);
    term *= -half_pi * half_pi / ((2 * k + 1) * (2 * k + 2));
  }
  const NodeId c = polynomial(b, square, {cosine, is_double ? 10u : 6u});
  const NodeId s = b.mul(y, polynomial(b, square, {sine, is_double ? 9u : 5u}));
  const NodeId magnitude = select_by_bit(b, quadrant, 0, c, s);  // cos: c, -s, -c, s by quadrant
  const NodeId next = b.add(quadrant, b.like(quadrant, 1));
  return select_by_bit(b, next, 1, magnitude, b.neg(magnitude));
}

/// sqrt(-2 log u) with u = (word + 1/2) / 2^width in (0, 1].
NodeId radius_of_word(Builder& b, NodeId word, DType type) {
  const int width = type == DType::f64 ? 64 : 32;
  const NodeId scale = b.constant(type, std::ldexp(1.0, -width));
  const NodeId u = b.fma(b.cast(word, type), scale, b.constant(type, std::ldexp(1.0, -width - 1)));
  return b.sqrt(b.mul(logarithm(b, u), b.constant(type, -2.0)));
}

/// The top 24 (f32) or 53 (f64) bits of the word as a fraction: multiples of 2^-24 or 2^-53 in [0, 1).
NodeId uniform_of_word(Builder& b, NodeId word, DType type) {
  const bool is_double = type == DType::f64;
  const NodeId top = b.op(Op::shr, word, b.like(word, is_double ? 11 : 8));
  return b.mul(b.cast(top, type), b.constant(type, is_double ? 0x1p-53 : 0x1p-24));
}

}  // namespace

std::array<NodeId, 4> philox4x32_10(Builder& b, std::array<NodeId, 4> c, NodeId k0, NodeId k1) {
  const NodeId m0 = b.bits(DType::u32, 0xd2511f53u), m1 = b.bits(DType::u32, 0xcd9e8d57u);
  const NodeId w0 = b.bits(DType::u32, 0x9e3779b9u), w1 = b.bits(DType::u32, 0xbb67ae85u);
  for (int round = 0; round < 10; ++round) {
    if (round > 0) {
      k0 = b.add(k0, w0);
      k1 = b.add(k1, w1);
    }
    const NodeId high0 = b.primitive(NodeKind::mulhi, DType::u32, {c[0], m0}), low0 = b.mul(c[0], m0);
    const NodeId high1 = b.primitive(NodeKind::mulhi, DType::u32, {c[2], m1}), low1 = b.mul(c[2], m1);
    const NodeId next0 = b.op(Op::bit_xor, b.op(Op::bit_xor, high1, c[1]), k0);
    const NodeId next2 = b.op(Op::bit_xor, b.op(Op::bit_xor, high0, c[3]), k1);
    c = {next0, low1, next2, low0};
  }
  return c;
}

NodeId lower_random(Builder& b, NodeId counter, NodeId key, bool normal, DType type) {
  const bool is_double = type == DType::f64;
  const NodeId block = b.op(Op::shr, counter, b.constant(DType::u64, is_double ? 1 : 2));
  const NodeId zero = b.constant(DType::u32, 0);
  const auto w =
      philox4x32_10(b, {low_word(b, block), high_word(b, block), zero, zero}, low_word(b, key), high_word(b, key));
  const NodeId lane = low_word(b, counter);
  if (is_double) {
    const NodeId first = join_words(b, w[0], w[1]), second = join_words(b, w[2], w[3]);
    if (!normal) return uniform_of_word(b, select_by_bit(b, lane, 0, first, second), type);
    // Even elements take the cosine; the sine is the cosine three quarter turns on.
    const NodeId turn = select_by_bit(b, lane, 0, b.constant(DType::u64, 0), b.constant(DType::u64, 3));
    return b.mul(radius_of_word(b, first, type), cosine_of_word(b, second, turn, type));
  }
  if (!normal) {
    const NodeId low_pair = select_by_bit(b, lane, 0, w[0], w[1]), high_pair = select_by_bit(b, lane, 0, w[2], w[3]);
    return uniform_of_word(b, select_by_bit(b, lane, 1, low_pair, high_pair), type);
  }
  const NodeId first = select_by_bit(b, lane, 1, w[0], w[2]), second = select_by_bit(b, lane, 1, w[1], w[3]);
  const NodeId turn = select_by_bit(b, lane, 0, zero, b.constant(DType::u32, 3));
  return b.mul(radius_of_word(b, first, type), cosine_of_word(b, second, turn, type));
}

}  // namespace kiln::codegen
