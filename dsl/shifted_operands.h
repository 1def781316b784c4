// dsl/shifted_operands.h -- which operands of shifts are computed once and kept, and which again at every place.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/ir/graph.h"

namespace kiln::dsl {

/// Goes over a trace in order. An operand is computed again at each place that a kernel reads, unless that costs more
/// than to write it to memory and to read it again, or it is itself read displaced along the same axes: then two
/// displacements would follow one another.
class ShiftedOperands {
 public:
  explicit ShiftedOperands(const codegen::Graph& graph);

  /// Nodes come in order, each once. True for a shift whose operand should be stored.
  bool wants_stored(codegen::NodeId id);
  /// What has been stored instead costs nothing to read displaced.
  void note_stored(codegen::NodeId id);

 private:
  const codegen::Graph& graph_;
  std::vector<int> places_;            ///< shifts by node that is their operand
  std::vector<int> costs_;             ///< of the value in instructions, if everything below is computed for it alone
  std::vector<std::uint8_t> shifted_;  ///< axes along which something below is displaced, bit 0 the last axis
  std::vector<char> takes_;            ///< elements are taken by index below: at places of the loop only
};

}  // namespace kiln::dsl
