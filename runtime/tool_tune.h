// runtime/tool_tune.h -- `kiln tune TRACE`: measures the kernels that a recorded program noted for it.
//
// Exported from libkiln.so for the kiln command alone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <kiln/dtype.h>

namespace kiln::tool {

struct OfflineTuning {
  std::string file, name;  ///< of the kernel
  std::string problem;     ///< why it was not tuned; empty if it was
  bool serious = false;    ///< the problem is one of the file or of the device, not of the kernel
  bool was_known = false;  ///< by an earlier result, which stays
  bool is_kept = true;     ///< false: the result could not be written
  std::string choice, heuristic;
  double choice_us = 0, heuristic_us = 0;
};
/// All jobs beside `trace`, in the order of their names, on the default device; `take` is called after each. Results
/// are kept beside the cache. Kernels with a result are left out, unless `again`. DeviceError where there is no GPU,
/// IoError where there are no jobs, or no result could be kept.
KILN_API void tune_offline(
    const std::string& trace, bool again,
    const std::function<void(const OfflineTuning& result, std::size_t done, std::size_t all)>& take);

}  // namespace kiln::tool
