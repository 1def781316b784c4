// codegen/emit/cuda_reduction.h -- the CUDA forms of kernels with reduced axes.
#pragma once

#include "codegen/emit/emit.h"

namespace kiln::codegen::cuda {

KernelSource emit_row_reduction(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options);
KernelSource emit_scan(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options);
KernelSource emit_column_reduction(const Kernel& kernel, const Schedule& schedule, const EmitOptions& options);

}  // namespace kiln::codegen::cuda
