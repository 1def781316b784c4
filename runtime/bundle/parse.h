// runtime/bundle/parse.h -- from the bytes of a file, which may be any, to the contents of a bundle.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/bundle/bundle.h"
#include "runtime/bundle/format.h"

namespace kiln::runtime::bundle_format {

/// Views are of the file.
struct Parsed {
  std::vector<Blob> blobs;
  std::vector<BundleKernel> kernels;
  std::vector<BundleTuning> tunings;
};

/// "" and everything but the images checked: only what the writer would write in the same way is accepted. Else what is
/// wrong, and what to do.
std::string parse(std::string_view file, Parsed& parsed);

/// "" or what is wrong with the bytes of a blob of a parsed file and the zeros behind it.
std::string blob_problem(std::string_view file, const Blob& blob);

/// "" or why an image is not what a kernel's target says; looks at its first bytes only.
std::string image_problem(const BundleKernel& kernel, std::string_view image);

}  // namespace kiln::runtime::bundle_format
