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
  std::vector<std::string> ptx;   ///< "sm_80", "compute_80" or "ptx_80": PTX, which later GPUs compile for themselves
  std::vector<std::string> cpus;  ///< "x86-64-v3", "aarch64"
  std::string output;
  unsigned jobs = 0;                      ///< compiles at a time; 0: one per core
  std::vector<std::string> tunings = {};  ///< paths of what kl::tuning::export_records() gave, for any devices
};

/// A *record* is one kernel as KILN_RECORD noted it, with the targets that it is for; a *kernel* of a bundle has an
/// identity; an *image* is a kernel compiled for one target.
struct BundleBuilt {
  std::uint64_t records = 0, kernels = 0, images = 0, bytes = 0;
  std::uint64_t unfinished = 0;    ///< records of killed processes that were skipped
  std::vector<std::string> notes;  ///< what may surprise
};

/// What makes no sense in the request, before any file is read: no target or an unknown one, an output that would
/// replace an input. "" if nothing does.
KILN_API std::string problem_of(const BundleRequest& request);

/// Compiles every recorded kernel for every target that its record names, in parallel and with a progress bar, and
/// writes the bundle: the same bytes for the same records, targets, compilers and kiln. Needs no GPU. Throws IoError
/// for records and files, DeviceError for a missing compiler or an unknown target, CompileError with the kernel and the
/// line that used it; then no file is written. A target for which nothing is recorded is an IoError, too.
KILN_API BundleBuilt build_bundle(const BundleRequest& request);

}  // namespace kiln::tool
