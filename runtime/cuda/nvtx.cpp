// runtime/cuda/nvtx.cpp -- ranges in the timeline of Nsight and other tools, through the header-only NVTX 3.
#include "runtime/cuda_interface.h"

// Older packagings of CUDA's headers come without NVTX: then no tool is ever found.
#if __has_include(<nvtx3/nvToolsExt.h>)

#include <nvtx3/nvToolsExt.h>

namespace kiln::runtime::cuda {
namespace {

nvtxDomainHandle_t domain = nullptr;  // written once, before the first range

}  // namespace

bool open_ranges() {
  // NVTX looks for a tool now; without one it hands out no domain.
  domain = nvtxDomainCreateA("kiln");
  return domain != nullptr;
}

void push_range(const char* name) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name;
  nvtxDomainRangePushEx(domain, &attributes);
}

void pop_range() { nvtxDomainRangePop(domain); }

}  // namespace kiln::runtime::cuda

#else

namespace kiln::runtime::cuda {

bool open_ranges() { return false; }
void push_range(const char*) {}
void pop_range() {}

}  // namespace kiln::runtime::cuda

#endif
