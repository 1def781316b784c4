// dsl/lowering_reductions.cpp -- where a reduction or scan is met: joined to the loop, cut, or no reduction at all.
#include <algorithm>
#include <bit>
#include <limits>

#include "dsl/lowering_walk.h"

namespace kiln::dsl {

using codegen::Node;
using codegen::NodeKind;
using codegen::Reduction;

bool Lowering::covers_kept_axes(const Context& context) const {
  if (!context.folds.empty()) return false;
  const int kept = rules_.loop.rank - rules_.reduced;
  for (int axis = 0; axis < rules_.loop.rank; ++axis) {
    bool used = false;
    for (int k = 0; k < context.shape.rank; ++k) used = used || context.rows[k][axis] != 0;
    if (axis < kept ? !used && rules_.loop.extents[axis] > 1 : used) return false;
  }
  return true;
}

Lowering::Decision Lowering::decide_reduction(Place place, const Node& node) {
  const codegen::ReductionSpec& spec = graph_.reduction(node);
  const Shape operand = operand_shape(source_, place.node);
  const Shape& result = source_.shapes[place.node];
  const std::int64_t elements = joined_elements(source_, place.node);
  AxisMap axes;
  axes.fill(-1);
  if (elements <= 1) {
    const Decision::Way way = elements == 1 ? Decision::single : Decision::empty;
    return {way, contexts_.reduced(place.context, spec, operand, result, axes)};
  }
  const bool must_cut = rules_.cut.contains(place.node) || rules_.reduced == 0 || rules_.scans ||
                        (levels_->is_stored[place.node] && rules_.may_read(source_, *levels_, place.node));
  const Context context = contexts_.aligned(place.context, result);
  if (must_cut || context.parent >= 0 || !covers_kept_axes(context)) return {Decision::cut, -1};
  const std::optional<AxisMap> matched = match_axes(operand, spec.axes, rules_.loop, loop_axes_);
  if (!matched) return {Decision::cut, -1};
  return {Decision::fused, contexts_.reduced(place.context, spec, operand, result, *matched)};
}

bool Lowering::scan_fits(Place place, const Node& node) const {
  if (!rules_.scans || rules_.cut.contains(place.node)) return false;
  const Context context = contexts_.aligned(place.context, source_.shapes[place.node]);
  if (context.parent >= 0 || !context.folds.empty()) return false;
  const int along = std::countr_zero(graph_.reduction(node).axes);
  int used = 0;
  for (int axis = 0; axis < context.shape.rank; ++axis) {
    if (context.shape.extents[axis] == 1) continue;
    int at = 0;
    while (at < rules_.loop.rank && context.rows[axis][at] == 0) ++at;
    if (at == rules_.loop.rank || context.offset[axis] != 0) return false;
    Extents unit = {};
    unit[at] = 1;
    const bool last = at == rules_.loop.rank - 1;
    if (context.rows[axis] != unit || rules_.loop.extents[at] != context.shape.extents[axis] || last != (axis == along))
      return false;
    ++used;
  }
  return used == std::count_if(rules_.loop.span().begin(), rules_.loop.span().end(),
                               [](std::int64_t extent) { return extent > 1; });
}

Lowering::Decision Lowering::decide(Place place) {
  const auto known = decisions_.find(key_of(place));
  if (known != decisions_.end()) return known->second;
  const Node& node = graph_[place.node];
  Decision decision{Decision::cut, place.context};
  if (node.kind == NodeKind::reduce) {
    decision = decide_reduction(place, node);
  } else if (joined_elements(source_, place.node) <= 1) {
    decision.way = Decision::single;
  } else if (scan_fits(place, node)) {
    decision.way = Decision::fused;
  }
  decisions_.emplace(key_of(place), decision);
  if (decision.way == Decision::fused &&
      fused_.try_emplace(key_of({place.node, decision.below}), lowered_.fused.size()).second) {
    const Shape operand = operand_shape(source_, place.node);
    lowered_.fused.push_back({place.node, codegen::no_node, contexts_.aligned(decision.below, operand)});
  }
  return decision;
}

bool Lowering::reduce_step(Place place, const Node& node) {
  const Decision decision = decide(place);
  switch (decision.way) {
    case Decision::cut:
      cut(place, source_.shapes[place.node]);
      return true;
    case Decision::single:
      return single_step(place, node, decision.below);
    case Decision::empty:
      return empty_step(place, node, decision.below);
    case Decision::fused:
      break;
  }
  return join_step(place, node, decision.below);
}

/// The reduction or scan of the kernel.
bool Lowering::join_step(Place place, const Node& node, int below) {
  codegen::ReductionSpec spec = graph_.reduction(node);
  spec.axes = 0;
  spec.keepdims = false;
  const NodeId second = node.arity > 1 ? known({node.operands[1], below}) : 0;
  const NodeId first = known({node.operands[0], below});
  if (first == codegen::no_node || second == codegen::no_node) return false;
  codegen::Graph& body = lowered_.body.graph;
  const codegen::Location at = graph_.location(place.node);
  const bool scans = node.kind == NodeKind::scan;
  NodeId joined;
  if (node.arity > 1) {
    joined =
        scans ? body.scan(spec, node.type, {first, second}, at) : body.reduce(spec, node.type, {first, second}, at);
  } else {
    joined = scans ? body.scan(spec, node.type, {first}, at) : body.reduce(spec, node.type, {first}, at);
  }
  lowered_.fused[fused_.at(key_of({place.node, below}))].body = joined;
  finish(place, joined);
  return true;
}

/// A reduction of one element is that element.
bool Lowering::single_step(Place place, const Node& node, int below) {
  const Reduction kind = graph_.reduction(node).kind;
  const bool position = kind == Reduction::argmax || kind == Reduction::argmin;
  const NodeId value = known({node.operands[position ? 1 : 0], below});
  if (value == codegen::no_node) return false;
  codegen::Graph& body = lowered_.body.graph;
  NodeId result = body.cast(value, node.type);
  if (kind == Reduction::squared_deviations) {
    const NodeId both[] = {result, result};
    const NodeId deviation = body.operation(Op::sub, node.type, both);  // NaN for an infinity, as the mean's would be
    const NodeId factors[] = {deviation, deviation};
    result = body.operation(Op::mul, node.type, factors);
  }
  finish(place, result);
  return true;
}

/// A reduction of no element is its identity.
bool Lowering::empty_step(Place place, const Node& node, int below) {
  const codegen::ReductionSpec& spec = graph_.reduction(node);
  codegen::Graph& body = lowered_.body.graph;
  double identity = 0;
  switch (spec.kind) {
    case Reduction::combine:
      if (spec.refuses_empty) fail_empty_reduction(source_, place.node);
      return alias_step(place, {node.operands[1], below});
    case Reduction::sum:
    case Reduction::any:
    case Reduction::squared_deviations:
      break;
    case Reduction::prod:
    case Reduction::all:
      identity = 1;
      break;
    case Reduction::logsumexp:
      identity = -std::numeric_limits<double>::infinity();
      break;
    case Reduction::max:
    case Reduction::min:
    case Reduction::argmax:
    case Reduction::argmin:
      fail_empty_reduction(source_, place.node);
  }
  finish(place, body.literal_value(node.type, identity));
  return true;
}

bool Lowering::element_step(Place place, const Node& node) {
  const Place reduction{node.operands[0], place.context};
  const Node& of = graph_[reduction.node];
  const Decision decision = decide(reduction);
  switch (decision.way) {
    case Decision::cut:
      cut(place, source_.shapes[place.node]);
      return true;
    case Decision::single:
    case Decision::empty: {
      if (decision.way == Decision::empty && graph_.reduction(of).refuses_empty)
        fail_empty_reduction(source_, reduction.node);
      const NodeId tuple = of.operands[decision.way == Decision::empty ? 1 : 0];
      return alias_step(place, {graph_[tuple].operands[node.payload], decision.below});
    }
    case Decision::fused:
      break;
  }
  return copy_step(place, node, place.context);
}

bool Lowering::scan_step(Place place, const Node& node) {
  const Decision decision = decide(place);
  if (decision.way == Decision::cut) {
    cut(place, source_.shapes[place.node]);
    return true;
  }
  if (decision.way == Decision::single) return alias_step(place, {node.operands[0], place.context});
  return join_step(place, node, decision.below);
}

}  // namespace kiln::dsl
