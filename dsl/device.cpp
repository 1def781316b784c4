// dsl/device.cpp -- devices, streams and events behind the public headers.
#include <algorithm>
#include <vector>

#include <kiln/detail/bridge.h>

#include "dsl/array_memory.h"
#include "dsl/out_of_memory.h"
#include "dsl/session.h"
#include "runtime/recording.h"
#include "runtime/retirement.h"
#include "support/check.h"
#include "support/fork_safe.h"

namespace kiln::dsl {
namespace {

using runtime::DeviceId;
using runtime::DeviceInfo;
using runtime::DeviceKind;
using runtime::NativeStream;

DeviceId device_id(int kind, int index) { return {static_cast<DeviceKind>(kind), index}; }

/// The device's entry in the list, or null.
const DeviceInfo* find_device(DeviceId device) {
  for (const DeviceInfo& info : runtime::devices()) {
    if (info.id == device) return &info;
  }
  return nullptr;
}

/// Empty when the device is there.
std::string missing_reason(DeviceId device) {
  std::string reason = runtime::unavailable_reason(device.kind);
  if (!reason.empty() || find_device(device)) return reason;
  const auto& all = runtime::devices();
  const auto count =
      std::count_if(all.begin(), all.end(), [&](const DeviceInfo& d) { return d.id.kind == device.kind; });
  const char* kind = device.kind == DeviceKind::cpu ? "cpu" : "cuda";
  return fmt::format("there is no {}:{} here; this machine has {} {} device{}", kind, device.index, count, kind,
                     count == 1 ? "" : "s");
}

const DeviceInfo& info_of(DeviceId device) {
  const DeviceInfo* info = find_device(device);
  if (!info) fail<DeviceError>("{}", missing_reason(device));
  return *info;
}

/// Streams made for kl::Stream.
struct StreamPool {
  struct Entry {
    DeviceId device;
    NativeStream stream = nullptr;
    bool in_use = false;
  };
  ForkSafeMutex mutex;
  std::vector<Entry> entries;
};

constinit Leaked<StreamPool> the_pool;
StreamPool& pool() { return the_pool.get(); }

NativeStream take_stream(DeviceId device) {
  runtime::Backend& backend = runtime::backend(device);
  if (device.kind == DeviceKind::cpu) return nullptr;
  StreamPool& streams = pool();
  const std::lock_guard lock(streams.mutex);
  for (StreamPool::Entry& entry : streams.entries) {
    if (entry.in_use || entry.device != device) continue;
    entry.in_use = true;
    return entry.stream;
  }
  streams.entries.reserve(streams.entries.size() + 1);
  streams.entries.push_back({device, backend.create_stream(), true});
  return streams.entries.back().stream;
}

void give_stream_back(DeviceId device, NativeStream stream) {
  StreamPool& streams = pool();
  const std::lock_guard lock(streams.mutex);
  for (StreamPool::Entry& entry : streams.entries) {
    if (entry.device == device && entry.stream == stream) entry.in_use = false;
  }
}

void check_not_recording(DeviceId device) {
  runtime::Backend& backend = runtime::backend(device);
  if (runtime::recording_of(backend, current_stream(device)))
    fail<DeviceError>("[synchronize] inside kl::capture: recorded work does not run before the graph is launched");
}

void synchronize_all(DeviceId device) {
  check_not_recording(device);
  runtime::Backend& backend = runtime::backend(device);
  std::vector<NativeStream> waiting = {nullptr, current_stream(device)};
  StreamPool& streams = pool();
  {
    const std::lock_guard lock(streams.mutex);
    for (const StreamPool::Entry& entry : streams.entries) {
      if (entry.device == device) waiting.push_back(entry.stream);
    }
  }
  std::sort(waiting.begin(), waiting.end());
  waiting.erase(std::unique(waiting.begin(), waiting.end()), waiting.end());
  for (const NativeStream stream : waiting) backend.synchronize(stream);
  runtime::run_finished_deleters();
}

}  // namespace
}  // namespace kiln::dsl

namespace kiln::detail {

using dsl::device_id;
using runtime::backend;

void current_device(int& kind, int& index) {
  const runtime::DeviceId device = dsl::current_device();
  kind = static_cast<int>(device.kind);
  index = device.index;
}

void set_current_device(int kind, int index, Where where) try {
  dsl::backend_for(device_id(kind, index), "DeviceGuard", where);
  dsl::set_current_device(device_id(kind, index));
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("choose a device", where);
}

int device_count() try { return static_cast<int>(runtime::devices().size()); } catch (const std::bad_alloc&) {
  dsl::fail_without_memory("list devices");
}

void device_at(int position, int& kind, int& index) {
  const auto& all = runtime::devices();
  KILN_INTERNAL_CHECK(position >= 0 && position < device_count(), "device {} of {}", position, all.size());
  kind = static_cast<int>(all[static_cast<std::size_t>(position)].id.kind);
  index = all[static_cast<std::size_t>(position)].id.index;
}

bool device_available(int kind, int index) noexcept {
  try {
    return dsl::missing_reason(device_id(kind, index)).empty();
  } catch (...) {  // out of memory: nothing is available
    return false;
  }
}

const char* device_unavailable_reason(int kind, int index) try {
  thread_local std::string reason;
  reason = dsl::missing_reason(device_id(kind, index));
  return reason.c_str();
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("describe a device");
}

const char* device_name(int kind, int index) try {
  return dsl::info_of(device_id(kind, index)).name.c_str();
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("describe a device");
}

const char* device_arch(int kind, int index) try {
  return dsl::info_of(device_id(kind, index)).arch.c_str();
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("describe a device");
}

void synchronize_device(int kind, int index) try {
  dsl::synchronize_all(device_id(kind, index));
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("synchronize a device");
}

void* create_stream(int kind, int index, Where where) try {
  dsl::backend_for(device_id(kind, index), "Stream", where);
  return dsl::take_stream(device_id(kind, index));
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("make a stream", where);
}

void destroy_stream(int kind, int index, void* stream) noexcept {
  dsl::give_stream_back(device_id(kind, index), stream);
}

void synchronize_stream(int kind, int index, void* stream) try {
  dsl::check_not_recording(device_id(kind, index));
  backend(device_id(kind, index)).synchronize(stream);
  runtime::run_finished_deleters();
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("synchronize a stream");
}

void* current_stream(int kind, int index) { return dsl::current_stream(device_id(kind, index)); }

void set_current_stream(int kind, int index, void* stream) { dsl::set_current_stream(device_id(kind, index), stream); }

void* create_event(int kind, int index, Where where) try {
  return dsl::backend_for(device_id(kind, index), "Event", where).create_event();
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("make an event", where);
}

void destroy_event(int kind, int index, void* event) noexcept {
  if (event) backend(device_id(kind, index)).destroy_event(event);
}

void record_event(int kind, int index, void* event, void* stream) {
  backend(device_id(kind, index)).record_event(event, stream);
}

void wait_event(int kind, int index, void* stream, void* event) {
  backend(device_id(kind, index)).wait_event(stream, event);
}

void synchronize_event(int kind, int index, void* event) { backend(device_id(kind, index)).synchronize_event(event); }

float elapsed_ms(int kind, int index, void* begin, void* end) {
  return backend(device_id(kind, index)).elapsed_ms(begin, end);
}

}  // namespace kiln::detail
