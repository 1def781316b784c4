// runtime/no_cuda/no_cuda.cpp -- the CUDA backend of a library that was built without CUDA headers: it says so.
#include "runtime/cuda_interface.h"
#include "support/check.h"

namespace kiln::runtime::cuda {
namespace {

constexpr const char* reason_text =
    "this kiln was built without the CUDA backend; build it where the CUDA toolkit's headers (12.0 or later) are "
    "installed, "
    "with -DKILN_CUDA=ON";

}  // namespace

Binary compile(const KernelSource& source, const CompileOptions&, bool) {
  fail<CompileError>("cannot compile kernel {}: {}", source.entry, reason_text);
}

std::string compiler_identity() { return "none"; }

std::vector<std::unique_ptr<Backend>> make_backends(std::string& reason) {
  reason = reason_text;
  return {};
}

}  // namespace kiln::runtime::cuda
