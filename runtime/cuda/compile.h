// runtime/cuda/compile.h -- NVRTC compiles, with the choice of PTX for drivers that refuse a cubin.
#pragma once

#include "runtime/gpu_target.h"
#include "runtime/runtime.h"

namespace kiln::runtime::cuda {

/// Compiles for options.arch; `force_ptx` gives PTX even where a cubin is possible.
Binary compile_for(const KernelSource& source, const CompileOptions& options, bool want_ptx, bool force_ptx);

}  // namespace kiln::runtime::cuda
