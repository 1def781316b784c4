// dsl/session.cpp -- thread-local current device and streams.
#include "dsl/session.h"

#include "dsl/shapes.h"
#include "dsl/specializations.h"
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

runtime::NativeStream given_stream(const detail::LaunchControl& launch, runtime::DeviceId device) {
  const runtime::DeviceId of{static_cast<runtime::DeviceKind>(launch.stream_kind), launch.stream_index};
  if (launch.stream_kind < 0 || of == device) [[likely]]
    return launch.stream;
  fail<DeviceError>(
      "the launch is given a stream of {}, but its arrays are on {}{}; give a stream of that device, or "
      "move the arrays with .to(device)",
      device_text(of), device_text(device), place(launch.where));
}

}  // namespace kiln::dsl
