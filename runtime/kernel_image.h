// runtime/kernel_image.h -- what a compiled image says about a kernel's parameters and limits, without a driver.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/runtime.h"

namespace kiln::runtime {

/// One parameter of a __global__ function in its parameter block, in bytes.
struct KernelParameter {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  friend bool operator==(const KernelParameter&, const KernelParameter&) = default;
};

struct KernelImage {
  std::vector<KernelParameter> parameters;  ///< in the order of the declaration
  int max_threads = 0;                      ///< of __launch_bounds__; 0 where there are none
};

/// Reads the kernel `binary.entry` of a cubin (its section .nv.info.<entry>) or of PTX. Nothing where the image has no
/// such kernel or is not understood: accepts any bytes.
std::optional<KernelImage> read_kernel_image(const Binary& binary);

}  // namespace kiln::runtime
