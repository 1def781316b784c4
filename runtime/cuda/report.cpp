// runtime/cuda/report.cpp -- what `kiln info` says of NVRTC and the driver.
#include "runtime/cuda/driver_api.h"
#include "runtime/cuda/nvrtc_library.h"
#include "runtime/cuda/nvrtc_search.h"
#include "runtime/cuda_interface.h"
#include "support/check.h"

namespace kiln::runtime::cuda {

CompilerReport report_compiler() {
  CompilerReport report;
  try {
    const Nvrtc& library = nvrtc();
    report.path = library.path;
    report.version = library.major * 1000 + library.minor * 10;
    report.archs = library.known_archs;
  } catch (const CompileError& error) {
    const NvrtcSearch search = search_nvrtc(nvrtc_places());
    report.tried = search.tried;
    report.problem = "NVRTC, the CUDA compiler, was not found: no kernel can be compiled for a GPU";
    if (!search.found.empty()) report.problem = error.what();
    report.cure =
        "install the CUDA toolkit (12.0 or later), or `pip install nvidia-cuda-nvrtc`, or set KILN_NVRTC to "
        "libnvrtc.so";
  }
  return report;
}

int driver_version(std::string& reason) {
  const Driver* const opened = open_driver(reason);
  return opened ? opened->version : 0;
}

}  // namespace kiln::runtime::cuda
