// runtime/background.h -- work that nobody waits for, on one thread of lowest priority.
//
// The thread exists only while there is work. At exit, jobs that have not begun are forgotten, and the one that runs is
// given up to 20 s: compilers must not be torn down under it. A forked child has an empty queue.
#pragma once

#include <functional>

namespace kiln::runtime {

/// Enqueues `job`, which must not throw. False where it will never run: too many are waiting, the process exits, or no
/// thread can be started.
bool run_in_background(std::function<void()> job);

/// Waits until nothing is queued or running. For tests and offline tuning.
void wait_for_background();

}  // namespace kiln::runtime
