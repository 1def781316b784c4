// runtime/storage.cpp -- owners of memory: stream-ordered release that waits for every stream that used the memory.
#include <atomic>
#include <new>

#include "runtime/recording.h"
#include "runtime/retirement.h"
#include "runtime/runtime.h"
#include "runtime/storage_uses.h"
#include "runtime/stream_registry.h"
#include "support/log.h"

namespace kiln::runtime {
namespace {

/// Makes `home` wait for all that the stream was given so far.
void wait_for(Backend& backend, const Storage::Uses& use, NativeStream home) {
  if (stream_is_gone(use.stream)) return;  // its work was finished when it was destroyed
  void* const event = backend.record_fence(use.stream, use.context);
  try {
    backend.wait_event(home, event);
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
      wait_for(*storage.backend, *use, home);
    } catch (const std::exception& error) {
      // The memory is still released: a device that cannot record an event runs nothing that could touch it.
      KILN_LOG(1, "while releasing {} bytes: {}", storage.bytes, error.what());
    }
    Storage::Uses* const next = use->next;
    delete use;
    use = next;
  }
}

}  // namespace

Storage* allocate_storage(DeviceId device, std::size_t bytes, NativeStream stream) {
  Backend& owner = backend(device);
  if (Recording* const capture = recording_of(owner, stream)) [[unlikely]]
    return capture->allocate(owner, device, bytes, stream);
  stream_seen(stream);
  auto storage = std::make_unique<Storage>();
  storage->memory = owner.allocate(bytes ? bytes : 1, stream);
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

Storage* borrow_storage(DeviceId device, void* memory, std::size_t bytes, void (*deleter)(void*), void* context) {
  Storage* const storage = borrow_storage(device, memory, bytes);
  storage->stream = no_stream;
  storage->deleter = deleter;
  storage->deleter_context = context;
  return storage;
}

void note_use(Storage& storage, NativeStream stream) {
  // Borrowed memory matters only to its deleter, which must not run before any stream is done, the null stream
  // included.
  if (storage.borrowed ? !storage.deleter || storage.device.kind == DeviceKind::cpu : stream == storage.stream) return;
  stream = ordering_stream(stream);
  if (!storage.borrowed && stream == ordering_stream(storage.stream)) return;
  std::atomic_ref<Storage::Uses*> head(storage.uses);
  for (const Storage::Uses* use = head.load(std::memory_order_acquire); use; use = use->next)
    if (use->stream == stream) return;
  stream_seen(stream);
  auto* const use =
      new Storage::Uses{stream, storage.backend->context_of(stream), head.load(std::memory_order_relaxed)};
  while (!head.compare_exchange_weak(use->next, use, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

void destroy_storage(Storage* storage) noexcept {
  if (!storage) return;
  if (recording) [[unlikely]]
    return recording->defer(storage);
  if (storage->deleter) return retire(storage);
  if (!storage->borrowed) {
    const NativeStream home = stream_is_gone(storage->stream) ? nullptr : ordering_stream(storage->stream);
    finish_uses(*storage, home);
    if (storage->memory) storage->backend->release(storage->memory, home);
  }
  delete storage;
}

}  // namespace kiln::runtime
