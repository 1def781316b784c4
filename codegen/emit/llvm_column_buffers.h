// codegen/emit/llvm_column_buffers.h -- states in memory: arrays over the columns of a block, single vectors.
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

/// A vector per address.
Parts load_variables(IrBuilder& b, const std::vector<Lane>& lanes, const std::vector<std::string>& addresses);
void store_variables(IrBuilder& b, const Parts& parts, const std::vector<std::string>& addresses);

}  // namespace kiln::codegen
