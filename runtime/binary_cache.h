// runtime/binary_cache.h -- what tests and tools ask of the binary caches beyond runtime.h.
#pragma once

#include "runtime/runtime.h"

namespace kiln::runtime {

/// Forgets all binaries in memory, counters and the opened disk cache; the next use reads the settings again. For
/// tests: binaries in use stay valid, compiles in progress finish for those who wait.
void reset_binary_cache();

/// Replaces compile() behind cached_binary(), so that tests need no compiler. Null restores.
using CompileFunction = Binary (*)(const KernelSource& source, const CompileOptions& options);
void use_compiler_for_tests(CompileFunction function);

}  // namespace kiln::runtime
