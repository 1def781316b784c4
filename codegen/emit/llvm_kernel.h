// codegen/emit/llvm_kernel.h -- what every CPU kernel starts from: its arguments in registers, and the module's text.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "codegen/emit/emit.h"
#include "codegen/emit/llvm_access.h"
#include "codegen/emit/llvm_math.h"

namespace kiln::codegen {

struct KernelFrame {
  KernelFrame(const Kernel& kernel, const EmitOptions& options);

  void print_arguments();
  /// Lanes of the accesses that are strided along their vector axis, and of iotas.
  void print_lane_offsets();
  /// `row` of every access, from its base and the coordinates of as many outer axes.
  void print_row_bases(std::span<const std::string> coordinates);
  /// A variable of this LLVM type, set aside at the entry of the kernel; returns its address.
  std::string variable(const std::string& type);
  /// The module: the kernel with the text of `b` as its body, the maths it calls and all declarations.
  std::string module(const std::string& entry) const;

  const Kernel& kernel;
  const EmitOptions& options;
  CpuFeatures features;
  IrBuilder b;
  MathLibrary library;
  std::vector<AccessState> states;
  std::vector<std::string> extents;
  std::vector<Parts> parameters;
  std::string workspace;      ///< ptr
  std::string variable_text;  ///< of all `variable`s
};

}  // namespace kiln::codegen
