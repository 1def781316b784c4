// codegen/emit/llvm_math_exp.cpp -- exponentials, logarithms, powers and hyperbolic functions.
#include "codegen/emit/llvm_math.h"

namespace kiln::codegen {

std::initializer_list<MathFormula> exponential_formulas() {
  static constexpr std::initializer_list<MathFormula> rows = {
      {"exp", 1, nullptr, nullptr},   {"exp2", 1, nullptr, nullptr},  {"expm1", 1, nullptr, nullptr},
      {"log", 1, nullptr, nullptr},   {"log2", 1, nullptr, nullptr},  {"log10", 1, nullptr, nullptr},
      {"log1p", 1, nullptr, nullptr}, {"pow", 2, nullptr, nullptr},   {"sinh", 1, nullptr, nullptr},
      {"cosh", 1, nullptr, nullptr},  {"tanh", 1, nullptr, nullptr},  {"asinh", 1, nullptr, nullptr},
      {"acosh", 1, nullptr, nullptr}, {"atanh", 1, nullptr, nullptr},
  };
  return rows;
}

}  // namespace kiln::codegen
