// dsl/segment_planner.cpp -- groups the values of a call into kernels, consumers first, so that every need is known in
// time.
#include "dsl/segment_planner.h"

#include <algorithm>

#include "dsl/infer.h"
#include "support/check.h"

namespace kiln::dsl {

using codegen::Node;
using codegen::NodeKind;

namespace {

/// A kernel with more accumulators than these keeps them in memory.
constexpr std::size_t max_reductions = 32;

constexpr const char* different_loops =
    "results of different shapes, or reduced along different axes, do not share a loop";
constexpr const char* per_element =
    "a result per element shares the loop of a reduction only where it has all its extents and reads an operand of it";

bool is_elementwise(const codegen::Graph& graph) {
  return std::none_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& node) {
    return node.kind == NodeKind::reduce || node.kind == NodeKind::scan || node.kind == NodeKind::take;
  });
}

bool is_empty(const Shape& shape) {
  return std::find(shape.span().begin(), shape.span().end(), 0) != shape.span().end();
}

bool needs_planner(const codegen::Graph& graph) {
  if (!is_elementwise(graph)) return true;
  for (NodeId id = 0; id < graph.size(); ++id)
    if (is_shift(graph, id)) return true;
  return false;
}

/// Outputs of one shape share a kernel.
Segmentation elementwise_segments(const Source& source, std::span<const Shape> loops) {
  Segmentation result;
  for (std::uint32_t t = 0; t < loops.size(); ++t) {
    if (is_empty(loops[t])) continue;
    auto same = std::find_if(result.segments.begin(), result.segments.end(),
                             [&](const Segment& segment) { return segment.loop == loops[t]; });
    if (same == result.segments.end()) {
      same = result.segments.emplace(same);
      same->loop = loops[t];
    }
    same->outputs.push_back({false, t, loops[t], elementwise_loop(unsplit(loops[t])).axes});
  }
  for (Segment& segment : result.segments) {
    std::vector<NodeId> outputs;
    for (const SegmentOutput& output : segment.outputs) outputs.push_back(source.graph.outputs[output.number]);
    segment.body = lower(source.graph, source.shapes, source.operands, outputs, segment.loop);
  }
  return result;
}

}  // namespace

std::string SegmentPlanner::refusal(const ItemGroup& group, const ItemPlan& plan) const {
  const LoopChoice& loop = group.loop();
  if ((loop.reduced == 0) != (plan.loop.reduced == 0)) return per_element;
  if (loop.scans != plan.loop.scans) return "running reductions do not share a loop with others";
  if (loop.order != plan.loop.order || loop.loop != plan.loop.loop) return different_loops;
  for (const Fused& fused : plan.lowered.fused) {
    const auto known = group.fused.find(fused.node);
    if (known != group.fused.end() && known->second != fused.operand) return "a reduction is needed in two ways";
    if (group.read.contains(fused.node)) return "one reads from memory what the other computes";
  }
  for (const Cut& cut : plan.lowered.cuts)
    if (group.fused.contains(reduction_of(cut.node))) return "one reads from memory what the other computes";
  return loop.reduced == 0 || loop.scans ? "" : chain_refusal(group, plan);
}

/// The part of refusal() that asks whether one kernel should compute so many reductions, and chains of them.
std::string SegmentPlanner::chain_refusal(const ItemGroup& group, const ItemPlan& plan) const {
  const LoopChoice& loop = group.loop();
  if (group.fused.size() + plan.lowered.fused.size() > max_reductions)
    return fmt::format("a kernel joins at most {} reductions", max_reductions);
  const codegen::ChainFacts own = chain_facts(plan.lowered.body.leaves, loop.loop, loop.reduced);
  if (own.bytes > 0 && own.columns != group.columns)
    return "the rows of one lie contiguous in memory, those of the other lie across it";
  if (!group.is_chain && !plan.is_chain) return "";
  std::vector<Leaf> leaves(group.leaves.begin(), group.leaves.end());
  for (const Leaf& leaf : plan.lowered.body.leaves)
    if (!group.leaves.contains(leaf)) leaves.push_back(leaf);
  const codegen::ChainFacts facts = chain_facts(leaves, loop.loop, loop.reduced);
  return chain_fits_(facts, device_) ? "" : chain_reason(facts);
}

void SegmentPlanner::join(ItemGroup& group, Item item, ItemPlan plan) const {
  for (const Fused& fused : plan.lowered.fused) group.fused.try_emplace(fused.node, fused.operand);
  for (const Cut& cut : plan.lowered.cuts) {
    group.read.insert(reduction_of(cut.node));
    group.highest_read = std::max(group.highest_read, levels_.rank(source_.graph, cut.node));
  }
  const LoopChoice& loop = plan.loop;
  if (group.items.empty()) group.columns = chain_facts(plan.lowered.body.leaves, loop.loop, loop.reduced).columns;
  group.leaves.insert(plan.lowered.body.leaves.begin(), plan.lowered.body.leaves.end());
  group.is_chain = group.is_chain || plan.is_chain;
  group.joins = group.joins || plan.joins;
  group.items.push_back(item);
  group.plans.push_back(std::move(plan));
}

/// Into the first group that accepts it, or one of its own: then returns why each of the others did not.
std::vector<std::string> SegmentPlanner::place(std::vector<ItemGroup>& groups, Item item, ItemPlan plan) const {
  std::vector<std::string> reasons;
  for (ItemGroup& group : groups) {
    reasons.push_back(refusal(group, plan));
    if (!reasons.back().empty()) continue;
    join(group, item, std::move(plan));
    return {};
  }
  join(groups.emplace_back(), item, std::move(plan));
  return reasons;
}

/// Notes why a result has a kernel of its own: each reason once.
void SegmentPlanner::set_apart(std::vector<std::string> reasons) {
  for (std::string& reason : reasons)
    if (std::find(apart_.begin(), apart_.end(), reason) == apart_.end()) apart_.push_back(std::move(reason));
}

void SegmentPlanner::plan_targets(std::span<const Shape> loops) {
  std::vector<std::pair<Item, ItemPlan>> elementwise;
  for (std::uint32_t t = 0; t < loops.size(); ++t) {
    if (is_empty(loops[t])) continue;
    const NodeId node = source_.graph.outputs[t];
    const Item item{node, node, loops[t], false, t, -1};
    ItemPlan plan = this->plan(item);
    if (plan.loop.reduced == 0) {
      elementwise.emplace_back(item, std::move(plan));
    } else {
      request(item, plan);
      set_apart(place(targets_, item, std::move(plan)));
    }
  }
  for (auto& [item, plan] : elementwise) {
    ItemGroup* beside = nullptr;
    std::vector<std::string> reasons;
    for (ItemGroup& group : targets_) {
      std::string reason;
      std::optional<ItemPlan> shared = plan_beside(item, group, reason);
      if (!reason.empty()) reasons.push_back(reason);
      if (!shared) continue;
      plan = std::move(*shared);
      beside = &group;
      break;
    }
    request(item, plan);
    if (beside) {
      join(*beside, item, std::move(plan));
      continue;
    }
    for (std::string& other : place(targets_, item, std::move(plan)))
      if (reasons.empty() || other != per_element) reasons.push_back(std::move(other));
    set_apart(std::move(reasons));
  }
}

/// Of a reshape the operand is stored, of anything else the value.
NodeId SegmentPlanner::stored_value(NodeId node) const {
  const Node& at = source_.graph[node];
  const bool is_reshape = at.kind == NodeKind::view && !is_shift(source_.graph, node);
  return is_reshape && !levels_.is_value(source_.graph, node) ? at.operands[0] : node;
}

Item SegmentPlanner::temporary_item(NodeId node) const {
  const NodeId value = stored_value(node);
  return {node, value, source_.shapes[value], true, numbers_.at(node), levels_.rank(source_.graph, node)};
}

/// Reductions that run in the group anyway and that others wait for are stored by it, not computed once more: where
/// nothing that the group reads, and no kernel of the same rank, may be one of those others.
void SegmentPlanner::take_along(std::vector<ItemGroup>& groups, ItemGroup& group) {
  const auto is_read = [](const ItemGroup& other, NodeId node) { return other.read.contains(node); };
  std::vector<NodeId> nodes;
  for (auto& [rank, wanted] : wanted_) {
    if (group.highest_read > rank) continue;
    for (const NodeId wanted_node : wanted) {
      const NodeId node = reduction_of(wanted_node);
      const bool waits =
          std::any_of(groups.begin(), groups.end(), [&](const ItemGroup& g) { return is_read(g, node); });
      if (group.fused.contains(node) && !waits) nodes.push_back(wanted_node);
    }
  }
  for (const NodeId node : nodes) {
    const Item item = temporary_item(node);
    ItemPlan plan = this->plan(item);
    if (!accepts(group, plan)) continue;
    request(item, plan);
    join(group, item, std::move(plan));
    std::erase(wanted_[item.rank], node);
  }
}

/// How all that is wanted of one rank is computed. A maximum that one of them reads from memory has a kernel of its own
/// in any case: then no other one finds it with its sum of exponentials.
std::vector<std::pair<Item, ItemPlan>> SegmentPlanner::plan_rank(int rank) {
  std::vector<NodeId> nodes = std::move(wanted_[rank]);
  wanted_.erase(rank);
  std::sort(nodes.begin(), nodes.end());
  std::vector<std::pair<Item, ItemPlan>> planned;
  std::unordered_set<NodeId> read;
  for (const NodeId node : nodes) {
    const Item item = temporary_item(node);
    planned.emplace_back(item, plan(item));
    for (const Cut& cut : planned.back().second.lowered.cuts) read.insert(reduction_of(cut.node));
  }
  for (auto& [item, plan] : planned) {
    const auto is_read = [&](const Fused& fused) { return read.contains(fused.node); };
    if (!plan.joins || std::none_of(plan.lowered.fused.begin(), plan.lowered.fused.end(), is_read)) continue;
    never_joined_.insert(item.key);
    plan = this->plan(item);
  }
  return planned;
}

/// All that is wanted of one rank: nothing among it needs another.
void SegmentPlanner::plan_temporaries(int rank) {
  std::vector<ItemGroup> groups;
  // A target that needs nothing of this rank may share the pass of a value that others wait for.
  for (auto group = targets_.begin(); group != targets_.end();) {
    const bool may_share = group->loop().reduced > 0 && group->highest_read < rank;
    if (may_share) groups.push_back(std::move(*group));
    group = may_share ? targets_.erase(group) : std::next(group);
  }
  for (auto& [item, plan] : plan_rank(rank)) {
    request(item, plan);
    place(groups, item, std::move(plan));
  }
  const auto is_awaited = [](const ItemGroup& group) {
    return std::any_of(group.items.begin(), group.items.end(), [](const Item& item) { return item.is_temporary; });
  };
  for (ItemGroup& group : groups)
    if (is_awaited(group)) take_along(groups, group);
  for (ItemGroup& group : groups) (is_awaited(group) ? finished_ : targets_).push_back(std::move(group));
}

void SegmentPlanner::finish(ItemGroup& group) {
  const LoopChoice& loop = group.loop();
  Segment segment;
  segment.loop = loop.loop;
  segment.reduced = loop.reduced;
  LoweringRules rules{loop.loop, loop.reduced, loop.scans, -1, {}};
  std::vector<Root> roots;
  for (std::size_t i = 0; i < group.items.size(); ++i) {
    const Item& item = group.items[i];
    const ItemPlan& plan = group.plans[i];
    roots.push_back({item.node, item.shape, plan.loop.value, plan.loop.axes});
    segment.outputs.push_back({item.is_temporary, item.number, plan.loop.value.parts, plan.loop.axes});
    rules.cut.insert(plan.cut.begin(), plan.cut.end());
    rules.rank = std::max(rules.rank, item.rank);
  }
  segment.body = group.items.size() == 1 ? std::move(group.plans.front().lowered.body)
                                         : lower_roots(source_, &levels_, rules, roots).body;
  for (Leaf& leaf : segment.body.leaves)
    if (leaf.temporary >= 0) leaf.temporary = static_cast<int>(numbers_.at(static_cast<NodeId>(leaf.temporary)));
  codegen::Graph& body = segment.body.graph;
  for (std::size_t i = 0; i < group.items.size(); ++i) {
    if (!group.items[i].is_temporary) continue;
    const DType type = result_.temporaries[group.items[i].number].type;
    body.outputs[i] = body.cast(body.outputs[i], type);
  }
  if (loop.reduced > 0 && !loop.scans) {
    codegen::ChainFacts facts = chain_facts(segment.body.leaves, loop.loop, loop.reduced);
    facts.elements = std::any_of(group.plans.begin(), group.plans.end(),
                                 [](const ItemPlan& plan) { return plan.loop.is_per_element(); });
    segment.holds_rows = !group.joins && codegen::holds_rows(facts, device_);
    segment.joins_exponentials = group.joins || codegen::joins_exponentials(facts, device_);
  }
  result_.segments.push_back(std::move(segment));
}

Segmentation SegmentPlanner::run(std::span<const Shape> loops) {
  plan_targets(loops);
  while (!wanted_.empty()) plan_temporaries(wanted_.rbegin()->first);
  std::reverse(finished_.begin(), finished_.end());
  std::sort(targets_.begin(), targets_.end(),
            [](const ItemGroup& a, const ItemGroup& b) { return a.items.front().number < b.items.front().number; });
  if (targets_.size() > 1) {
    // Groups that were joined by a temporary since have left the others without a reason of their own.
    if (apart_.empty()) apart_.emplace_back(different_loops);
    result_.notes.push_back(fmt::format("{} kernels for results: {}", targets_.size(), fmt::join(apart_, "; ")));
  }
  std::move(targets_.begin(), targets_.end(), std::back_inserter(finished_));
  for (ItemGroup& group : finished_) finish(group);
  return std::move(result_);
}

Segmentation segment(const codegen::Graph& graph, std::span<const Shape> shapes, std::span<const Operand> operands,
                     std::span<const Shape> loops, const codegen::DeviceTraits& device) {
  const Source source{graph, shapes, operands};
  if (needs_planner(graph)) return SegmentPlanner(source, device).run(loops);
  Segmentation result = elementwise_segments(source, loops);
  if (result.segments.size() > 1) {
    const char* reason = "outputs of different shapes do not share a loop";
    result.notes.push_back(fmt::format("{} kernels: {}", result.segments.size(), reason));
  }
  return result;
}

}  // namespace kiln::dsl
