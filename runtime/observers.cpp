// runtime/observers.cpp -- whether a profiling tool is attached.
#include "runtime/observers.h"

#include "runtime/cuda_interface.h"

#include "support/fork_safe.h"

namespace kiln::runtime {

void find_tool() {
  static constinit ForkSafeMutex mutex;
  static constinit std::atomic<bool> is_done{false};
  if (is_done.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex);
  if (is_done.load(std::memory_order_relaxed)) return;
  if (cuda::open_ranges()) observers.fetch_or(tool_attached, std::memory_order_relaxed);
  is_done.store(true, std::memory_order_release);
}

}  // namespace kiln::runtime
