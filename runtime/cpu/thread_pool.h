// runtime/cpu/thread_pool.h -- runs the units of one kernel on several threads; the caller takes part.
//
// Workers start at the first parallel call and are never joined. A call made while the pool is busy, or from inside a
// kernel, runs on the caller alone. After fork() the child starts a pool of its own.
#pragma once

#include <cstdint>

namespace kiln::runtime {

/// body(context, begin, end) over disjoint ranges that cover [0, units). Must not throw.
using RangeBody = void (*)(void* context, std::int64_t begin, std::int64_t end);

/// Splits only if every thread gets at least `grain` units. False where the host's threads did not run all of them.
bool parallel_ranges(std::int64_t units, std::int64_t grain, RangeBody body, void* context) noexcept;

/// KILN_THREADS, else the cores that this process may use.
int pool_threads();
/// For tests: forgets the pool, so that the next call reads the settings again.
void reset_thread_pool();

}  // namespace kiln::runtime
