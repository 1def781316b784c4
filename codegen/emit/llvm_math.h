// codegen/emit/llvm_math.h -- inlined vector maths for CPU kernels, printed once per module and function.
//
// Every function is a pure function of its lane: the same text serves full vectors and tails, so results depend neither
// on position nor on the number of threads. f32 functions stay within 2 ulp over the whole range.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "codegen/emit/llvm_builder.h"

namespace kiln::codegen {

class MathLibrary {
 public:
  /// `inlines`: kernels call the functions where they would be inlined very often.
  MathLibrary(int width, CpuFeatures features, bool inlines = true)
      : width_(width), features_(features), inlines_(inlines) {}

  /// Symbol of the function `name` ("exp") on vectors of `lane`; its definition is printed at the first request.
  /// Signature: the operands, then `ptr %libm`.
  std::string require(std::string_view name, Lane lane);
  /// Symbol of the lane-by-lane call of a C library function: (operands, <W x i1> mask, otherwise, ptr %libm).
  std::string require_libm(std::string_view name);
  /// Adds a function of the kernel's own, which `print` gives, where there is none of this symbol.
  void define(const std::string& symbol, const std::function<std::string()>& print);
  int width() const { return width_; }
  const CpuFeatures& features() const { return features_; }
  const std::string& definitions() const { return definitions_; }

 private:
  int width_;
  CpuFeatures features_;
  bool inlines_;
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
/// Another function of the table.
IrValue call(MathContext& context, std::string_view name, std::initializer_list<IrValue> operands);
/// `common` unless some lane of `mask` is set: then the value that `rare` computes, behind a branch. `rare` must select
/// by its own lane's mask, or results would depend on the neighbours.
IrValue unless_rare(MathContext& context, const IrValue& mask, const IrValue& common,
                    const std::function<IrValue()>& rare);

// Building blocks in f64 with about 1e-11 relative error: f32 functions computed through them round almost correctly.
struct ScaledExponential {
  IrValue fraction, scale;  ///< exp(x) - 1 = scale * fraction + (scale - 1)
};
ScaledExponential scaled_exponential(const IrValue& x);  ///< |x| < 700
IrValue exp_core(const IrValue& x);                      ///< |x| < 700
IrValue expm1_core(const IrValue& x);                    ///< |x| < 700
IrValue log_core(const IrValue& x);                      ///< all of f64 but subnormals; special values as log
IrValue log1p_core(const IrValue& x);

/// One row of the function table; a null formula is computed by the C library, lane by lane, in f64.
struct MathFormula {
  const char* name;
  int arity;
  IrValue (*f32)(MathContext&, const IrValue* operands);
  IrValue (*f64)(MathContext&, const IrValue* operands);
  bool cold = false;  ///< a rare path: never inlined
};
std::span<const MathFormula> exponential_formulas();
std::span<const MathFormula> logarithm_formulas();
std::span<const MathFormula> trigonometric_formulas();
std::span<const MathFormula> special_formulas();

}  // namespace kiln::codegen
