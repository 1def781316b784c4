// dsl/c/scopes.h -- the thread's device and stream set for a scope, as calls name them.
#pragma once

#include "dsl/session.h"

namespace kiln::dsl::c {

/// Makes a device current; for calls without operands on it.
class DeviceScope {
 public:
  explicit DeviceScope(runtime::DeviceId device) : previous_(current_device()) {
    if (!(device == previous_)) set_current_device(device);
  }
  ~DeviceScope() {
    thread_state().device = previous_;
    thread_state().has_device = true;
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  runtime::DeviceId previous_;
};

/// Sends the work of this thread on a device to a stream.
class StreamScope {
 public:
  StreamScope(runtime::DeviceId device, void* stream) : device_(device), previous_(current_stream(device)) {
    set_current_stream(device, stream);
  }
  ~StreamScope() {
    if (device_.kind != runtime::DeviceKind::cpu) thread_state().streams[device_.index] = previous_;
  }
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  runtime::DeviceId device_;
  runtime::NativeStream previous_;
};

}  // namespace kiln::dsl::c
