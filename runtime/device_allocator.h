// runtime/device_allocator.h -- memory from the host program instead of kiln's own pools.
#pragma once

#include "runtime/runtime.h"

namespace kiln::runtime {

/// May be called from any thread, and at exit; with a GPU's context current.
class DeviceAllocator {
 public:
  virtual ~DeviceAllocator() = default;
  /// `bytes` bytes aligned to 256, for work on `stream` from here on; null where there are none.
  virtual void* allocate(DeviceId device, std::size_t bytes, NativeStream stream) const noexcept = 0;
  /// They may be used again when the work given to `stream` so far is done.
  virtual void release(DeviceId device, void* memory, std::size_t bytes, NativeStream stream) const noexcept = 0;
};

/// For all memory of the devices of a kind from here on, counters of kernels included; null: kiln's own. One that was
/// set must live as long as the process, for what it gave goes back to it.
void set_device_allocator(DeviceKind kind, const DeviceAllocator* allocator) noexcept;
/// The same for devices of all kinds.
void set_device_allocator(const DeviceAllocator* allocator) noexcept;
const DeviceAllocator* device_allocator(DeviceKind kind) noexcept;

/// Memory from an allocator, which release_to_host() gives back to it; null where it has none. DeviceError for an
/// address that is not aligned.
void* take_from_host(const DeviceAllocator& allocator, DeviceId device, std::size_t bytes, NativeStream stream);
[[noreturn]] void fail_host_allocator(DeviceId device, std::size_t bytes);
/// The same with a second try where `make_room` says that it did anything that makes one worth it; else OutOfMemory.
template <class MakeRoom>
void* allocate_from_host(const DeviceAllocator& allocator, DeviceId device, std::size_t bytes, NativeStream stream,
                         MakeRoom make_room) {
  if (void* const memory = take_from_host(allocator, device, bytes, stream)) return memory;
  if (make_room())
    if (void* const memory = take_from_host(allocator, device, bytes, stream)) return memory;
  fail_host_allocator(device, bytes);
}

/// Whether a host's allocator has memory out that it gave; in most programs none has.
bool gave_any_host_allocator() noexcept;
/// False for memory that no host allocator gave.
bool release_to_host(DeviceId device, void* memory, NativeStream stream) noexcept;

}  // namespace kiln::runtime
