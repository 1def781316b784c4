// runtime/stream_registry.cpp -- the set of handles of destroyed streams.
#include "runtime/stream_registry.h"

#include <atomic>
#include <mutex>
#include <unordered_set>

namespace kiln::runtime {
namespace {

struct Registry {
  std::atomic<bool> any{false};  // most programs never destroy a stream: they pay one load
  std::mutex mutex;
  std::unordered_set<NativeStream> gone;
};

// Never destroyed: arrays with static storage are released during exit.
Registry& registry() {
  static Registry* const instance = new Registry;
  return *instance;
}

}  // namespace

void stream_created(NativeStream stream) { stream_seen(stream); }

void stream_destroyed(NativeStream stream) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  r.gone.insert(stream);
  r.any.store(true, std::memory_order_release);
}

void stream_seen(NativeStream stream) {
  Registry& r = registry();
  if (!r.any.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(r.mutex);
  r.gone.erase(stream);
}

bool stream_is_gone(NativeStream stream) {
  Registry& r = registry();
  if (!r.any.load(std::memory_order_acquire)) return false;
  const std::lock_guard lock(r.mutex);
  return r.gone.contains(stream);
}

}  // namespace kiln::runtime
