// dsl/segment_loops.cpp -- maps reduced axes onto loop axes and sums up what a kernel reads.
#include "dsl/segment_loops.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "codegen/pass/passes.h"

namespace kiln::dsl {
namespace {

bool is_reduced(const codegen::ReductionSpec& spec, int axis) { return (spec.axes >> axis & 1) != 0; }

/// One axis of a loop in the making: where it comes from in the value.
struct LoopAxis {
  std::int64_t extent;
  bool reduced;
  int value_axis;  ///< -1: the value has no such axis
};

/// Kept axes, then reduced ones, each in the order given.
std::optional<LoopChoice> arranged(const std::vector<LoopAxis>& order, const SplitShape& value) {
  LoopChoice choice;
  choice.value = value;
  choice.axes.fill(-1);
  if (order.size() > static_cast<std::size_t>(max_rank)) return std::nullopt;
  for (const bool reduced : {false, true}) {
    for (const LoopAxis& axis : order) {
      if (axis.reduced != reduced) continue;
      if (axis.value_axis >= 0) choice.axes[axis.value_axis] = choice.loop.rank;
      choice.loop.extents[choice.loop.rank++] = axis.extent;
      choice.reduced += reduced ? 1 : 0;
    }
  }
  for (const LoopAxis& axis : order) choice.order.emplace_back(axis.extent, axis.reduced);
  return choice;
}

/// The axis of the space that coordinate k of the context simply is; -1 where there is none.
int unit_axis(const Context& context, int k) {
  int found = -1;
  for (int axis = 0; axis < context.space.rank; ++axis) {
    if (context.rows[k][axis] == 0) continue;
    if (found >= 0 || context.rows[k][axis] != 1) return -1;
    found = axis;
  }
  return context.offset[k] == 0 ? found : -1;
}

bool moves_along(const Strided& view, int first, int last) {
  return std::any_of(view.strides.begin() + first, view.strides.begin() + last,
                     [](auto stride) { return stride != 0; });
}

/// The axis along which neighbours in memory lie: the smallest step.
int nearest_axis(const Strided& view) {
  int nearest = -1;
  for (int axis = 0; axis < view.shape.rank; ++axis) {
    if (view.strides[axis] == 0) continue;
    if (nearest < 0 || std::abs(view.strides[axis]) < std::abs(view.strides[nearest])) nearest = axis;
  }
  return nearest;
}

}  // namespace

bool LoopChoice::is_per_element() const {
  return std::any_of(axes.begin(), axes.begin() + value.parts.rank,
                     [&](int axis) { return axis >= loop.rank - reduced; });
}

LoopChoice elementwise_loop(const SplitShape& value) {
  LoopChoice choice;
  choice.loop = value.parts;
  choice.value = value;
  choice.axes.fill(-1);
  for (int axis = 0; axis < value.parts.rank; ++axis) choice.axes[axis] = axis;
  return choice;
}

std::optional<SplitShape> split_for_reshape(const Source& source, NodeId node, const Context& context,
                                            const SplitShape& value) {
  if (context.parent >= 0 || !context.folds.empty()) return std::nullopt;
  const Strided from = contiguous("reshape", source.shapes[source.graph[node].operands[0]], {});
  const Strided to = contiguous("reshape", context.shape, {});
  std::array<std::vector<std::int64_t>, max_rank> extents;  // of the parts of each part, innermost first
  for (int axis = 0; axis < value.parts.rank; ++axis) extents[axis] = {value.parts.extents[axis]};
  std::size_t rank = static_cast<std::size_t>(value.parts.rank);
  for (int k = 0; k < context.shape.rank; ++k) {
    const int axis = unit_axis(context, k);
    if (axis < 0 || value.parts.extents[axis] != context.shape.extents[k]) continue;
    std::int64_t inner = to.strides[k];
    const std::int64_t outer = inner * context.shape.extents[k];
    std::vector<std::int64_t> parts;
    for (int other = from.shape.rank; other-- > 0;) {
      const std::int64_t border = from.strides[other];
      if (from.shape.extents[other] == 1 || border <= inner || border >= outer) continue;
      if (border % inner != 0 || outer % border != 0) return std::nullopt;
      parts.push_back(border / inner);
      inner = border;
    }
    rank += parts.size();
    parts.push_back(outer / inner);
    extents[axis] = parts;
  }
  if (rank == static_cast<std::size_t>(value.parts.rank) || rank > static_cast<std::size_t>(max_rank))
    return std::nullopt;
  SplitShape split;
  for (int axis = 0; axis < value.parts.rank; ++axis) {
    for (auto part = extents[axis].rbegin(); part != extents[axis].rend(); ++part) {
      split.owner[split.parts.rank] = value.owner[axis];
      split.parts.extents[split.parts.rank++] = *part;
    }
  }
  return split;
}

std::optional<LoopChoice> reduction_loop(const Source& source, NodeId node, const Context& context,
                                         const SplitShape& value) {
  const Shape& shape = value.parts;
  if (context.parent >= 0 || !context.folds.empty()) return std::nullopt;
  const codegen::ReductionSpec& spec = source.graph.reduction(source.graph[node]);
  const Shape operand = operand_shape(source, node);
  std::vector<char> placed(static_cast<std::size_t>(max_rank), 0);
  // The value's axes that the reduction does not depend on are its rows, unless there are none: then it is per row.
  std::vector<int> free;
  for (int axis = 0; axis < shape.rank; ++axis) {
    if (shape.extents[axis] == 1) continue;
    bool depends = false;
    for (int k = 0; k < context.shape.rank; ++k) depends = depends || context.rows[k][axis] != 0;
    if (!depends) free.push_back(axis);
  }
  AxisMap owner;
  owner.fill(-1);
  if (!free.empty()) {
    const std::optional<AxisMap> matched = match_axes(operand, spec.axes, shape, free);
    if (!matched) return std::nullopt;
    owner = *matched;
  }
  std::vector<LoopAxis> order;
  int kept = 0;
  for (int k = 0; k < operand.rank; ++k) {
    if (is_reduced(spec, k)) {
      if (free.empty() && operand.extents[k] > 1) order.push_back({operand.extents[k], true, -1});
      for (const int axis : free)
        if (owner[axis] == k) order.push_back({shape.extents[axis], true, axis});
    } else {
      for (int axis = 0; axis < shape.rank; ++axis) {
        if (shape.extents[axis] == 1 || context.rows[kept][axis] == 0 || placed[axis]) continue;
        placed[axis] = 1;
        order.push_back({shape.extents[axis], false, axis});
      }
    }
    kept += !is_reduced(spec, k) || spec.keepdims ? 1 : 0;
  }
  return arranged(order, value);
}

std::optional<LoopChoice> scan_loop(const Source& source, NodeId node, const Context& context,
                                    const SplitShape& value) {
  const Shape& shape = value.parts;
  if (context.parent >= 0 || !context.folds.empty()) return std::nullopt;
  const int along = std::countr_zero(source.graph.reduction(source.graph[node]).axes);
  int value_axis = -1;
  for (int axis = 0; axis < shape.rank; ++axis)
    if (shape.extents[axis] > 1 && context.rows[along][axis] != 0) value_axis = axis;
  if (value_axis < 0) return std::nullopt;
  std::vector<LoopAxis> order;
  for (int axis = 0; axis < shape.rank; ++axis)
    if (shape.extents[axis] > 1) order.push_back({shape.extents[axis], axis == value_axis, axis});
  std::optional<LoopChoice> choice = arranged(order, value);
  if (choice) choice->scans = true;
  return choice;
}

codegen::ChainFacts chain_facts(std::span<const Leaf> leaves, const Shape& loop, int reduced) {
  codegen::ChainFacts facts;
  const int kept = loop.rank - reduced;
  for (int axis = 0; axis < loop.rank; ++axis) (axis < kept ? facts.rows : facts.length) *= loop.extents[axis];
  std::int64_t along_kept = 0;
  facts.bytes = 0;
  for (const Leaf& leaf : leaves) {
    // Operands that all rows share, and those that are one value per row, are read once.
    const bool by_row = kept == 0 || moves_along(leaf.view, 0, kept);
    if (leaf.gathers > 0) {  // elements found by index are other ones in every row and column
      if (nearest_axis(leaf.view) < 0) continue;
    } else if (leaf.iota || !by_row || !moves_along(leaf.view, kept, loop.rank)) {
      continue;
    }
    const auto bytes = leaf.gathers > 0 ? std::int64_t{leaf.gathers} : static_cast<std::int64_t>(size_of(leaf.type));
    facts.bytes += bytes;
    if (nearest_axis(leaf.view) < kept) along_kept += bytes;
  }
  facts.columns = 2 * along_kept > facts.bytes;
  return facts;
}

std::vector<NodeId> needed_by_others(const Lowered& lowered) {
  const codegen::Graph& body = lowered.body.graph;
  std::vector<char> is_needed(body.size(), 0);  // some reduction needs this node
  for (NodeId id = body.size(); id-- > 0;) {
    const codegen::Node& node = body[id];
    const bool joins = node.kind == codegen::NodeKind::reduce || node.kind == codegen::NodeKind::scan;
    for (const NodeId operand : node.inputs()) is_needed[operand] |= is_needed[id] | (joins ? 1 : 0);
  }
  std::vector<NodeId> result;
  for (const Fused& fused : lowered.fused)
    if (is_needed[fused.body]) result.push_back(fused.node);
  return result;
}

bool becomes_one_pass(const Body& body) {
  using codegen::NodeKind;
  const auto takes_exponentials = [](const codegen::Node& node) {
    return node.kind == NodeKind::operation && node.op == Op::exp;
  };
  const auto before = body.graph.nodes();
  if (std::none_of(before.begin(), before.end(), takes_exponentials)) return false;
  codegen::PassOptions options;
  options.iotas.resize(body.leaves.size());
  options.joins_exponentials = true;
  const codegen::Graph graph = codegen::run_pipeline(body.graph, options);
  std::vector<char> needs_result(graph.size(), 0);  // of a reduction
  for (NodeId id = 0; id < graph.size(); ++id) {
    const bool joins = graph[id].kind == NodeKind::reduce;
    for (const NodeId operand : graph[id].inputs()) {
      if (joins && needs_result[operand]) return false;
      needs_result[id] |= static_cast<char>(joins || needs_result[operand]);
    }
  }
  return true;
}

std::vector<NodeId> misaligned(const Lowered& lowered, const LoopChoice& loop, NodeId first) {
  const Body& body = lowered.body;
  const int kept = loop.loop.rank - loop.reduced;
  enum : std::uint8_t { along_rows = 1, along_columns = 2 };
  std::vector<std::uint8_t> directions(body.graph.size(), 0);  // of the loads below, down to other reductions
  std::vector<std::uint8_t> joined(body.graph.size(), 0);
  for (NodeId id = 0; id < body.graph.size(); ++id) {
    const codegen::Node& node = body.graph[id];
    for (const NodeId operand : node.inputs()) directions[id] |= directions[operand];
    if (node.kind == codegen::NodeKind::load) {
      const Strided& view = body.leaves[node.payload].view;
      const bool moves = moves_along(view, 0, kept) && moves_along(view, kept, loop.loop.rank);
      if (moves) directions[id] = nearest_axis(view) < kept ? along_columns : along_rows;
    } else if (node.kind == codegen::NodeKind::gather) {
      const codegen::Node& affine = body.graph[node.operands[codegen::gather_affine]];
      if (affine.kind != codegen::NodeKind::iota) continue;
      directions[id] = nearest_axis(body.leaves[affine.payload].view) < kept ? along_columns : along_rows;
    } else if (node.kind == codegen::NodeKind::reduce) {
      std::swap(joined[id], directions[id]);
    }
  }
  std::uint8_t wanted = 0;
  for (const Fused& fused : lowered.fused)
    if (wanted == 0 || fused.node == first) wanted = joined[fused.body];
  std::vector<NodeId> result;
  for (const Fused& fused : lowered.fused)
    if ((wanted | joined[fused.body]) == (along_rows | along_columns) && wanted != joined[fused.body])
      result.push_back(fused.node);
  return result;
}

std::vector<NodeId> ambiguous(const Lowered& lowered, const codegen::Graph& graph) {
  std::unordered_set<NodeId> fused, result;
  for (const Fused& at : lowered.fused)
    if (!fused.insert(at.node).second) result.insert(at.node);
  for (const Cut& at : lowered.cuts) {
    const codegen::Node& node = graph[at.node];
    const NodeId reduction = node.kind == codegen::NodeKind::element ? node.operands[0] : at.node;
    if (fused.contains(reduction)) result.insert(reduction);
  }
  return {result.begin(), result.end()};
}

}  // namespace kiln::dsl
