// codegen/schedule/value_order.h -- an order of a body's values that keeps few of them waiting, and how many wait.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/ir/graph.h"

namespace kiln::codegen {

/// The values of a body in the order in which they are computed, with their uses.
struct ValueOrder {
  std::vector<NodeId> nodes;
  std::vector<std::size_t> position;  ///< per node of the body: its place in `nodes`; no_position for others
  std::vector<std::size_t> last_use;  ///< per place: of the last value that needs it; its own place where none does
  std::vector<char> is_output;        ///< per place
  std::vector<char> waits_for_next;   ///< per place: a product that the next value may be fused with: no cut between
  int registers = 0;                  ///< the most that wait at a time, results included
  int numbered_registers = 0;         ///< the same in the order of the body's own numbers
};
inline constexpr std::size_t no_position = ~std::size_t{0};

/// 32-bit registers that a value takes.
int registers_of(DType type);

/// Work of a node: 0 for leaves, 8 for calls, divisions and functions, else 1.
int operation_cost(const Node& node);

/// Per node: leaves, and values that are computed again wherever they are needed, for that is cheaper than to store
/// them.
std::vector<char> recomputed_nodes(const Graph& body);

/// `recomputed`: per node, nonzero for leaves and values that are no part of the order.
ValueOrder order_values(const Graph& body, const std::vector<char>& recomputed);

}  // namespace kiln::codegen
