// dsl/session.h -- what a thread works with: its current device and its current stream of each device.
#pragma once

#include <cstdint>

#include <kiln/detail/bridge.h>

#include "runtime/runtime.h"

namespace kiln::dsl {

/// CUDA devices beyond this many need a larger table here; DeviceError says so.
inline constexpr int max_cuda_devices = 16;

/// Thread-local and trivially constructible, so that a kernel launch reads it without a guard or an allocation.
struct ThreadState {
  bool has_device = false;  ///< false: the process default, runtime::default_device()
  runtime::DeviceId device;
  int only_recording = 0;                                ///< > 0: calls are noted and not run (dsl/usage.h)
  runtime::NativeStream streams[max_cuda_devices] = {};  ///< null: the default stream of the device
};
ThreadState& thread_state();

runtime::DeviceId current_device();
/// Throws DeviceError when the device cannot be used.
void set_current_device(runtime::DeviceId device);

/// The stream that this thread's work on `device` goes to; null on the CPU.
runtime::NativeStream current_stream(runtime::DeviceId device);
void set_current_stream(runtime::DeviceId device, runtime::NativeStream stream);

/// The stream that a launch on `device` is given. DeviceError: it is known to be another device's.
runtime::NativeStream given_stream(const detail::LaunchControl& launch, runtime::DeviceId device);

}  // namespace kiln::dsl
