// runtime/device_allocator.h -- memory of results and temporaries from the host program instead of kiln's own pools.
#pragma once

#include "runtime/runtime.h"

namespace kiln::runtime {

/// Called with the device's context current.
class DeviceAllocator {
 public:
  virtual ~DeviceAllocator() = default;
  /// `bytes` bytes aligned to 256, for work on `stream` from here on; null where there are none.
  virtual void* allocate(DeviceId device, std::size_t bytes, NativeStream stream) const noexcept = 0;
  /// They may be used again when the work given to `stream` so far is done.
  virtual void release(DeviceId device, void* memory, std::size_t bytes, NativeStream stream) const noexcept = 0;
};

/// For storages allocated from here on; null: kiln's own. One that was set must live as long as the process, for what
/// it gave goes back to it.
void set_device_allocator(const DeviceAllocator* allocator) noexcept;
const DeviceAllocator* device_allocator() noexcept;

}  // namespace kiln::runtime
