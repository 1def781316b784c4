// codegen/emit/llvm_math.h -- inlined vector maths for CPU kernels, printed once per module and function.
//
// Every function is a pure function of its lane: the same text serves full vectors and tails, so results depend neither on
// position nor on the number of threads. f32 functions stay within 2 ulp over the whole range.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "codegen/emit/llvm_builder.h"

namespace kiln::codegen {

class MathLibrary {
 public:
  MathLibrary(int width, CpuFeatures features) : width_(width), features_(features) {}

  /// Symbol of the function `name` ("exp") on vectors of `lane`; its definition is printed at the first request.
  /// Signature: the operands, then `ptr %libm`.
  std::string require(std::string_view name, Lane lane);
  /// Symbol of the lane-by-lane call of a C library function: (operands, <W x i1> mask, otherwise, ptr %libm).
  std::string require_libm(std::string_view name);
  const std::string& definitions() const { return definitions_; }

 private:
  int width_;
  CpuFeatures features_;
  std::set<std::string> done_;
  std::string definitions_;
};

/// What a formula may use besides arithmetic.
struct MathContext {
  IrBuilder& builder;
  MathLibrary& library;
};

/// f64 lanes of the C library's `name` where `mask` holds, `otherwise` elsewhere.
IrValue libm(MathContext& context, std::string_view name, std::initializer_list<IrValue> operands, const IrValue& mask,
             const IrValue& otherwise);
/// `common` unless some lane of `mask` is set: then the value that `rare` computes, behind a branch. `rare` must select
/// by its own lane's mask, or results would depend on the neighbours.
IrValue unless_rare(MathContext& context, const IrValue& mask, const IrValue& common,
                    const std::function<IrValue()>& rare);

/// One row of the function table; a null formula is computed by the C library, lane by lane, in f64.
struct MathFormula {
  const char* name;
  int arity;
  IrValue (*f32)(MathContext&, const IrValue* operands);
  IrValue (*f64)(MathContext&, const IrValue* operands);
};
std::initializer_list<MathFormula> exponential_formulas();
std::initializer_list<MathFormula> trigonometric_formulas();
std::initializer_list<MathFormula> special_formulas();

}  // namespace kiln::codegen
