// runtime/tuning_offline.h -- measures a tuning job on memory of its own.
#pragma once

#include <optional>
#include <string>

#include "runtime/runtime.h"
#include "runtime/tuning_job.h"

namespace kiln::runtime {

/// The same trial as online, run to its end: compiles the candidates, allocates what the arguments point to, and
/// waits for each run. None, with the reason, where the kernel is too short to be tuned or does not run here. Throws
/// what devices throw.
std::optional<TuningRecord> tune_offline(const TuningJob& job, Backend& backend, std::string& why_not);

}  // namespace kiln::runtime
