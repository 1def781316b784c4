// dsl/long_operands.h -- operands of reductions that take so much work that they are computed once, and stored.
#pragma once

#include <vector>

#include "codegen/ir/graph.h"

namespace kiln::dsl {

/// A kernel with reduced axes computes its operands in every pass over a row, with all that it holds of the row beside
/// them. What takes more operations or operands than these is a kernel of its own, which may be cut where it pays.
class LongOperands {
 public:
  static constexpr int most_operations = 512;
  static constexpr std::size_t most_inputs = 128;

  /// `is_stored`: per node, of those that need not be computed where they are needed; may change between calls.
  LongOperands(const codegen::Graph& graph, const std::vector<char>& is_stored)
      : graph_(graph), is_stored_(is_stored) {}
  /// Those of the reduction or scan `node`. Follows at most so many nodes as are allowed, whatever lies below.
  std::vector<codegen::NodeId> of(const codegen::Node& node);

 private:
  bool is_long(codegen::NodeId value);

  const codegen::Graph& graph_;
  const std::vector<char>& is_stored_;
  std::vector<std::uint32_t> seen_;  ///< per node: the last walk that met it
  std::uint32_t walk_ = 0;
};

}  // namespace kiln::dsl
