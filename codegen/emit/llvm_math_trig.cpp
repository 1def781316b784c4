// codegen/emit/llvm_math_trig.cpp -- trigonometric functions and their inverses.
#include "codegen/emit/llvm_math.h"

namespace kiln::codegen {

std::initializer_list<MathFormula> trigonometric_formulas() {
  static constexpr std::initializer_list<MathFormula> rows = {
      {"sin", 1, nullptr, nullptr},  {"cos", 1, nullptr, nullptr},  {"tan", 1, nullptr, nullptr},
      {"asin", 1, nullptr, nullptr}, {"acos", 1, nullptr, nullptr}, {"atan", 1, nullptr, nullptr},
      {"atan2", 2, nullptr, nullptr},
  };
  return rows;
}

}  // namespace kiln::codegen
