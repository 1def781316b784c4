// codegen/emit/cuda_window_form.h -- the printer of kernels of the window form.
#pragma once

#include "codegen/emit/emit.h"

namespace kiln::codegen::cuda {

KernelSource emit_window(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options);

}  // namespace kiln::codegen::cuda
