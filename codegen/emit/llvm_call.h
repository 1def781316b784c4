// codegen/emit/llvm_call.h -- calls of the user's host functions from CPU kernels, one per vector.
#pragma once

#include <string>

#include "codegen/emit/llvm_access.h"
#include "codegen/ir/graph.h"

namespace kiln::codegen {

/// Register that holds the address of the HostCall of function `number`.
std::string host_call_register(std::uint64_t number);

/// The variable through which arguments and results pass, to be set aside at the entry of a kernel whose body calls.
std::string call_block_variable(int width);

/// Calls on the first `count` lanes (i64 text; the builder's width when empty). The other lanes hold anything.
Parts print_call(IrBuilder& b, const Graph& body, const Node& node, const std::vector<Parts>& operands,
                 const std::string& count);

}  // namespace kiln::codegen
