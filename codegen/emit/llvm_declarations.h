// codegen/emit/llvm_declarations.h -- declarations of the intrinsics that a module calls; LLVM before 19 asks for them.
#pragma once

#include <string>
#include <string_view>

namespace kiln::codegen {

/// One `declare` line for every `@llvm.` function called in `text`, in the order of first use.
std::string intrinsic_declarations(std::string_view text);

}  // namespace kiln::codegen
