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

}  // namespace

std::initializer_list<MathFormula> special_formulas() {
  static constexpr std::initializer_list<MathFormula> rows = {
      {"minimum", 2, propagate_nan<true>, propagate_nan<true>},
      {"maximum", 2, propagate_nan<false>, propagate_nan<false>},
      {"fmin", 2, ignore_nan<true>, ignore_nan<true>},
      {"fmax", 2, ignore_nan<false>, ignore_nan<false>},
      {"rsqrt", 1, rsqrt, rsqrt},
      {"erf", 1, nullptr, nullptr},
      {"erfc", 1, nullptr, nullptr},
      {"lgamma", 1, nullptr, nullptr},
      {"tgamma", 1, nullptr, nullptr},
      {"cbrt", 1, nullptr, nullptr},
      {"hypot", 2, nullptr, nullptr},
      {"fmod", 2, nullptr, nullptr},
  };
  return rows;
}

}  // namespace kiln::codegen
