// runtime/compile.cpp -- sends a kernel to the compiler of its language.
#include "runtime/cpu/cpu.h"
#include "runtime/cuda_interface.h"
#include "runtime/runtime.h"
#include "support/check.h"

namespace kiln::runtime {

Binary compile(const KernelSource& source, const CompileOptions& options, bool want_ptx) {
  switch (source.language) {
    case Language::cuda:
      return cuda::compile(source, options, want_ptx);
    case Language::llvm_ir:
      return compile_cpu(source, options, want_ptx);
  }
  KILN_INTERNAL_CHECK(false, "unknown language {}", static_cast<int>(source.language));
  return {};
}

}  // namespace kiln::runtime
