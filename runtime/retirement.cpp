// runtime/retirement.cpp -- the list of deleters that wait, and the thread that asks for them while there are any.
#include "runtime/retirement.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "runtime/detached_thread.h"
#include "runtime/storage_uses.h"
#include "runtime/stream_registry.h"
#include "support/log.h"

namespace kiln::runtime {
namespace {

using namespace std::chrono_literals;
constexpr auto first_pause = 50us;  // the time of a small kernel
constexpr auto longest_pause = 5ms;
constexpr auto patience = 2s;  // at exit: for a deleter that runs

struct Waiting {
  std::mutex mutex;
  std::condition_variable changed;
  Storage* first = nullptr;  // linked by Storage::next: no path of a release allocates
  bool watched = false;      // by the thread
  bool running = false;      // a deleter of the thread's
  bool stopping = false;
  std::atomic<bool> any{false};
};

/// Replaced in a forked child, which has no such thread and whose GPU memory is the parent's; never destroyed.
constinit std::atomic<Waiting*> current = nullptr;

/// From here on the process ends: what deleters would call may be gone, so none is begun.
void stop() {
  Waiting& w = *current;
  std::unique_lock lock(w.mutex);
  w.stopping = true;
  w.changed.notify_all();
  w.changed.wait_for(lock, patience, [&w] { return !w.running; });
}

Waiting& waiting() {
  [[maybe_unused]] static const bool made = [] {
    current = new Waiting;
    pthread_atfork([] { current.load()->mutex.lock(); }, [] { current.load()->mutex.unlock(); },
                   [] { current = new Waiting; });
    std::atexit(stop);
    return true;
  }();
  return *current;
}

/// The producer's later work must not overwrite what kiln still reads.
void hold_producer(Storage& storage, void* fence) {
  if (storage.has_producer && !storage.backend->is_capturing(storage.producer))
    storage.backend->wait_event(storage.producer, fence);
}

/// Whether the stream has passed its last use of the memory. The first time that it can be asked, its fence is
/// recorded.
bool is_finished(Storage& storage, Storage::Uses& use) noexcept {
  Backend& backend = *storage.backend;
  try {
    if (!use.fence) {
      if (stream_is_gone(use.stream)) return true;  // its work was finished when it was destroyed
      if (backend.is_capturing(use.stream)) return false;
      use.fence = backend.record_fence(use.stream, use.context);
      hold_producer(storage, use.fence);
    }
    return backend.is_done(use.fence);
  } catch (const std::exception& error) {
    // A device that answers no question runs nothing that could touch the memory.
    KILN_LOG(1, "while releasing {} borrowed bytes: {}", storage.bytes, error.what());
    return true;
  }
}

bool is_finished(Storage& storage) noexcept {
  for (Storage::Uses** link = &storage.uses; *link;) {
    Storage::Uses* const use = *link;
    if (!is_finished(storage, *use)) {
      link = &use->next;
      continue;
    }
    *link = use->next;
    if (use->fence) storage.backend->destroy_event(use->fence);
    delete use;
  }
  return !storage.uses;
}

void tell_owner(Storage* storage) noexcept {
  storage->deleter(storage->deleter_context);
  delete storage;
}

/// Takes what is finished off the list, in order. The mutex is held.
Storage* take_finished(Waiting& w) noexcept {
  Storage* finished = nullptr;
  Storage** last = &finished;
  for (Storage** link = &w.first; *link;) {
    Storage* const storage = *link;
    if (!is_finished(*storage)) {
      link = &storage->next;
      continue;
    }
    *link = std::exchange(storage->next, nullptr);
    *last = storage;
    last = &storage->next;
  }
  if (!w.first) w.any = false;
  return finished;
}

void tell_owners(Storage* finished) noexcept {
  while (finished) {
    Storage* const next = finished->next;
    tell_owner(finished);
    finished = next;
  }
}

void watch() {
  pthread_setname_np(pthread_self(), "kiln-release");
  Waiting& w = *current;
  std::unique_lock lock(w.mutex);
  auto pause = std::chrono::microseconds(first_pause);
  const Backend* relaxed = nullptr;
  while (w.first && !w.stopping) {
    if (w.first->backend != relaxed) {
      w.first->backend->relax_captures();  // deleters ask drivers what would end a capture of the host's threads
      relaxed = w.first->backend;
    }
    Storage* const finished = take_finished(w);
    if (!finished) {
      w.changed.wait_for(lock, pause);
      pause = std::min<std::chrono::microseconds>(2 * pause, longest_pause);
      continue;
    }
    pause = first_pause;
    w.running = true;
    lock.unlock();
    tell_owners(finished);  // may take other locks of the host, and drop arrays of kiln's
    lock.lock();
    w.running = false;
    w.changed.notify_all();
  }
  w.watched = false;
}

}  // namespace

void retire(Storage* storage) noexcept {
  if (is_finished(*storage)) {
    tell_owner(storage);
    return;
  }
  Waiting& w = waiting();
  const std::lock_guard lock(w.mutex);
  storage->next = std::exchange(w.first, storage);
  w.any = true;
  if (w.stopping || w.watched) return;
  w.watched = start_detached(watch);  // without a thread the next release or wait asks
}

void run_finished_deleters() noexcept {
  Waiting* const w = current;
  if (!w || !w->any.load(std::memory_order_relaxed)) return;
  Storage* finished = nullptr;
  {
    const std::lock_guard lock(w->mutex);
    if (!w->stopping) finished = take_finished(*w);
  }
  tell_owners(finished);
}

}  // namespace kiln::runtime
