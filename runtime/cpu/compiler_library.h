// runtime/cpu/compiler_library.h -- finds and loads libkiln_cpu.so on first use.
#pragma once

#include <string>

#include "runtime/cpu/jit/kiln_cpu.h"

namespace kiln::runtime {

struct CompilerLibrary {
  decltype(&kiln_cpu_version) version = nullptr;
  decltype(&kiln_cpu_compile) compile = nullptr;
  decltype(&kiln_cpu_error) error = nullptr;
  decltype(&kiln_cpu_out_of_memory) out_of_memory = nullptr;
  decltype(&kiln_cpu_image) image = nullptr;
  decltype(&kiln_cpu_assembly) assembly = nullptr;
  decltype(&kiln_cpu_release) release = nullptr;
};

/// Loads the library once. Throws DeviceError naming every place that was tried.
const CompilerLibrary& compiler_library();
/// Where the library would be loaded from, "" when only the loader's own search is left.
std::string compiler_library_path();

}  // namespace kiln::runtime
