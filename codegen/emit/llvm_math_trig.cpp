// codegen/emit/llvm_math_trig.cpp -- trigonometric functions and their inverses.
//
// Reduction to |r| <= pi/4 takes three steps, each lane by its own size: f32 arithmetic up to narrow_limit, f64
// arithmetic up to the wide limit, the C library beyond. The last two sit behind branches that ordinary data never
// takes.
#include "codegen/emit/llvm_math.h"

namespace kiln::codegen {
namespace {

constexpr double two_over_pi = 0x1.45f306dc9c883p-1;
constexpr double half_pi = 0x1.921fb54442d18p+0;
constexpr double magic_f32 = 12582912.0;
constexpr double magic_f64 = 6755399441055744.0;
constexpr double narrow_limit = 2048;

/// How far the f64 reduction is exact: products of the quotient and 33 bits of pi/2 must be, unless FMA rounds them
/// once.
double wide_limit(const IrBuilder& b) { return b.features().fma ? 0x1p28 : 0x1p20; }

struct Reduced {
  IrValue r, quadrant;  ///< f32 or f64; i32
};

Reduced reduce_narrow(const IrValue& x) {
  const IrValue shifted = mad(x, two_over_pi, number_like(x, magic_f32)), q = shifted - magic_f32;
  IrValue r = mad(q, -0x1.921fb4p+0, x);
  r = mad(q, -0x1.4442dp-24, r);
  r = mad(q, -0x1.84698ap-48, r);
  return {r, bitcast(shifted, Lane::i32)};
}

Reduced reduce_wide(const IrValue& x) {
  const IrValue y = to_f64(x);
  const IrValue shifted = mad(y, two_over_pi, number_like(y, magic_f64)), q = shifted - magic_f64;
  const IrValue r = mad(q, -0x1.0b4611a626331p-34, mad(q, -0x1.921fb544p+0, y));
  return {r, x.builder->convert("trunc", bitcast(shifted, Lane::i64), Lane::i32)};
}

/// sin or cos of r, by the quadrant.
template <bool cosine>
IrValue finish(const Reduced& reduced) {
  const IrValue& r = reduced.r;
  IrBuilder& b = *r.builder;
  const IrValue z = r * r;
  // sin(r) = r + r z S(z), error 4.9e-12; cos(r) = 1 - z/2 + z^2 C(z), error 1.2e-10
  const IrValue s = polynomial(z, {0x1.6cd7f6p-19, -0x1.a00f9cp-13, 0x1.111108p-7, -0x1.555556p-3});
  const IrValue c = polynomial(z, {0x1.99eafap-16, -0x1.6c0c32p-10, 0x1.55554ap-5});
  const IrValue sine = mad(r * z, s, r), cosinus = mad(z * z, c, mad(z, -0.5, number_like(z, 1)));
  const IrValue quadrant = cosine ? reduced.quadrant + 1 : reduced.quadrant;
  const IrValue even = equal(quadrant & b.bits(Lane::i32, 1), 0);
  const IrValue sign = (quadrant & b.bits(Lane::i32, 2)) << 30;
  return bitcast(bitcast(select(even, sine, cosinus), Lane::i32) ^ sign, Lane::f32);
}

template <bool cosine>
IrValue wide_sine(MathContext& context, const IrValue* v) {
  const IrValue& x = v[0];
  Reduced reduced = reduce_wide(x);
  reduced.r = to_f32(reduced.r);
  const IrValue common = finish<cosine>(reduced);
  const IrValue huge = absolute(x) > wide_limit(context.builder);
  return unless_rare(context, huge, common, [&] {
    const IrValue value = libm(context, cosine ? "cos" : "sin", {to_f64(x)}, huge, number_like(to_f64(x), 0));
    return select(huge, to_f32(value), common);
  });
}

template <bool cosine>
IrValue sine_f32(MathContext& context, const IrValue* v) {
  const IrValue& x = v[0];
  IrValue result;
  if (context.builder.features().fma) {
    const IrValue common = finish<cosine>(reduce_narrow(x)), large = absolute(x) > narrow_limit;
    result = unless_rare(context, large, common,
                         [&] { return select(large, call(context, cosine ? "wide_cos" : "wide_sin", {x}), common); });
  } else {
    result = call(context, cosine ? "wide_cos" : "wide_sin", {x});
  }
  return cosine ? result : select(equal(x, 0), x, result);
}

IrValue tan_f32(MathContext& context, const IrValue* v) {
  const IrValue& x = v[0];
  const Reduced reduced = reduce_wide(x);
  const IrValue& r = reduced.r;
  const IrValue z = r * r;
  // As in finish(), with errors 4.8e-15 and 9.3e-17.
  const IrValue s = polynomial(z, {-0x1.a96695168ba3cp-26, 0x1.71d77c2b27092p-19, -0x1.a019f95918e8bp-13,
                                   0x1.1111110ca1789p-7, -0x1.55555555523ebp-3});
  const IrValue c = polynomial(z, {0x1.1bbe39cb007b2p-29, -0x1.27e00a8a6ad0ap-22, 0x1.a019fa5db7e79p-16,
                                   -0x1.6c16c1671efeep-10, 0x1.5555555552dc6p-5});
  const IrValue sine = mad(r * z, s, r), cosine = mad(z * z, c, mad(z, -0.5, number_like(z, 1)));
  const IrValue even = equal(reduced.quadrant & context.builder.bits(Lane::i32, 1), 0);
  const IrValue common = to_f32(select(even, sine, -cosine) / select(even, cosine, sine));
  const IrValue huge = absolute(x) > wide_limit(context.builder);
  const IrValue result = unless_rare(context, huge, common, [&] {
    return select(huge, to_f32(libm(context, "tan", {to_f64(x)}, huge, number_like(r, 0))), common);
  });
  return select(equal(x, 0), x, result);
}

/// Angle of the point (x, y) in [-pi, pi], f64 operands; special values as C's atan2.
IrValue angle(const IrValue& y, const IrValue& x) {
  const IrValue up = absolute(y), along = absolute(x);
  const IrValue small = least(up, along), large = most(up, along);
  IrValue t = small / large;
  t = select(equal(large, 0), large, t);
  t = select(equal(small, infinity_like(small)), number_like(t, 1), t);
  const IrValue z = t * t;
  // atan(t) = t + t z A(z) on [0, 1], relative error 1.0e-11
  const IrValue a =
      polynomial(z, {0x1.ce17fb48aba3cp-12, -0x1.b401119dbd945p-9, 0x1.81f584f0bfde7p-7, -0x1.b2f4c3dc24509p-6,
                     0x1.69e9f6b12f82ap-5, -0x1.f02f605814f1dp-5, 0x1.33a16102e75e7p-4, -0x1.72d62d751e573p-4,
                     0x1.c6e85a772e348p-4, -0x1.2490392047751p-3, 0x1.9999846c72e34p-3, -0x1.5555552f29339p-2});
  IrValue result = mad(t * z, a, t);
  result = select(up > along, half_pi - result, result);
  result = select(bitcast(x, Lane::i64) < 0, 2 * half_pi - result, result);
  return select(unordered(x, y), nan_like(x), copy_sign(result, y));
}

IrValue asin_f32(MathContext&, const IrValue* v) {
  const IrValue x = to_f64(v[0]);
  return to_f32(angle(x, square_root((1 - x) * (1 + x))));
}

IrValue acos_f32(MathContext&, const IrValue* v) {
  const IrValue x = to_f64(v[0]);
  return to_f32(angle(square_root((1 - x) * (1 + x)), x));
}

IrValue atan_f32(MathContext&, const IrValue* v) {
  const IrValue x = to_f64(v[0]);
  return to_f32(angle(x, number_like(x, 1)));
}

IrValue atan2_f32(MathContext&, const IrValue* v) { return to_f32(angle(to_f64(v[0]), to_f64(v[1]))); }

}  // namespace

std::span<const MathFormula> trigonometric_formulas() {
  static constexpr MathFormula rows[] = {
      {"sin", 1, sine_f32<false>, nullptr},
      {"cos", 1, sine_f32<true>, nullptr},
      {"wide_sin", 1, wide_sine<false>, nullptr, true},
      {"wide_cos", 1, wide_sine<true>, nullptr, true},
      {"tan", 1, tan_f32, nullptr},
      {"asin", 1, asin_f32, nullptr},
      {"acos", 1, acos_f32, nullptr},
      {"atan", 1, atan_f32, nullptr},
      {"atan2", 2, atan2_f32, nullptr},
  };
  return rows;
}

}  // namespace kiln::codegen
