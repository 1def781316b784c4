// dsl/kernels.h -- the process-wide map from kernel identity to a loaded kernel: duplicates of a site compile nothing.
#pragma once

#include <memory>
#include <string>

#include "codegen/emit/emit.h"
#include "runtime/runtime.h"

namespace kiln::dsl {

/// What a kernel is generated and compiled for.
struct Machine {
  runtime::DeviceId device;
  std::string arch;  ///< "sm_90", or the CPU's feature string
  codegen::DeviceTraits traits;
};
/// The machine that `device` is. Throws DeviceError when it cannot be used.
Machine machine_of(runtime::DeviceId device);
/// The machine of an architecture named by the user, which need not be present: "sm_80", "compute_90", ...
Machine machine_of_arch(const std::string& arch);

struct CodeFlags {
  bool contract = true, fast_math = false, lineinfo = false;
};

struct CompiledKernel {
  KernelSource source;  ///< without its text
  const runtime::LoadedKernel* loaded = nullptr;
};

KernelSource emit(const codegen::Kernel& kernel, const codegen::Schedule& schedule, const Machine& machine,
                  const CodeFlags& flags);
CompileOptions compile_options(const Machine& machine, const CodeFlags& flags);

/// Compiled at most once per process however many threads ask at once; a failure reaches every waiter and is not kept.
std::shared_ptr<const CompiledKernel> compiled_kernel(const codegen::Kernel& kernel, const codegen::Schedule& schedule,
                                                      const Machine& machine, const CodeFlags& flags);

}  // namespace kiln::dsl
