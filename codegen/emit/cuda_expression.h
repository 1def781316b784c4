// codegen/emit/cuda_expression.h -- one node of a legalised body as a CUDA C++ expression.
#pragma once

#include <span>
#include <string>

#include "codegen/emit/cuda_prelude.h"
#include "codegen/ir/graph.h"

namespace kiln::codegen::cuda {

/// Text of `node` for cast, bitcast, complex, real_part, imag_part, mulhi and operation nodes; `operands` are the names
/// of its operands and `types` their types. Integer arithmetic wraps through unsigned types, so no case is undefined.
std::string expression(const Node& node, std::span<const std::string> operands, std::span<const DType> types,
                       Prelude& prelude);

}  // namespace kiln::codegen::cuda
