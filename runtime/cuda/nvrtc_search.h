// runtime/cuda/nvrtc_search.h -- where NVRTC may be: KILN_NVRTC, the loader's path, CUDA toolkits, Python packages.
#pragma once

#include <string>
#include <vector>

namespace kiln::runtime::cuda {

/// The roots of the search, separate from the process so that tests can invent a machine.
struct NvrtcPlaces {
  std::string named;                     ///< KILN_NVRTC: a file, or a directory
  std::vector<std::string> directories;  ///< searched in this order
};
NvrtcPlaces nvrtc_places();

struct NvrtcSearch {
  std::vector<std::string> found;  ///< libraries, best first: newest major version of the first place that has one
  std::vector<std::string> tried;  ///< every place looked at, for messages
};
/// Looks at names only: nothing is loaded.
NvrtcSearch search_nvrtc(const NvrtcPlaces& places);

/// The library that search_nvrtc(nvrtc_places()) finds first, empty if none: stops there, which every start does.
std::string first_nvrtc();

}  // namespace kiln::runtime::cuda
