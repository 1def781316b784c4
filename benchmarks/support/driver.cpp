// benchmarks/support/driver.cpp -- opens libcuda.so.1.
#include "benchmarks/support/driver.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <type_traits>

namespace benchmarks {

namespace {

Driver open_driver() {
  Driver result;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return result;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  const bool complete = find(result.copy_async, "cuMemcpyDtoDAsync_v2") &&
                        find(result.synchronize_stream, "cuStreamSynchronize") &&
                        find(result.load_module, "cuModuleLoadData") &&
                        find(result.get_function, "cuModuleGetFunction") && find(result.launch, "cuLaunchKernel");
  return complete ? result : Driver{};
}

}  // namespace

const Driver& driver() {
  static const Driver instance = open_driver();
  return instance;
}

void expect(int result, const char* what) {
  if (result == 0) return;
  std::fprintf(stderr, "%s failed with CUDA error %d\n", what, result);
  std::exit(1);
}

}  // namespace benchmarks
