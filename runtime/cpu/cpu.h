// runtime/cpu/cpu.h -- the CPU device: compile, run, threads. The compiler itself lives in libkiln_cpu.so.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/runtime.h"

namespace kiln::runtime {

/// Architecture of this host as it is: "x86-64 sse3,...,avx2,fma". Names what cpuid and the operating system report,
/// never a CPU model; part of every key.
const std::string& cpu_arch();
/// Bits of a vector register that kernels for `arch` use.
int cpu_vector_bits(const std::string& arch);

/// Compiles LLVM IR text into a flat image (runtime/cpu/jit/kiln_cpu.h). An empty options.arch means this host. Throws
/// CompileError with the numbered text around the fault and LLVM's message; DeviceError when libkiln_cpu.so is missing.
/// `want_assembly` puts assembly text into Binary::ptx.
Binary compile_cpu(const KernelSource& source, const CompileOptions& options, bool want_assembly = false);

/// What produces images, for cache keys. Does not load the compiler when its file can be found. "none" if there is
/// none.
std::string cpu_compiler_identity();

std::unique_ptr<Backend> make_cpu_backend();

/// Replaces kiln's thread pool by the host's: `parallel_for` runs body(context, k) once for every k in [0, count), on
/// any threads, and returns true when all are done; false, where some were not run, fails the launch. Null brings
/// kiln's own pool back. Not to be called beside running kernels. Must not throw.
using ParallelFor = bool (*)(void* host, std::int64_t count, void (*body)(void* context, std::int64_t k),
                             void* context);
void set_parallel_for(ParallelFor parallel_for, void* host);

}  // namespace kiln::runtime
