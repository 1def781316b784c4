// benchmarks/support/driver.h -- the few functions of the CUDA driver that the comparisons call directly, opened at run
// time.
#pragma once

#include <cstddef>

namespace benchmarks {

/// Prototypes as in the CUDA driver API reference; handles are opaque and a CUresult is an int (0 = success).
struct Driver {
  int (*copy_async)(unsigned long long to, unsigned long long from, std::size_t bytes, void* stream) = nullptr;
  int (*synchronize_stream)(void* stream) = nullptr;
  int (*load_module)(void** module, const void* image) = nullptr;
  int (*get_function)(void** function, void* module, const char* name) = nullptr;
  int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                unsigned block_z, unsigned shared_bytes, void* stream, void** parameters, void** extra) = nullptr;

  explicit operator bool() const { return launch != nullptr; }
};

/// All pointers null where there is no driver.
const Driver& driver();

/// Ends the program with the name of what failed when `result` is not 0.
void expect(int result, const char* what);

}  // namespace benchmarks
