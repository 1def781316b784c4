// codegen/emit/llvm_math_log.cpp -- logarithms and inverse hyperbolic functions.
#include "codegen/emit/llvm_math.h"

namespace kiln::codegen {
namespace {

constexpr double ln2 = 0x1.62e42fefa39efp-1;

/// log at 0, infinity, negative numbers and NaN; `result` elsewhere.
IrValue with_specials(const IrValue& x, IrValue result) {
  result = select(x < infinity_like(x), result, x);
  result = select(equal(x, 0), -infinity_like(x), result);
  return select(x < 0, nan_like(x), result);
}

/// log(1 + f) + e ln 2 for f in [sqrt(1/2) - 1, sqrt(2) - 1], through s = f / (2 + f).
IrValue log_of_fraction(const IrValue& f, const IrValue& e) {
  const IrValue s = f / (f + 2), z = s * s;
  // 2 atanh(s) = s (2 + z R(z)), relative error 3.0e-14
  const IrValue r = polynomial(z, {0x1.911830e93c791p-3, 0x1.c62ae900ca436p-3, 0x1.2494126960a13p-2,
                                   0x1.999996a83c7f3p-2, 0x1.555555561e9cfp-1});
  return mad(e, ln2, mad(s * z, r, s + s));
}

struct Split {
  IrValue fraction, exponent;
};

/// x = (1 + fraction) 2^exponent, 1 + fraction in [sqrt(1/2), sqrt(2)), for normal positive x.
Split split_f64(const IrValue& x) {
  IrBuilder& b = *x.builder;
  const IrValue bits = bitcast(x, Lane::i64);
  const IrValue e = shift_arithmetic(bits - b.bits(Lane::i64, 0x3fe6a09e667f3bcdull), 52);
  // Integer to float without a conversion, which AVX2 lacks for 64 bits.
  const IrValue exponent = bitcast(e + b.bits(Lane::i64, 0x4338000000000000ull), Lane::f64) - 6755399441055744.0;
  return {bitcast(bits - (e << 52), Lane::f64) - 1, exponent};
}

IrValue log_f32(MathContext& context, const IrValue* v) {
  IrBuilder& b = context.builder;
  const IrValue tiny = v[0] < 0x1p-126;
  const IrValue x = select(tiny, v[0] * 0x1p23, v[0]), bits = bitcast(x, Lane::i32);
  const IrValue e = shift_arithmetic(bits - b.bits(Lane::i32, 0x3f3504f3), 23);
  const IrValue f = bitcast(bits - (e << 23), Lane::f32) - 1;
  const IrValue exponent = b.convert("sitofp", e, Lane::f32) - select(tiny, number_like(x, 23), number_like(x, 0));
  // log(1 + f) = f - f^2/2 + f^3 P(f), relative error 7.5e-10
  const IrValue p = polynomial(f, {0x1.14578p-4, -0x1.de3bdep-4, 0x1.e6f052p-4, -0x1.fc220ap-4, 0x1.23376ap-3,
                                   -0x1.555c4ep-3, 0x1.99a4b6p-3, -0x1.000006p-2, 0x1.555548p-2});
  const IrValue z = f * f;
  const IrValue low = mad(exponent, 0x1.7f7d1cp-20, mad(z, number_like(z, -0.5), f * z * p));
  return with_specials(v[0], mad(exponent, 0x1.62e4p-1, low + f));
}

IrValue log2_f32(MathContext&, const IrValue* v) { return to_f32(log_core(to_f64(v[0])) * 0x1.71547652b82fep+0); }
IrValue log10_f32(MathContext&, const IrValue* v) { return to_f32(log_core(to_f64(v[0])) * 0x1.bcb7b1526e50ep-2); }

IrValue log1p_f32(MathContext&, const IrValue* v) {
  return select(equal(v[0], 0), v[0], to_f32(log1p_core(to_f64(v[0]))));
}

IrValue asinh_f32(MathContext&, const IrValue* v) {
  const IrValue a = to_f64(absolute(v[0])), square = a * a;
  const IrValue inside = a + square / (square_root(square + 1) + 1);
  return copy_sign(to_f32(log1p_core(select(a < infinity_like(a), inside, a))), v[0]);
}

IrValue acosh_f32(MathContext&, const IrValue* v) {
  const IrValue t = to_f64(v[0]) - 1;
  return to_f32(select(t < 0, nan_like(t), log1p_core(t + square_root(t * (t + 2)))));
}

IrValue atanh_f32(MathContext&, const IrValue* v) {
  const IrValue a = to_f64(absolute(v[0]));
  return copy_sign(to_f32(0.5 * log1p_core((a + a) / (1 - a))), v[0]);
}

}  // namespace

IrValue log_core(const IrValue& x) {
  const Split split = split_f64(x);
  return with_specials(x, log_of_fraction(split.fraction, split.exponent));
}

IrValue log1p_core(const IrValue& x) {
  const IrValue sum = x + 1, small = absolute(x) < 0.25;
  const Split split = split_f64(sum);
  const IrValue f = select(small, x, split.fraction), e = select(small, number_like(x, 0), split.exponent);
  return with_specials(sum, log_of_fraction(f, e));
}

std::span<const MathFormula> logarithm_formulas() {
  static constexpr MathFormula rows[] = {
      {"log", 1, log_f32, nullptr},     {"log2", 1, log2_f32, nullptr},   {"log10", 1, log10_f32, nullptr},
      {"log1p", 1, log1p_f32, nullptr}, {"asinh", 1, asinh_f32, nullptr}, {"acosh", 1, acosh_f32, nullptr},
      {"atanh", 1, atanh_f32, nullptr},
  };
  return rows;
}

}  // namespace kiln::codegen
