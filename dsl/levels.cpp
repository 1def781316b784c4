// dsl/levels.cpp -- order, sizes and axes of the reductions of a trace, by linear scans.
#include "dsl/levels.h"

#include <algorithm>

#include "dsl/infer.h"
#include "dsl/long_operands.h"
#include "dsl/shifted_operands.h"
#include "dsl/taking.h"
#include "support/check.h"

namespace kiln::dsl {

using codegen::Node;
using codegen::NodeKind;
using codegen::Reduction;

namespace {

/// Levels 1 .. max_passes are block 0, and so on.
int block_of(int level) { return (level - 1) / max_passes; }

bool has_value_operands(const Node& node) {
  return node.kind != NodeKind::index && node.kind != NodeKind::extent;  // of their operand they need the shape only
}

bool raises_level(const codegen::Graph& graph, const Node& node, int below) {
  if (node.kind == NodeKind::reduce || node.kind == NodeKind::scan) return true;
  if (node.kind == NodeKind::view && graph.view_spec(node).kind == ViewSpec::Kind::shift) return true;
  return node.kind == NodeKind::view && below > 0 && graph.view_spec(node).kind == ViewSpec::Kind::reshape;
}

/// The value that a chain of views and tuple components shows.
NodeId mark_stored(const codegen::Graph& graph, NodeId node, Levels& levels) {
  const int level = levels.level[node];
  while (graph[node].kind == NodeKind::element ||
         (graph[node].kind == NodeKind::view && levels.level[graph[node].operands[0]] == level)) {
    node = graph[node].operands[0];
  }
  levels.is_stored[node] = 1;
  return node;
}

/// "axis 1" or "axes 0, 2".
std::string axes_text(std::uint8_t axes) {
  std::vector<int> numbers;
  for (int axis = 0; axis < max_rank; ++axis)
    if ((axes >> axis & 1) != 0) numbers.push_back(axis);
  return fmt::format("{} {}", numbers.size() == 1 ? "axis" : "axes", fmt::join(numbers, ", "));
}

/// "shift by (1, 0) of (3, 4)".
std::string shift_text(const Source& source, NodeId node) {
  const std::vector<std::int64_t>& numbers = source.graph.view_spec(source.graph[node]).numbers;
  return fmt::format("shift by {} of {}", to_text(std::span(numbers).subspan(1)), to_text(source.shapes[node]));
}

}  // namespace

bool is_shift(const codegen::Graph& graph, NodeId node) {
  return graph[node].kind == NodeKind::view && graph.view_spec(graph[node]).kind == ViewSpec::Kind::shift;
}

bool Levels::is_value(const codegen::Graph& graph, NodeId node) const {
  // Of a reshape the operand is stored: its elements in C order are those of the reshape.
  const bool is_reshape =
      graph[node].kind == NodeKind::view && graph.view_spec(graph[node]).kind == ViewSpec::Kind::reshape;
  if (graph[node].kind == NodeKind::element) return false;  // computed by the very kernel of its reduction
  return is_stored[node] && !is_reshape && !raises_level(graph, graph[node], level[node]);
}

int Levels::rank(const codegen::Graph& graph, NodeId node) const {
  return 2 * level[node] + (is_value(graph, node) ? 1 : 0);  // a stored value may need reductions of its own level
}

/// The level of a take, whose source may have to be stored before.
static int level_of_take(const codegen::Graph& graph, const Node& node, NodeId stored, Levels& levels) {
  if (stored == codegen::no_node) return std::max(1, levels.level[node.operands[1]]);
  levels.is_stored[stored] = levels.is_taken[stored] = 1;
  if (graph[stored].kind == NodeKind::element) levels.is_stored[graph[stored].operands[0]] = 1;
  return std::max(levels.level[stored] + 1, levels.level[node.operands[1]]);
}

Levels levels_of(const Source& source) {
  const codegen::Graph& graph = source.graph;
  const std::vector<NodeId> taken = stored_sources(source);
  Levels levels;
  levels.level.resize(graph.size(), 0);
  levels.is_stored.resize(graph.size(), 0);
  levels.is_taken.resize(graph.size(), 0);
  levels.is_displaced.resize(graph.size(), 0);
  levels.is_long.resize(graph.size(), 0);
  LongOperands long_operands(graph, levels.is_stored);
  ShiftedOperands operands(graph);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (!has_value_operands(node)) continue;
    int& level = levels.level[id];
    for (const NodeId operand : node.inputs()) level = std::max(level, levels.level[operand]);
    if (raises_level(graph, node, level)) ++level;
    if (node.kind == NodeKind::take) level = level_of_take(graph, node, taken[id], levels);
    if (operands.wants_stored(id)) {
      const NodeId stored = mark_stored(graph, node.operands[0], levels);
      levels.is_displaced[stored] = 1;
      operands.note_stored(stored);
    }
    if (node.kind == NodeKind::reduce || node.kind == NodeKind::scan) {
      for (const NodeId value : long_operands.of(node)) levels.is_long[mark_stored(graph, value, levels)] = 1;
    }
    if (level <= max_passes) continue;
    for (const NodeId operand : node.inputs()) {
      const int below = levels.level[operand];
      if (below > 0 && block_of(below) < block_of(level)) mark_stored(graph, operand, levels);
    }
  }
  return levels;
}

Shape operand_shape(const Source& source, NodeId node) {
  const Node& reduction = source.graph[node];
  if (reduction.arity == 1) return source.shapes[reduction.operands[0]];
  const Shape both[] = {source.shapes[reduction.operands[0]], source.shapes[reduction.operands[1]]};
  return broadcast(written_name(source.graph, node), both, where_of(source.graph, node));
}

std::int64_t joined_elements(const Source& source, NodeId node) {
  const Shape shape = operand_shape(source, node);
  const std::uint8_t axes = source.graph.reduction(source.graph[node]).axes;
  Shape joined;
  for (int axis = 0; axis < shape.rank; ++axis)
    if ((axes >> axis & 1) != 0) joined.extents[joined.rank++] = shape.extents[axis];
  return element_count(written_name(source.graph, node), joined, where_of(source.graph, node));
}

std::optional<AxisMap> match_axes(const Shape& operand, std::uint8_t reduced, const Shape& loop,
                                  std::span<const int> loop_axes) {
  AxisMap owner;
  owner.fill(-1);
  std::vector<int> free(loop_axes.begin(), loop_axes.end());
  for (int axis = 0; axis < operand.rank; ++axis) {
    const std::int64_t extent = operand.extents[axis];
    if ((reduced >> axis & 1) == 0 || extent == 1) continue;
    auto first = std::find_if(free.begin(), free.end(), [&](int at) { return loop.extents[at] == extent; });
    auto last = first;
    if (first != free.end()) {
      ++last;
    } else {
      std::int64_t product = 1;
      for (first = last = free.begin(); last != free.end() && product < extent; ++last) product *= loop.extents[*last];
      if (product != extent) return std::nullopt;
    }
    for (auto at = first; at != last; ++at) owner[*at] = axis;
    free.erase(first, last);
  }
  if (!free.empty()) return std::nullopt;
  return owner;
}

std::string reduction_text(const Source& source, NodeId node) {
  const Node& at = source.graph[node];
  if (at.kind == NodeKind::element) return reduction_text(source, at.operands[0]);
  if (is_shift(source.graph, node)) return shift_text(source, node);
  if (at.kind == NodeKind::view) return fmt::format("the operand of a reshape to {}", to_text(source.shapes[node]));
  if (at.kind != NodeKind::reduce && at.kind != NodeKind::scan)
    return fmt::format("a value of shape {}", to_text(source.shapes[node]));
  const codegen::ReductionSpec& spec = source.graph.reduction(at);
  return fmt::format("{} {} {} of {}", written_name(source.graph, node), at.kind == NodeKind::scan ? "along" : "over",
                     axes_text(spec.axes), to_text(operand_shape(source, node)));
}

void fail_empty_reduction(const Source& source, NodeId node) {
  const codegen::ReductionSpec& spec = source.graph.reduction(source.graph[node]);
  const Shape shape = operand_shape(source, node);
  fail<ShapeError>(
      "kl::{} over {} of shape {} joins no element{} and has no identity; make the axis longer, or choose another "
      "value with kl::where before reducing",
      written_name(source.graph, node), axes_text(spec.axes), to_text(shape), place(where_of(source.graph, node)));
}

}  // namespace kiln::dsl
