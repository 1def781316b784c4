// runtime/host_allocator.h -- memory of the host program's own allocator in place of kiln's (kl::set_allocator).
#pragma once

#include "runtime/runtime.h"

namespace kiln::runtime {

/// One for all devices of a kind. Both functions may be called from any thread, and at exit; a GPU's context is
/// current.
struct HostAllocator {
  void* context = nullptr;
  /// Memory of at least `bytes`, 256-byte aligned, usable in the order of `stream`; null where there is none.
  void* (*allocate)(void* context, std::size_t bytes, int device, NativeStream stream) = nullptr;
  void (*release)(void* context, void* memory, std::size_t bytes, int device, NativeStream stream) = nullptr;
};

/// Null functions restore kiln's own. What an allocator gave goes back to it, whichever is set by then.
void set_host_allocator(DeviceKind kind, const HostAllocator& allocator);
bool has_host_allocator(DeviceKind kind);

/// What a host allocator gave and still has out, where one is set. OutOfMemory when it refuses, also after `make_room`,
/// which says whether anything was done that makes a second try worth it.
void* take_from_host(DeviceId device, std::size_t bytes, NativeStream stream);
[[noreturn]] void fail_host_allocator(DeviceId device, std::size_t bytes);
template <class MakeRoom>
void* allocate_from_host(DeviceId device, std::size_t bytes, NativeStream stream, MakeRoom make_room) {
  if (void* const memory = take_from_host(device, bytes, stream)) return memory;
  if (make_room())
    if (void* const memory = take_from_host(device, bytes, stream)) return memory;
  fail_host_allocator(device, bytes);
}

/// Whether one has memory out that it gave; in most programs none has.
bool gave_any_host_allocator();
/// False for memory that no host allocator gave.
bool release_to_host(DeviceId device, void* memory, NativeStream stream) noexcept;

}  // namespace kiln::runtime
