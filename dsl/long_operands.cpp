// dsl/long_operands.cpp -- bounded walks down from the operands of reductions.
#include "dsl/long_operands.h"

namespace kiln::dsl {

using codegen::Node;
using codegen::NodeId;
using codegen::NodeKind;

namespace {

int cost_of(const Node& node) {
  constexpr int function_cost = 8;
  switch (node.kind) {
    case NodeKind::call:
      return function_cost;
    case NodeKind::random:
      return 8 * function_cost;
    case NodeKind::operation: {
      const bool function = (node.op >= Op::sqrt && node.op <= Op::tgamma) || node.op == Op::pow ||
                            node.op == Op::hypot || node.op == Op::fmod || node.op == Op::div || node.op == Op::mod;
      return function ? function_cost : 1;
    }
    default:
      return 0;
  }
}

/// Nothing below such a node is computed by the kernel that needs it, or it is a leaf.
bool ends_walk(const Node& node) {
  return node.kind == NodeKind::reduce || node.kind == NodeKind::scan || node.kind == NodeKind::extent ||
         node.kind == NodeKind::index;
}

}  // namespace

bool LongOperands::is_long(NodeId value) {
  seen_.resize(graph_.size(), 0);
  ++walk_;
  int operations = 0;
  std::size_t inputs = 0;
  std::vector<NodeId> pending{value};
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    if (seen_[id] == walk_ || is_stored_[id]) continue;
    seen_[id] = walk_;
    const Node& node = graph_[id];
    inputs += node.kind == NodeKind::input ? 1 : 0;
    operations += cost_of(node);
    if (operations > most_operations || inputs > most_inputs) return true;
    if (ends_walk(node)) continue;
    pending.insert(pending.end(), node.inputs().begin(), node.inputs().end());
  }
  return false;
}

std::vector<NodeId> LongOperands::of(const Node& node) {
  std::vector<NodeId> result;
  const Node& operand = graph_[node.operands[0]];
  if (operand.kind != NodeKind::tuple) {
    if (is_long(node.operands[0])) result.push_back(node.operands[0]);
  } else {
    for (const NodeId component : operand.inputs())
      if (is_long(component)) result.push_back(component);
  }
  return result;
}

}  // namespace kiln::dsl
