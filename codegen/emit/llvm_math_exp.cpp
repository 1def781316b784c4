// codegen/emit/llvm_math_exp.cpp -- exponentials and powers.
//
// Polynomials are minimax fits of this project (Remez exchange, weighted by the relative error of the result); each
// one's error is noted. Arguments are reduced to |r| <= ln(2)/2.
#include "codegen/emit/llvm_math.h"

namespace kiln::codegen {
namespace {

constexpr double log2_e = 0x1.71547652b82fep+0;
constexpr double magic_f32 = 12582912.0;          // 1.5 * 2^23: adding it rounds to an integer in the low bits
constexpr double magic_f64 = 6755399441055744.0;  // 1.5 * 2^52

/// value * 2^n for an integer n in [-252, 254], rounding once: two factors keep subnormal results exact until the end.
IrValue scale_f32(const IrValue& value, const IrValue& n) {
  const IrValue half = shift_arithmetic(n, 1);
  const IrValue first = bitcast((half + 127) << 23, Lane::f32);
  const IrValue second = bitcast((n - half + 127) << 23, Lane::f32);
  return value * first * second;
}

/// The integer in the low bits of x + magic_f32.
IrValue low_integer(const IrValue& shifted) {
  return bitcast(shifted, Lane::i32) - shifted.builder->bits(Lane::i32, 0x4b400000);
}

IrValue clamp(const IrValue& x, double low, double high) {
  return least(number_like(x, high), most(number_like(x, low), x));
}

IrValue exp_f32(MathContext&, const IrValue* v) {
  const IrValue x = clamp(v[0], -104, 89);
  const IrValue shifted = mad(x, log2_e, number_like(x, magic_f32));
  const IrValue n = shifted - magic_f32;
  // 16 bits of ln 2 times 8 bits of n are exact with and without FMA.
  const IrValue r = mad(n, -0x1.7f7d1cp-20, mad(n, -0x1.62e4p-1, x));
  // exp(r) = 1 + r + r^2 P(r), relative error 3.1e-9
  const IrValue p = polynomial(r, {0x1.6a23e6p-10, 0x1.123a1ep-7, 0x1.5558f2p-5, 0x1.555492p-3, 0x1.fffffcp-2});
  return scale_f32(mad(r * r, p, r) + 1, low_integer(shifted));
}

IrValue exp2_f32(MathContext&, const IrValue* v) {
  const IrValue x = clamp(v[0], -151, 129);
  const IrValue shifted = x + magic_f32;
  const IrValue r = x - (shifted - magic_f32);
  // 2^r = 1 + r Q(r), relative error 2.0e-9
  const IrValue q =
      polynomial(r, {0x1.41fb26p-13, 0x1.5f3f32p-10, 0x1.3b2d5p-7, 0x1.c6aee6p-5, 0x1.ebfbdcp-3, 0x1.62e43p-1});
  return scale_f32(mad(r, q, 1), low_integer(shifted));
}

IrValue expm1_f32(MathContext&, const IrValue* v) {
  const IrValue result = to_f32(expm1_core(clamp(to_f64(v[0]), -100, 100)));
  return select(equal(v[0], 0), v[0], result);
}

IrValue sinh_f32(MathContext&, const IrValue* v) {
  const IrValue t = expm1_core(clamp(to_f64(absolute(v[0])), 0, 100));
  return copy_sign(to_f32(0.5 * (t + t / (t + 1))), v[0]);
}

IrValue cosh_f32(MathContext&, const IrValue* v) {
  const IrValue e = exp_core(clamp(to_f64(absolute(v[0])), 0, 100));
  return to_f32(0.5 * (e + 1 / e));
}

IrValue tanh_f32(MathContext&, const IrValue* v) {
  const IrValue t = expm1_core(clamp(2 * to_f64(absolute(v[0])), 0, 40));
  return copy_sign(to_f32(t / (t + 2)), v[0]);
}

/// C's pow: magnitude exp(y log |x|), sign by odd integral y, NaN for negative x with fractional y.
IrValue pow_f32(MathContext&, const IrValue* v) {
  const IrValue x = to_f64(v[0]), y = to_f64(v[1]), size = absolute(x);
  const IrValue product = select(equal(size, 1), y * 0, y * log_core(size));
  IrValue magnitude = exp_core(clamp(product, -200, 200));
  magnitude = select(unordered(product, product), product, magnitude);
  const IrValue infinite_power = equal(size, 1) & equal(absolute(y), infinity_like(y));
  magnitude = select(infinite_power | equal(y, 0) | equal(x, 1), number_like(y, 1), magnitude);
  // From 2^24 on every f32 is an even integer.
  const IrValue large = absolute(y) >= 0x1p24;
  const IrValue small = select(large, number_like(y, 0), y), half = small * 0.5;
  const IrValue integral = equal(round_even(small), small);
  const IrValue odd = integral & !equal(round_even(half), half);
  const IrValue negative = bitcast(x, Lane::i64) < 0;
  magnitude = select(negative & odd, -magnitude, magnitude);
  const IrValue undefined = (x < 0) & !(large | integral) & (size < infinity_like(x)) & !unordered(y, y);
  return to_f32(select(undefined, nan_like(x), magnitude));
}

}  // namespace

ScaledExponential scaled_exponential(const IrValue& x) {
  const IrValue shifted = mad(x, log2_e, number_like(x, magic_f64));
  const IrValue n = shifted - magic_f64;
  const IrValue r = mad(n, -0x1.a39ef35793c76p-33, mad(n, -0x1.62e42feep-1, x));
  // exp(r) - 1 = r + r^2 Q(r), relative error 5.3e-12
  const IrValue q =
      polynomial(r, {0x1.a175de3832142p-16, 0x1.a1703536289e5p-13, 0x1.6c16386e97ef5p-10, 0x1.1110b19e38d0dp-7,
                     0x1.5555557d19145p-5, 0x1.5555557399420p-3, 0x1.fffffffff45a4p-2});
  return {mad(r * r, q, r), bitcast((bitcast(shifted, Lane::i64) + 1023) << 52, Lane::f64)};
}

IrValue exp_core(const IrValue& x) {
  const ScaledExponential e = scaled_exponential(x);
  return mad(e.scale, e.fraction, e.scale);
}

IrValue expm1_core(const IrValue& x) {
  const ScaledExponential e = scaled_exponential(x);
  return mad(e.scale, e.fraction, e.scale - 1);
}

std::span<const MathFormula> exponential_formulas() {
  static constexpr MathFormula rows[] = {
      {"exp", 1, exp_f32, nullptr},   {"exp2", 1, exp2_f32, nullptr}, {"expm1", 1, expm1_f32, nullptr},
      {"sinh", 1, sinh_f32, nullptr}, {"cosh", 1, cosh_f32, nullptr}, {"tanh", 1, tanh_f32, nullptr},
      {"pow", 2, pow_f32, nullptr},
  };
  return rows;
}

}  // namespace kiln::codegen
