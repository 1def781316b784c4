// kiln/host.h -- kiln inside another runtime: memory from its allocator, order between its streams and kiln's.
#pragma once

#include <kiln/device.h>

namespace kiln {

/// Memory from the host program. Both functions may be called from any thread, also while static objects are destroyed;
/// they must not throw. A GPU's context is current.
struct Allocator {
  void* context = nullptr;
  /// At least `bytes` (never 0), 256-byte aligned, which work given to `stream` from now on may use; `stream` is null
  /// on the CPU. Null where there is no memory: kiln then finishes its own work and asks once more, before OutOfMemory.
  void* (*allocate)(void* context, std::size_t bytes, int device_index, void* stream) = nullptr;
  /// Takes memory back when the work that `stream` has by now is done; `bytes` as asked for.
  void (*release)(void* context, void* memory, std::size_t bytes, int device_index, void* stream) = nullptr;
};

/// All memory of the devices of a kind comes from `allocator` from here on: arrays, and what kernels need besides.
/// What was allocated before goes back to where it came from. An empty Allocator restores kiln's own. DeviceError for
/// one function without the other.
KILN_API void set_allocator(DeviceKind kind, const Allocator& allocator);

/// Work that `later` gets from here on waits for the work that `earlier` has by now. The host does not wait, and
/// nothing happens where both are the same stream or a device has none (the CPU). The streams may be of different GPUs.
/// DeviceError where only one of them is being captured into a graph, before anything is enqueued.
KILN_API void order(const Stream& earlier, const Stream& later, detail::Where w = detail::Where::current());

}  // namespace kiln
