// runtime/bundle/choose.h -- which of a kernel's images suits a device. Pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/bundle/bundle.h"

namespace kiln::runtime {

/// What a target's images are; nothing if there is no such target.
std::optional<ImageKind> kind_of_target(std::string_view target);

/// "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64": the CompileOptions::arch that objects for it are compiled with,
/// "x86-64 sse3,ssse3,..."; empty for anything else.
std::string_view cpu_target_features(std::string_view target);

struct BundleChoice {
  std::vector<const BundleKernel*> usable;  ///< the best first; a loader that fails may go on with the next
  std::vector<std::string> rejections;      ///< "sm_80: compiled for compute capability 8.x, the device has 9.0"
  const BundleKernel* chosen() const { return usable.empty() ? nullptr : usable.front(); }
};

/// `arch` is the device's, as in DeviceInfo: "sm_90" or "x86-64 avx2,...". On GPUs: sm_90a, sm_90f, sm_90, then lower
/// minor versions of the same major, the highest first, then PTX, the highest first; on CPUs the widest that the CPU
/// has. Every candidate is either usable or rejected, in the order of `candidates`.
BundleChoice choose(std::span<const BundleKernel> candidates, std::string_view arch, bool allow_ptx);

}  // namespace kiln::runtime
