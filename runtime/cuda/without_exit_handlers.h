// runtime/cuda/without_exit_handlers.h -- loads NVRTC so that exit destroys nothing of it.
//
// NVRTC registers thousands of handlers of exit while it is loaded, and some more at its first use. exit runs the
// latest handler first, so a process that ends just then would destroy what another thread is constructing, before any
// handler of ours. Nothing in NVRTC needs to be destroyed: the memory goes with the process.
#pragma once

namespace kiln::runtime::cuda {

/// While one lives, a library that this thread loads for the first time is bound to a __cxa_atexit that does nothing,
/// before its constructors run. One at a time: under a lock.
class WithoutExitHandlers {
 public:
  WithoutExitHandlers();
  WithoutExitHandlers(const WithoutExitHandlers&) = delete;
  WithoutExitHandlers& operator=(const WithoutExitHandlers&) = delete;
  ~WithoutExitHandlers();
  /// Libraries that were bound so. 0 where the library was loaded before, or the system does not allow it.
  static int bound();
};

}  // namespace kiln::runtime::cuda
