// runtime/recorder.h -- KILN_RECORD: notes every kernel that this process uses in a file.
#pragma once

#include "runtime/record_file.h"

namespace kiln::runtime {

/// True while KILN_RECORD names a file and it can be written.
bool is_recording_kernels();

/// Appends the kernel to the file, unless it holds it already for the same targets. The identity is filled in here. Any
/// number of threads and processes may append to one file at once. An I/O error, or a file that is no record, is warned
/// about once and ends the recording.
void record_kernel(RecordedKernel kernel);

/// Forgets what was recorded; the next use reads KILN_RECORD again. For tests.
void reset_recorder();

}  // namespace kiln::runtime
