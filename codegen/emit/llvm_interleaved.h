// codegen/emit/llvm_interleaved.h -- elementwise CPU kernels over a short innermost axis: pictures, points (x *
// gain[channel]).
#pragma once

#include <string>

#include "codegen/emit/emit.h"

namespace kiln::codegen {

/// True where the results lie without gaps although the innermost axis is too short for vectors along it.
bool has_interleaved_rows(const Kernel& kernel);
std::string print_interleaved(const Kernel& kernel, const EmitOptions& options, const std::string& entry);

}  // namespace kiln::codegen
