// runtime/retirement.h -- deleters of borrowed memory, which wait for queued work without holding anybody up.
//
// The last reference to a tensor of another library may go while kernels that read it are still queued. Its deleter
// runs at once if they are done. Otherwise a thread of kiln's asks from time to time, and runs it then: waiting in the
// caller would stall its GPU, and a callback in the stream may not call the driver, which deleters do. A stream that is
// being captured cannot be asked: its uses wait until the capture has ended.
#pragma once

#include "runtime/runtime.h"

namespace kiln::runtime {

/// Takes a storage with a deleter that nobody refers to any more.
void retire(Storage* storage) noexcept;
/// Runs the deleters that may run by now. Called where the host waits anyway.
void run_finished_deleters() noexcept;

}  // namespace kiln::runtime
