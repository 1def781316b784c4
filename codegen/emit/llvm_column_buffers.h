// codegen/emit/llvm_column_buffers.h -- values of a block of columns in arrays on the stack.
#pragma once

#include <string>
#include <vector>

#include "codegen/emit/llvm_access.h"

namespace kiln::codegen {

/// Addresses of arrays of one element per column, one per component or part.
struct Buffers {
  std::vector<Lane> lanes;  ///< as computed; i1 is kept as i8
  std::vector<std::string> addresses;
};

inline Lane lane_in_memory(Lane lane) { return lane == Lane::i1 ? Lane::i8 : lane; }

/// Vectors from the i64 `column` on.
Parts load_buffers(IrBuilder& b, const Buffers& buffers, const std::string& column);
void store_buffers(IrBuilder& b, const Buffers& buffers, const std::string& column, const Parts& parts);

}  // namespace kiln::codegen
