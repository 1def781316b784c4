// runtime/loaded_bundles.h -- the bundles of this process: loaded by calls, named by KILN_BUNDLE, embedded; and
// the search for kernels in them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/runtime.h"

namespace kiln::runtime {

/// Adds the bundle of a file, before all others; one of the same path is replaced. Throws IoError.
void load_bundle(const std::string& path);

/// True where kernels are to be looked up in bundles: some are there, and the compile mode reads them. Opens those of
/// KILN_BUNDLE and the embedded ones; what is wrong with them is warned about once and told by find_in_bundles.
bool looks_in_bundles();

/// The targets of all bundles that suit a device of architecture `arch`, the best first.
std::vector<std::string> usable_bundle_targets(const std::string& arch);

/// Why a bundle does not serve a kernel.
struct BundleRejection {
  std::string bundle;         ///< its name; empty where `why` has it, or there is none
  std::string why;            ///< "sm_80: machine code of compute capability 8.x does not run on 9.0"
  bool is_candidate = false;  ///< about an image of this very kernel; else of what the bundle holds in its place
};
std::string to_text(const BundleRejection& rejection);

/// The best image of the kernel for options.arch: machine code of any bundle before PTX of any. A damaged image is
/// warned about once and passed over. `rejections`, if any, gains one per candidate, and per bundle that has none.
std::optional<Binary> find_in_bundles(const KernelSource& source, const CompileOptions& options,
                                      std::vector<BundleRejection>* rejections = nullptr);

/// What a CompileError says of a kernel that is in no bundle and must not be compiled.
std::string missing_kernel_text(const std::string& what, const std::string& arch,
                                const std::vector<std::string>& rejections);

/// Closes all bundles; the next use reads KILN_BUNDLE again, and bundles that are embedded later. For tests.
void reset_bundles();

}  // namespace kiln::runtime
