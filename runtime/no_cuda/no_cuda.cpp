// runtime/no_cuda/no_cuda.cpp -- the CUDA backend of a library that was built without CUDA headers: it says so.
#include "runtime/cuda_interface.h"
#include "support/check.h"

namespace kiln::runtime::cuda {
namespace {

constexpr const char* reason_text =
    "this kiln was built without the CUDA backend; build it with -DKILN_CUDA=ON where there are the headers and NVRTC "
    "of "
    "the CUDA toolkit (12.0 or later) or of `pip install nvidia-cuda-nvrtc nvidia-cuda-runtime`";

}  // namespace

Binary compile(const KernelSource& source, const CompileOptions&, bool) {
  fail<DeviceError>("cannot compile kernel {}: {}", source.entry, reason_text);
}

std::string compiler_identity() { return "none"; }

std::vector<std::string> toolkit_includes(const KernelSource&) { return {}; }

std::string toolkit_identity(const std::vector<std::string>&) { return ""; }

void load_compiler() {}  // compile() says why there is none

CompilerReport report_compiler() { return {}; }  // the missing devices say why

int driver_version(std::string& reason) {
  reason = reason_text;
  return 0;
}

std::vector<std::unique_ptr<Backend>> make_backends(std::string& reason) {
  reason = reason_text;
  return {};
}

bool open_ranges() { return false; }
void push_range(const char*) {}
void pop_range() {}

}  // namespace kiln::runtime::cuda
