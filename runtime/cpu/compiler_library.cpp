// runtime/cpu/compiler_library.cpp -- libkiln_cpu.so is looked for beside kiln itself, then by the loader.
#include "runtime/cpu/compiler_library.h"

#include <dlfcn.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/exit_order.h"
#include "support/check.h"
#include "support/fork_safe.h"
#include "support/log.h"

namespace kiln::runtime {
namespace {

constexpr const char* file_name = "libkiln_cpu.so";

/// The file that the code at `address` was mapped from.
std::string mapped_file(std::uintptr_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t first = 0, last = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx", &first, &last) == 2 && first <= address && address < last) {
      const std::size_t path = line.find('/');
      return path == line.npos ? "" : line.substr(path);
    }
  }
  return "";
}

/// Directory of the module that holds this code. The loader's name may be relative to a directory that is no longer the
/// current one: argv[0] of the main program, what dlopen was given, or an entry of LD_LIBRARY_PATH.
std::string own_directory() {
  const auto* const code = reinterpret_cast<const void*>(&compiler_library);
  std::string path;
  Dl_info info{};
  if (dladdr(code, &info) && info.dli_fname) path = info.dli_fname;
  if (path.empty() || path[0] != '/') path = mapped_file(reinterpret_cast<std::uintptr_t>(code));
  const std::size_t slash = path.rfind('/');
  return slash == path.npos ? "." : path.substr(0, slash);
}

/// Beside the library; from an executable in bin, the neighbouring lib.
std::vector<std::string> candidates() {
  const std::string directory = own_directory();
  return {directory + "/" + file_name, directory + "/../lib/" + file_name};
}

template <class F>
void find(void* library, const char* name, F*& function) {
  function = reinterpret_cast<F*>(dlsym(library, name));
  if (!function)
    fail<DeviceError>("the CPU compiler {} has no function {}: it does not belong to this kiln", file_name, name);
}

CompilerLibrary bind(void* library) {
  decltype(&kiln_cpu_interface) interface = nullptr;
  find(library, "kiln_cpu_interface", interface);
  if (interface() != KILN_CPU_INTERFACE)
    fail<DeviceError>("the CPU compiler {} has interface {}, this kiln needs {}: install both from one build",
                      file_name, interface(), KILN_CPU_INTERFACE);
  CompilerLibrary functions;
  find(library, "kiln_cpu_version", functions.version);
  find(library, "kiln_cpu_compile", functions.compile);
  find(library, "kiln_cpu_error", functions.error);
  find(library, "kiln_cpu_out_of_memory", functions.out_of_memory);
  find(library, "kiln_cpu_image", functions.image);
  find(library, "kiln_cpu_assembly", functions.assembly);
  find(library, "kiln_cpu_release", functions.release);
  return functions;
}

CompilerLibrary load() {
  std::string tried;
  std::vector<std::string> places = candidates();
  places.emplace_back(file_name);
  for (const std::string& place : places) {
    if (void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      const CompilerLibrary functions = bind(library);
      KILN_LOG(1, "CPU compiler: {} ({})", functions.version(), place);
      return functions;
    }
    const char* reason = dlerror();
    tried += fmt::format("\n  {}", reason ? reason : place.c_str());
  }
  fail<DeviceError>(
      "cannot load the CPU compiler {}, which compiles kernels for the CPU device; tried:{}\n"
      "install it beside libkiln.so, or build kiln with KILN_CPU_JIT=ON",
      file_name, tried);
}

}  // namespace

const CompilerLibrary& compiler_library() {
  // A failed load is tried again at the next use: the user may have put the file there in the meantime.
  static constinit ForkSafeMutex mutex;
  static const CompilerLibrary* loaded = nullptr;
  const std::lock_guard lock(mutex);
  if (!loaded) {
    const HoldsExit hold;
    loaded = new CompilerLibrary(load());
    put_exit_handler_last();
    refuse_while_exiting();
  }
  return *loaded;
}

std::string compiler_library_path() {
  for (const std::string& place : candidates()) {
    if (access(place.c_str(), R_OK) == 0) return place;
  }
  return {};
}

}  // namespace kiln::runtime
