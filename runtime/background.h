// runtime/background.h -- work that nobody waits for, on one thread of lowest priority.
//
// The thread exists only while there is work. The process does not end while a job runs (exit_order.h); jobs that have
// not begun by then are forgotten, or done by the thread that ends it. A forked child has an empty queue.
#pragma once

#include <cstdint>
#include <functional>

namespace kiln::runtime {

enum class AtExit : std::uint8_t { forget, finish };

/// Enqueues `job`, which must not throw. False where it will never run: too many are waiting, the process ends, or no
/// thread can be started. A job that is to be finished then runs at once, on the calling thread.
bool run_in_background(std::function<void()> job, AtExit at_exit = AtExit::forget);

/// Returns when nothing is queued or running. What has not begun runs on the calling thread, for the queue's own gets
/// no time on a busy machine. For tests and offline tuning.
void wait_for_background();

}  // namespace kiln::runtime
