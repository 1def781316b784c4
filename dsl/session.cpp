// dsl/session.cpp -- thread-local current device and streams.
#include "dsl/session.h"

#include "support/check.h"

namespace kiln::dsl {
namespace {

// initial-exec: one load instead of a call per access. The table is small enough for a dlopened library's static TLS.
thread_local constinit ThreadState state __attribute__((tls_model("initial-exec")));

void check_index(runtime::DeviceId device) {
  if (device.index < 0 || device.index >= max_cuda_devices)
    fail<DeviceError>("cuda:{} is beyond the {} devices that kiln keeps streams for", device.index, max_cuda_devices);
}

}  // namespace

ThreadState& thread_state() { return state; }

runtime::DeviceId current_device() {
  if (!state.has_device) {
    state.device = runtime::default_device();
    state.has_device = true;
  }
  return state.device;
}

void set_current_device(runtime::DeviceId device) {
  runtime::backend(device);  // throws when the device cannot be used
  state.device = device;
  state.has_device = true;
}

runtime::NativeStream current_stream(runtime::DeviceId device) {
  if (device.kind == runtime::DeviceKind::cpu) return nullptr;
  check_index(device);
  return state.streams[device.index];
}

void set_current_stream(runtime::DeviceId device, runtime::NativeStream stream) {
  if (device.kind == runtime::DeviceKind::cpu) return;
  check_index(device);
  state.streams[device.index] = stream == runtime::legacy_stream ? nullptr : stream;  // two names of one stream
}

}  // namespace kiln::dsl
