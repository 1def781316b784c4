// runtime/storage.cpp -- owners of memory: stream-ordered release that waits for every stream that used the memory.
#include <atomic>
#include <new>

#include "runtime/device_allocator.h"
#include "runtime/recording.h"
#include "runtime/runtime.h"
#include "runtime/stream_registry.h"
#include "support/check.h"
#include "support/log.h"

namespace kiln::runtime {

/// A stream other than the home stream that used the memory. Nodes are pushed without locks; the list is short.
struct Storage::Uses {
  NativeStream stream = nullptr;
  Uses* next = nullptr;
};

namespace {

/// Makes `home` wait for all that `stream` was given so far; without a home stream, the calling thread waits.
void wait_for(Backend& backend, NativeStream stream, NativeStream home, bool home_waits) {
  if (stream_is_gone(stream)) return;  // its work was finished when it was destroyed
  void* const event = backend.create_event();
  try {
    backend.record_event(event, stream);
    if (home_waits) {
      backend.wait_event(home, event);
    } else {
      backend.synchronize_event(event);
    }
  } catch (...) {
    backend.destroy_event(event);
    throw;
  }
  backend.destroy_event(event);
}

void finish_uses(Storage& storage, NativeStream home) noexcept {
  Storage::Uses* use = storage.uses;
  while (use) {
    try {
      wait_for(*storage.backend, use->stream, home, !storage.borrowed);
    } catch (const std::exception& error) {
      // The memory is still released: a device that cannot record an event runs nothing that could touch it.
      KILN_LOG(1, "while releasing {} bytes: {}", storage.bytes, error.what());
    }
    Storage::Uses* const next = use->next;
    delete use;
    use = next;
  }
}

constinit std::atomic<const DeviceAllocator*> host_allocator{nullptr};

void give_back(const Storage& storage, NativeStream home) noexcept {
  if (!storage.allocator) return storage.backend->release(storage.memory, home);
  try {
    storage.backend->bind_thread();
  } catch (const std::exception& error) {
    KILN_LOG(1, "while releasing {} bytes of the host: {}", storage.bytes, error.what());
  }
  storage.allocator->release(storage.device, storage.memory, storage.bytes ? storage.bytes : 1, home);
}

void* allocate_from(const DeviceAllocator& allocator, Backend& owner, DeviceId device, std::size_t bytes,
                    NativeStream stream) {
  owner.bind_thread();
  void* const memory = allocator.allocate(device, bytes, stream);
  if (!memory) fail<OutOfMemory>("the host's allocator has no {} bytes", bytes);
  return memory;
}

}  // namespace

void set_device_allocator(const DeviceAllocator* allocator) noexcept {
  host_allocator.store(allocator, std::memory_order_release);
}
const DeviceAllocator* device_allocator() noexcept { return host_allocator.load(std::memory_order_acquire); }

Storage* allocate_storage(DeviceId device, std::size_t bytes, NativeStream stream) {
  Backend& owner = backend(device);
  if (Recording* const capture = recording_of(owner, stream)) [[unlikely]]
    return capture->allocate(owner, device, bytes, stream);
  stream_seen(stream);
  auto storage = std::make_unique<Storage>();
  const std::size_t wanted = bytes ? bytes : 1;
  storage->allocator = device_allocator();
  storage->memory = storage->allocator ? allocate_from(*storage->allocator, owner, device, wanted, stream)
                                       : owner.allocate(wanted, stream);
  storage->bytes = bytes;
  storage->device = device;
  storage->backend = &owner;
  storage->stream = stream;
  return storage.release();
}

Storage* borrow_storage(DeviceId device, void* memory, std::size_t bytes) {
  auto storage = std::make_unique<Storage>();
  storage->memory = memory;
  storage->bytes = bytes;
  storage->device = device;
  storage->backend = &backend(device);
  storage->borrowed = true;
  return storage.release();
}

void note_use(Storage& storage, NativeStream stream) {
  // Borrowed memory matters only to its deleter, which must not run before any stream is done, the null stream
  // included.
  if (storage.borrowed ? !storage.deleter || storage.device.kind == DeviceKind::cpu : stream == storage.stream) return;
  std::atomic_ref<Storage::Uses*> head(storage.uses);
  for (const Storage::Uses* use = head.load(std::memory_order_acquire); use; use = use->next)
    if (use->stream == stream) return;
  stream_seen(stream);
  auto* const use = new Storage::Uses{stream, head.load(std::memory_order_relaxed)};
  while (!head.compare_exchange_weak(use->next, use, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

void destroy_storage(Storage* storage) noexcept {
  if (!storage) return;
  if (recording) [[unlikely]]
    return recording->defer(storage);
  const NativeStream home = !storage->borrowed && stream_is_gone(storage->stream) ? nullptr : storage->stream;
  finish_uses(*storage, home);
  if (!storage->borrowed && storage->memory) give_back(*storage, home);
  if (storage->deleter) storage->deleter(storage->deleter_context);
  delete storage;
}

}  // namespace kiln::runtime
