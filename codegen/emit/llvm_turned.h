// codegen/emit/llvm_turned.h -- elementwise CPU kernels with operands that are contiguous across the rows (A + B^T).
#pragma once

#include <string>

#include "codegen/emit/emit.h"

namespace kiln::codegen {

/// True where tiles pay: an operand runs along the last axis but one, the outputs along the last.
bool has_turned_tiles(const Kernel& kernel);
std::string print_turned(const Kernel& kernel, const EmitOptions& options, const std::string& entry);

}  // namespace kiln::codegen
