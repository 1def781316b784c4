// codegen/emit/cuda_function.h -- the user's functions in CUDA source: definitions and calls.
#pragma once

#include <span>
#include <string>

#include "codegen/ir/function.h"

namespace kiln::codegen::cuda {

/// The function, and its preamble, in a namespace of its own. Lines of the user's texts are numbered from 1 for
/// compilers, in files called after the function; what follows is line `line` and on of `file` plus those printed here.
std::string function_definition(const Function& function, std::size_t line, const std::string& file);

std::string call_text(const Function& function, std::span<const std::string> operands);

}  // namespace kiln::codegen::cuda
