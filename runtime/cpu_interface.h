// runtime/cpu_interface.h -- the CPU backend, or its absence while runtime/cpu is not in this tree.
#pragma once

#if __has_include("runtime/cpu/cpu.h")
#include "runtime/cpu/cpu.h"
#else
#include <memory>

#include "runtime/runtime.h"
#include "support/check.h"

namespace kiln::runtime {
inline Binary compile_cpu(const KernelSource& source, const CompileOptions&) {
  fail<CompileError>("cannot compile kernel {}: this build has no CPU backend", source.entry);
}
inline std::string cpu_compiler_identity() { return "none"; }
inline std::unique_ptr<Backend> make_cpu_backend() { return nullptr; }
}  // namespace kiln::runtime
#endif
