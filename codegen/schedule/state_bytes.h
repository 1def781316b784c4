// codegen/schedule/state_bytes.h -- how much memory the states of reductions take.
#pragma once

#include <cstdint>
#include <span>

#include "codegen/ir/kernel.h"

namespace kiln::codegen {

/// Bytes of the struct that CUDA kernels declare for the states of one pass of reductions, or of one group of scans.
std::uint64_t state_bytes(const Kernel& kernel, std::span<const NodeId> pass);

}  // namespace kiln::codegen
