// runtime/stream_registry.cpp -- the set of handles of destroyed streams.
#include "runtime/stream_registry.h"

#include <atomic>
#include <unordered_set>

#include "support/fork_safe.h"

namespace kiln::runtime {
namespace {

struct Registry {
  std::atomic<bool> any{false};  // most programs never destroy a stream: they pay one load
  ForkSafeMutex mutex;
  std::unordered_set<NativeStream> gone;
};

constinit Leaked<Registry> the_registry;  // arrays with static storage are released during exit
Registry& registry() { return the_registry.get(); }

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
