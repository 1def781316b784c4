// tests/fake_driver/fake_state.h -- what the parts of the fake driver share: the record of calls, handles, faults.
#pragma once

#include <cuda.h>

#include <string>
#include <vector>

#include "tests/fake_driver/fake_driver.h"

struct CUctx_st {
  CUdevice device;
  unsigned long long id;
  bool is_dead = false;  ///< a primary context that was reset and not retained since
};
struct CUstream_st {
  int id;
};
struct CUevent_st {
  int id;
  std::string launch;  ///< the last one before the event was recorded
};
struct CUlib_st {
  std::string image;
};
struct CUkern_st {
  std::string name;
  CUlibrary library = nullptr;
};
struct CUgraph_st {
  std::size_t nodes;
  std::vector<CUkernel> kernels = {};
};
struct CUgraphExec_st {
  std::size_t nodes;
  std::vector<CUkernel> kernels = {};
};

namespace kiln::fake {

FakeDriver& state();
/// Writes the call down; what it gives, or the fault that a test asked for.
CUresult step(const char* function, const std::string& details = "");
/// Keeps what a launch passes, as the test asked for.
void copy_arguments(void** parameters);

/// The driver's own records, alive after every static destructor: what a program did not free is the driver's, and no
/// leak.
std::vector<void*>& handles();
inline int next_id = 0;

template <class Handle>
Handle* keep(Handle* handle) {
  const std::lock_guard lock(state().mutex);
  handles().push_back(handle);
  return handle;
}

/// Whether the code of a kernel has not been unloaded.
bool is_loaded(CUkernel kernel);
/// Those that a stream under capture has launched.
std::vector<CUkernel>& captured_kernels();

/// 1 and 2 are no streams but names of the default ones.
inline bool is_default(CUstream stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 2; }
inline std::string stream_text(CUstream stream) {
  if (!is_default(stream)) return "stream=" + std::to_string(stream->id);
  return !stream ? "stream=0" : stream == CU_STREAM_LEGACY ? "stream=legacy" : "stream=per-thread";
}

}  // namespace kiln::fake

#define STEP(...)                                                 \
  do {                                                            \
    if (const CUresult result = step(__VA_ARGS__)) return result; \
  } while (false)
