// codegen/emit/llvm_declarations.h -- declarations of the intrinsics that a module's text calls.
#pragma once

#include <string>
#include <string_view>

namespace kiln::codegen {

/// One `declare` line for every different `call TYPE @llvm.NAME(TYPE VALUE, ...)` in the text, sorted by name. LLVM 18
/// and later declare intrinsics by themselves; 16 and 17 do not.
std::string intrinsic_declarations(std::string_view text);

}  // namespace kiln::codegen
