// runtime/bundle/layout.h -- from the contents of a bundle to its bytes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/bundle/bundle.h"

namespace kiln::runtime::bundle_format {

/// In the order of the file (format.h); every image is that of a kernel.
struct Contents {
  std::vector<const BundleKernel*> kernels;
  std::vector<const BundleTuning*> tunings;
  std::vector<std::pair<const Digest*, std::string_view>> images;
};

/// The file, part by part: what is large is not copied.
struct Layout {
  std::string manifest;                 ///< with the header before it
  std::vector<std::string_view> parts;  ///< of the file: of `manifest` and of the images
};

/// Throws IoError for more bytes than a bundle may have.
Layout lay_out(const Contents& contents);

}  // namespace kiln::runtime::bundle_format
