// runtime/tool_bundle_build.h -- what `kiln bundle build` asks of the library: records in, a bundle out.
//
// Exported from libkiln.so for the kiln command alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <kiln/dtype.h>

namespace kiln::tool {

struct BundleRequest {
  std::vector<std::string> records;  ///< paths
  std::vector<std::string> archs;    ///< "sm_80", "sm_90a": machine code
  std::vector<std::string> ptx;      ///< "sm_80" or "compute_80": PTX, which later GPUs compile for themselves
  std::vector<std::string> cpus;     ///< "x86-64-v3", "aarch64"
  std::string output;
  unsigned jobs = 0;         ///< compiles at a time; 0: one per core
  std::string tunings = {};  ///< lines of kl::tuning::export_records(), for any devices
};

struct BundleBuilt {
  std::uint64_t kernels = 0, images = 0, bytes = 0;
  std::uint64_t unfinished = 0;    ///< records of killed processes that were skipped
  std::vector<std::string> notes;  ///< targets for which nothing was recorded, and the like
};

/// Compiles every recorded kernel for every target that its record names, in parallel and with a progress bar, and
/// writes the bundle: the same bytes for the same records, targets, compilers and kiln. Needs no GPU. Throws IoError
/// for records and files, DeviceError for a missing compiler or an unknown target, CompileError with the kernel and the
/// line that used it; then no file is written.
KILN_API BundleBuilt build_bundle(const BundleRequest& request);

}  // namespace kiln::tool
