// runtime/cuda_interface.h -- what the rest of the runtime asks of the CUDA backend; runtime/no_cuda answers in builds
// without it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/runtime.h"

namespace kiln::runtime::cuda {

/// CUDA C++ to a cubin, or to PTX where NVRTC does not know the architecture. Needs no device.
Binary compile(const KernelSource& source, const CompileOptions& options, bool want_ptx);

/// Which NVRTC compile() will use, as far as its file tells: part of every cache key, and nothing is loaded for it.
/// "none" if there is none. Once one has been loaded, that one.
std::string compiler_identity();
/// Loads NVRTC. Throws CompileError as compile() does.
void load_compiler();

/// For `kiln info`. Loads NVRTC; throws nothing where there is none.
struct CompilerReport {
  std::string path;
  int version = 0;  ///< 13000 for CUDA 13.0, 0 without NVRTC
  std::vector<int> archs;
  std::vector<std::string> tried;  ///< places, where there is none
  std::string problem, cure;
};
CompilerReport report_compiler();
/// 13000 for CUDA 13.0; 0, with the reason, where the driver cannot be used.
int driver_version(std::string& reason);

/// The CUDA toolkit's own header directories, for a user's source that includes anything; empty for other sources and
/// where none is installed. Files in them belong to the toolkit, which `toolkit_identity` tells apart.
std::vector<std::string> toolkit_includes(const KernelSource& source);
std::string toolkit_identity(const std::vector<std::string>& directories);

/// One backend per device; none, with `reason`, where CUDA cannot be used. Never throws for a missing driver.
std::vector<std::unique_ptr<Backend>> make_backends(std::string& reason);

/// Ranges in the timeline of a profiling tool. open_ranges() is called once, and says whether a tool is attached; the
/// others only where one is.
bool open_ranges();
void push_range(const char* name);
void pop_range();

}  // namespace kiln::runtime::cuda
