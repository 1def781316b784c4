// dsl/shifted_operands.cpp -- costs of computing the operands of shifts again.
#include "dsl/shifted_operands.h"

#include <algorithm>

namespace kiln::dsl {

using codegen::Node;
using codegen::NodeId;
using codegen::NodeKind;
using codegen::ViewSpec;

namespace {

/// An element of f32 that is written and read again takes as long as about so many instructions on a GPU.
constexpr int cost_of_storing = 60;
constexpr int most = 1 << 20;
constexpr std::uint8_t every_axis = 0xff;

/// Instructions of one node, roughly.
int own_cost(const Node& node) {
  if (node.kind == NodeKind::random) return 60;
  if (node.kind != NodeKind::operation) return node.arity > 0 || node.kind == NodeKind::input ? 1 : 0;
  const bool is_function = (node.op >= Op::sqrt && node.op <= Op::tgamma) || node.op >= Op::sigmoid ||
                           node.op == Op::pow || node.op == Op::hypot || node.op == Op::fmod || node.op == Op::div ||
                           node.op == Op::mod || node.op == Op::true_divide || node.op == Op::floor_divide ||
                           node.op == Op::remainder;
  return (is_function ? 16 : 1) * (node.type == DType::f64 || is_complex(node.type) ? 4 : 1);
}

bool is_shift(const codegen::Graph& graph, const Node& node) {
  return node.kind == NodeKind::view && graph.view_spec(node).kind == ViewSpec::Kind::shift;
}

/// Axes that the shift moves, bit 0 the last.
std::uint8_t moved_axes(const ViewSpec& spec) {
  std::uint8_t axes = 0;
  for (std::size_t i = 1; i < spec.numbers.size(); ++i)
    axes = static_cast<std::uint8_t>(axes << 1 | (spec.numbers[i] != 0 ? 1 : 0));
  return axes;
}

/// Elementwise values; anything else is kept or read as it is.
bool computes(const Node& node) {
  return node.kind != NodeKind::input && node.kind != NodeKind::iota && node.kind != NodeKind::index &&
         node.kind != NodeKind::extent && node.kind != NodeKind::reduce && node.kind != NodeKind::scan &&
         node.kind != NodeKind::element && node.kind != NodeKind::tuple;
}

}  // namespace

ShiftedOperands::ShiftedOperands(const codegen::Graph& graph)
    : graph_(graph), places_(graph.size()), costs_(graph.size()), shifted_(graph.size()), takes_(graph.size()) {
  for (const Node& node : graph.nodes())
    if (is_shift(graph, node)) ++places_[node.operands[0]];
}

bool ShiftedOperands::wants_stored(NodeId id) {
  const Node& node = graph_[id];
  int& cost = costs_[id];
  std::uint8_t& axes = shifted_[id];
  cost = own_cost(node);
  if (!computes(node)) {
    // A reduction or scan along axes of extent 1 may vanish, and what it takes then stands under the shift.
    for (const NodeId operand : node.inputs()) takes_[id] = static_cast<char>(takes_[id] | takes_[operand]);
    return false;
  }
  for (const NodeId operand : node.inputs()) {
    cost = std::min(most, cost + costs_[operand]);
    axes |= shifted_[operand];
    takes_[id] = static_cast<char>(takes_[id] | takes_[operand]);
  }
  if (node.kind == NodeKind::take) takes_[id] = 1;
  if (node.kind != NodeKind::view) return false;
  if (!is_shift(graph_, node)) {
    if (axes != 0) axes = every_axis;
    return false;
  }
  const std::uint8_t moved = moved_axes(graph_.view_spec(node));
  const NodeId operand = node.operands[0];
  const bool twice = (axes & moved) != 0;
  const bool costly = places_[operand] > 1 && places_[operand] * costs_[operand] > cost_of_storing;
  axes |= moved;
  if (moved == 0 || !(twice || costly || takes_[operand] != 0)) return false;
  cost = 1;
  axes = moved;
  return true;
}

void ShiftedOperands::note_stored(NodeId id) {
  costs_[id] = 1;
  shifted_[id] = 0;
  takes_[id] = 0;
}

}  // namespace kiln::dsl
