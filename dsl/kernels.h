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
  KernelSource source;                            ///< without its text
  std::shared_ptr<const runtime::Binary> binary;  ///< without its image
  std::shared_ptr<const runtime::LoadedKernel> loaded;
};

KernelSource emit(const codegen::Kernel& kernel, const codegen::Schedule& schedule, const Machine& machine,
                  const CodeFlags& flags);
CompileOptions compile_options(const Machine& machine, const CodeFlags& flags);

/// Compiled once however many threads ask at once; a failure reaches every waiter and is not kept. Results that nobody
/// else holds are dropped above kl::kernel_limit(), the one asked for longest ago first.
std::shared_ptr<const CompiledKernel> compiled_kernel(const codegen::Kernel& kernel, const codegen::Schedule& schedule,
                                                      const Machine& machine, const CodeFlags& flags);

/// Drops results that nobody else holds until at most `kernels` are left, and has the devices unload them.
void unload_unused_kernels(std::size_t kernels);

}  // namespace kiln::dsl
