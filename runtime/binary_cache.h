// runtime/binary_cache.h -- what tests and tools ask of the binary caches beyond runtime.h.
#pragma once

namespace kiln::runtime {

/// Forgets all binaries in memory, counters and the opened disk cache; the next use reads the settings again. For
/// tests: binaries in use stay valid, compiles in progress finish for those who wait.
void reset_binary_cache();

}  // namespace kiln::runtime
