// dsl/kernels.h -- the process-wide map from kernel identity to a loaded kernel: duplicates of a site compile nothing.
#pragma once

#include <memory>
#include <string>

#include "codegen/emit/emit.h"
#include "dsl/machines.h"
#include "runtime/runtime.h"

namespace kiln::dsl {

struct CodeFlags {
  bool contract = true, fast_math = false, lineinfo = false;
};

struct CompiledKernel {
  KernelSource source;  ///< without its text
  std::shared_ptr<const runtime::Binary> binary;
  const runtime::LoadedKernel* loaded = nullptr;
};

KernelSource emit(const codegen::Kernel& kernel, const codegen::Schedule& schedule, const Machine& machine,
                  const CodeFlags& flags);
CompileOptions compile_options(const Machine& machine, const CodeFlags& flags);

/// Compiled at most once per process however many threads ask at once; a failure reaches every waiter and is not kept.
std::shared_ptr<const CompiledKernel> compiled_kernel(const codegen::Kernel& kernel, const codegen::Schedule& schedule,
                                                      const Machine& machine, const CodeFlags& flags);

}  // namespace kiln::dsl
