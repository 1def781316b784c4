// codegen/schedule/transpose.h -- which operands of a kernel run along another axis than its output.
#pragma once

#include <vector>

#include "codegen/ir/kernel.h"

namespace kiln::codegen {

/// The axis along which some load is contiguous while it is strided along the innermost axis; -1 where there is none or
/// the outputs are not contiguous along the innermost axis.
int turned_axis(const Kernel& kernel);

/// The loads contiguous along turned_axis(), in order, as many as fit into 48 KiB of shared memory as tiles of `tile`
/// rows of `tile` + 1 elements.
std::vector<int> turned_accesses(const Kernel& kernel, int tile);

}  // namespace kiln::codegen
