// codegen/emit/llvm_math_special.cpp -- erf, gamma, roots, remainders, minimum and maximum.
#include "codegen/emit/llvm_math.h"

namespace kiln::codegen {
namespace {

/// Of equal operands the bit patterns decide: -0 orders below +0, by or (minimum) and and (maximum) of the bits.
IrValue ordered(const IrValue& a, const IrValue& b, bool smaller) {
  const Lane bits = a.lane == Lane::f32 ? Lane::i32 : Lane::i64;
  const IrValue x = bitcast(a, bits), y = bitcast(b, bits);
  const IrValue tie = bitcast(smaller ? x | y : x & y, a.lane);
  return select(equal(a, b), tie, select(smaller ? a < b : a > b, a, b));
}

template <bool smaller>
IrValue propagate_nan(MathContext&, const IrValue* v) {
  return select(is_nan(v[0]), v[0], select(is_nan(v[1]), v[1], ordered(v[0], v[1], smaller)));
}

template <bool smaller>
IrValue ignore_nan(MathContext&, const IrValue* v) {
  return select(is_nan(v[0]), v[1], select(is_nan(v[1]), v[0], ordered(v[0], v[1], smaller)));
}

IrValue rsqrt(MathContext&, const IrValue* v) { return 1.0 / square_root(v[0]); }

/// exp(x^2) erfc(x) for x in [0, 10.3], relative error 1.2e-11; the variable (x - 3) / (x + 3) flattens it.
IrValue scaled_erfc(const IrValue& x) {
  const IrValue t = (x - 3) / (x + 3);
  return polynomial(t, {-0x1.a5d0021e795d2p-21, -0x1.2365ffac93011p-17, -0x1.5b6e38236baffp-17, 0x1.12b8c640a80b8p-14,
                        0x1.7473804f609e5p-15, -0x1.3960219ea23c4p-11, 0x1.7323b5056fde2p-11, 0x1.17ca657e1fab4p-8,
                        -0x1.8fa59dcfab1d2p-6, 0x1.258b1098c6ee2p-4, -0x1.336ffbd401ad8p-3, 0x1.f6ff204db0b03p-3,
                        -0x1.4e102b9d413fcp-2, 0x1.6e9827d219f3fp-3});
}

/// erfc(|x|) in f64 for an f32 x; 0 from 10.3 on, where f32 has nothing left.
IrValue erfc_of_magnitude(const IrValue& x) {
  const IrValue a = least(number_like(x, 10.3), absolute(x));
  return exp_core(-(a * a)) * scaled_erfc(a);
}

IrValue erf_f32(MathContext&, const IrValue* v) {
  const IrValue x = to_f64(v[0]), z = x * x;
  // erf(x) = x E(x^2) for |x| < 1, relative error 8.2e-13
  const IrValue near = x * polynomial(z, {0x1.1b8c502943e78p-20, -0x1.d25cfb60a6643p-17, 0x1.f56be73a2c765p-14,
                                          -0x1.bfdf590b537c7p-11, 0x1.56586cddd6928p-8, -0x1.b82cb8f23b8b4p-6,
                                          0x1.ce2f20975231fp-4, -0x1.812746adb21bap-2, 0x1.20dd750428b20p+0});
  const IrValue far = copy_sign(1 - erfc_of_magnitude(x), x);
  return to_f32(select(absolute(x) < 1, near, far));
}

IrValue erfc_f32(MathContext&, const IrValue* v) {
  const IrValue x = to_f64(v[0]), tail = erfc_of_magnitude(x);
  return to_f32(select(x < 0, 2 - tail, tail));
}

/// 1 + erf(x) within 1.2e-7 for gelu, by the same fit as on a GPU: erfc(|x|) = 2^(-|x| P(|x|)). A tenth of the time of
/// erfc.
IrValue one_plus_erf_f32(MathContext& context, const IrValue* v) {
  const IrValue a = absolute(v[0]);
  const IrValue p = polynomial(a, {0x1.746594p-20, -0x1.bd835ap-16, 0x1.ccb96ap-13, -0x1.086756p-10, 0x1.47cacp-9,
                                   -0x1.20f278p-12, -0x1.c4b158p-6, 0x1.2faeacp-3, 0x1.d63e94p-1, 0x1.a0be86p+0});
  const IrValue tail = call(context, "exp2", {-a * p});
  return select(v[0] < 0, tail, 2 - tail);
}

/// First guess from a third of the exponent, then two of Halley's steps, each tripling the correct digits.
IrValue cbrt_f32(MathContext& context, const IrValue* v) {
  IrBuilder& b = context.builder;
  const IrValue size = absolute(v[0]), tiny = size < 0x1p-126;
  const IrValue bits = bitcast(select(tiny, size * 0x1p24, size), Lane::i32);
  const IrValue third = b.convert("fptosi", b.convert("sitofp", bits, Lane::f32) * (1.0 / 3), Lane::i32);
  const IrValue guess = bitcast(third + b.bits(Lane::i32, 0x2a514067), Lane::f32);
  IrValue t = to_f64(select(tiny, guess * 0x1p-8, guess));
  const IrValue y = to_f64(size);
  for (int step = 0; step < 2; ++step) {
    const IrValue cube = t * t * t;
    t = t * ((cube + y + y) / (cube + cube + y));
  }
  const IrValue ordinary = (size > 0) & (size < infinity_like(size));
  return select(ordinary, copy_sign(to_f32(t), v[0]), v[0] + v[0]);
}

IrValue hypot_f32(MathContext&, const IrValue* v) {
  const IrValue x = to_f64(v[0]), y = to_f64(v[1]), infinity = infinity_like(x);
  const IrValue infinite = equal(absolute(x), infinity) | equal(absolute(y), infinity);
  return to_f32(select(infinite, infinity, square_root(x * x + y * y)));
}

/// Quotients below 2^28 leave an exact f64 remainder of the f32 operands; the C library takes the rest.
IrValue fmod_f32(MathContext& context, const IrValue* v) {
  const IrValue a = to_f64(absolute(v[0])), d = to_f64(absolute(v[1])), quotient = a / d;
  const IrValue remainder = a - round_even(quotient) * d;
  const IrValue common = select(remainder < 0, remainder + d, remainder);
  const IrValue rare = !((quotient < 0x1p28) & (d < infinity_like(d)));
  const IrValue result =
      unless_rare(context, rare, common, [&] { return libm(context, "fmod", {a, d}, rare, common); });
  return copy_sign(to_f32(result), v[0]);
}

}  // namespace

std::span<const MathFormula> special_formulas() {
  static constexpr MathFormula rows[] = {
      {"minimum", 2, propagate_nan<true>, propagate_nan<true>},
      {"maximum", 2, propagate_nan<false>, propagate_nan<false>},
      {"fmin", 2, ignore_nan<true>, ignore_nan<true>},
      {"fmax", 2, ignore_nan<false>, ignore_nan<false>},
      {"rsqrt", 1, rsqrt, rsqrt},
      {"erf", 1, erf_f32, nullptr},
      {"erfc", 1, erfc_f32, nullptr},
      {"one_plus_erf", 1, one_plus_erf_f32, nullptr},
      {"lgamma", 1, nullptr, nullptr},
      {"tgamma", 1, nullptr, nullptr},
      {"cbrt", 1, cbrt_f32, nullptr},
      {"hypot", 2, hypot_f32, nullptr},
      {"fmod", 2, fmod_f32, nullptr},
  };
  return rows;
}

}  // namespace kiln::codegen
