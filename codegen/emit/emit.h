// codegen/emit/emit.h -- the two printers. They take finished decisions and choose nothing.
#pragma once

#include "codegen/ir/kernel.h"
#include "codegen/schedule/schedule.h"
#include "support/kernel.h"

namespace kiln::codegen {

struct EmitOptions {
  bool contract = true;      ///< FMA contraction inside the kernel
  bool fast_math = false;    ///< approximate division, square root and functions, flush subnormals
  bool lineinfo = false;     ///< #line directives back to the user's file
  std::string cpu_features;  ///< emit_llvm: feature class such as "avx2,fma,f16c"; part of the text's header
};

/// CUDA C++ for NVRTC: no includes, `extern "C" __global__ void <entry>(const __grid_constant__ Arguments)`.
KernelSource emit_cuda(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options);

/// LLVM IR text: `void @<entry>(ptr %arguments, i64 %begin, i64 %end)` over the units of cpu_units().
KernelSource emit_llvm(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options);

/// Units of CPU work: rank <= 1, elements; rank >= 2, rows x column blocks of `cpu_column_block` elements, row-major.
inline constexpr std::int64_t cpu_column_block = 16384;
std::int64_t cpu_units(const Kernel& kernel, const Extents& extents);

}  // namespace kiln::codegen
