// dsl/kernel_limit.cpp -- the calls of kiln/kernel_limit.h.
#include "runtime/kernel_limit.h"

#include "dsl/kernels.h"
#include "support/log.h"

namespace kiln {

void set_kernel_limit(unsigned kernels) noexcept {
  runtime::kernel_limit_setting.store(kernels, std::memory_order_relaxed);
  try {
    dsl::unload_unused_kernels(kernels);
  } catch (const std::exception& error) {  // a forked child cannot use the GPU, nor unload what its parent loaded
    KILN_LOG(1, "no kernel was unloaded: {}", error.what());
  }
}

unsigned kernel_limit() noexcept { return runtime::kernel_limit_setting.load(std::memory_order_relaxed); }

unsigned loaded_kernels() noexcept { return runtime::LoadedCount::now(); }

}  // namespace kiln
