// runtime/cuda/nvrtc_library.h -- NVRTC, opened at the first compile and never linked.
#pragma once

#include <nvrtc.h>

#include <memory>
#include <string>
#include <vector>

namespace kiln::runtime::cuda {

#define KILN_NVRTC_FUNCTIONS(X)                                         \
  X(version, "nvrtcVersion", nvrtcVersion)                              \
  X(error_string, "nvrtcGetErrorString", nvrtcGetErrorString)           \
  X(arch_count, "nvrtcGetNumSupportedArchs", nvrtcGetNumSupportedArchs) \
  X(archs, "nvrtcGetSupportedArchs", nvrtcGetSupportedArchs)            \
  X(create, "nvrtcCreateProgram", nvrtcCreateProgram)                   \
  X(destroy, "nvrtcDestroyProgram", nvrtcDestroyProgram)                \
  X(add_name, "nvrtcAddNameExpression", nvrtcAddNameExpression)         \
  X(lowered_name, "nvrtcGetLoweredName", nvrtcGetLoweredName)           \
  X(compile, "nvrtcCompileProgram", nvrtcCompileProgram)                \
  X(log_size, "nvrtcGetProgramLogSize", nvrtcGetProgramLogSize)         \
  X(log, "nvrtcGetProgramLog", nvrtcGetProgramLog)                      \
  X(cubin_size, "nvrtcGetCUBINSize", nvrtcGetCUBINSize)                 \
  X(cubin, "nvrtcGetCUBIN", nvrtcGetCUBIN)                              \
  X(ptx_size, "nvrtcGetPTXSize", nvrtcGetPTXSize)                       \
  X(ptx, "nvrtcGetPTX", nvrtcGetPTX)

struct Nvrtc {
#define KILN_NVRTC_MEMBER(member, symbol, declaration) decltype(&::declaration) member = nullptr;
  KILN_NVRTC_FUNCTIONS(KILN_NVRTC_MEMBER)
#undef KILN_NVRTC_MEMBER
  int major = 0, minor = 0;
  std::string path;              ///< of the library
  std::string builtins;          ///< of the builtins library that was opened beside it; empty if there was none
  std::vector<int> known_archs;  ///< 10 * major + minor, ascending

  std::string description() const;  ///< "NVRTC 13.0 (/usr/local/cuda/lib64/libnvrtc.so.13)"
};

/// Opens the first usable NVRTC. Throws CompileError that names every place tried and how to get one.
const Nvrtc& nvrtc();

/// "NVRTC 13.0 (path)" if one has been opened, else what its files say: for messages.
std::string compiler_description();

}  // namespace kiln::runtime::cuda
