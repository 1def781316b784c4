// dsl/segment_items.cpp -- the loop of one value, and which of its reductions run in it.
#include <algorithm>

#include "dsl/infer.h"
#include "dsl/segment_planner.h"
#include "support/check.h"

namespace kiln::dsl {

using codegen::Node;
using codegen::NodeKind;

namespace {

/// More tries than these find nothing better in practice.
constexpr std::size_t max_candidates = 4;
constexpr int max_rounds = 8;
/// A kernel with more accumulators than these keeps them in memory.
constexpr std::size_t max_fused = 32;
/// A longer body is better a kernel without reduced axes, which may be cut.
constexpr codegen::NodeId max_nodes = 1024;

/// Scans first, then the larger loop.
bool is_better(const LoopChoice& a, const LoopChoice& b) {
  const auto elements = [](const LoopChoice& choice) { return element_count("reduce", choice.loop, {}); };
  return a.scans != b.scans ? a.scans : elements(a) > elements(b);
}

}  // namespace

NodeId SegmentPlanner::reduction_of(NodeId node) const {
  const Node& at = source_.graph[node];
  return at.kind == NodeKind::element ? at.operands[0] : node;
}

void SegmentPlanner::lower(const Item& item, ItemPlan& plan) const {
  const LoweringRules rules{plan.loop.loop, plan.loop.reduced, plan.loop.scans, item.rank, plan.cut};
  const Root root{item.node, item.shape, plan.loop.value, plan.loop.axes};
  plan.lowered = lower_roots(source_, &levels_, rules, std::span(&root, 1));
}

/// Lowers until no reduction is met in two contexts: those that are come from temporaries.
void SegmentPlanner::settle(const Item& item, ItemPlan& plan) const {
  for (int round = 0;; ++round) {
    lower(item, plan);
    std::vector<NodeId> unclear = ambiguous(plan.lowered, source_.graph);
    if (unclear.empty()) return;
    if (round == max_rounds)
      for (const Fused& fused : plan.lowered.fused)
        if (fused.node != reduction_of(item.node)) plan.cut.insert(fused.node);
    plan.cut.insert(unclear.begin(), unclear.end());
  }
}

/// Loops in which a reduction that the item needs could run, the largest first.
std::vector<LoopChoice> SegmentPlanner::candidates(const Item& item, const ItemPlan& elementwise) const {
  std::vector<LoopChoice> found;
  const SplitShape& value = elementwise.loop.value;
  for (const Cut& cut : elementwise.lowered.cuts) {
    const NodeId node = reduction_of(cut.node);
    const NodeKind kind = source_.graph[node].kind;
    const bool is_own = node == reduction_of(item.node);
    if ((kind != NodeKind::reduce && kind != NodeKind::scan) || (levels_.is_stored[node] && !is_own)) continue;
    const std::optional<LoopChoice> choice = kind == NodeKind::scan ? scan_loop(source_, node, cut.context, value)
                                                                    : reduction_loop(source_, node, cut.context, value);
    if (!choice) continue;
    const auto same = [&](const LoopChoice& other) {
      return other.order == choice->order && other.axes == choice->axes && other.scans == choice->scans;
    };
    if (std::none_of(found.begin(), found.end(), same))
      found.insert(std::upper_bound(found.begin(), found.end(), *choice, is_better), *choice);
    if (found.size() == 4 * max_candidates) break;
  }
  if (found.size() > max_candidates) found.resize(max_candidates);
  return found;
}

std::string SegmentPlanner::chain_reason(const codegen::ChainFacts& facts) const {
  return fmt::format(
      "{} {} of {} elements, {} bytes each, are too few and too long to be kept while they are read once", facts.rows,
      facts.columns ? "columns" : "rows", facts.length, facts.length * facts.bytes);
}

/// Is the item itself a reduction or scan of the plan's kernel?
bool SegmentPlanner::is_own_loop(const Item& item, const ItemPlan& plan) const {
  return std::any_of(plan.lowered.fused.begin(), plan.lowered.fused.end(),
                     [&](const Fused& fused) { return fused.node == reduction_of(item.node); });
}

/// Fills `plan`, whose loop is given; false where nothing is gained by it.
bool SegmentPlanner::attempt(const Item& item, ItemPlan& plan) {
  settle(item, plan);
  const std::vector<NodeId> others = misaligned(plan.lowered, plan.loop, reduction_of(item.node));
  if (!plan.loop.scans && !others.empty()) {
    for (const NodeId node : others) reasons_.try_emplace(node, "it reads memory along the other direction");
    plan.cut.insert(others.begin(), others.end());
    settle(item, plan);
  }
  if (plan.lowered.fused.size() > max_fused) {
    for (const Fused& fused : plan.lowered.fused) {
      if (fused.node == reduction_of(item.node)) continue;
      reasons_.try_emplace(fused.node, fmt::format("a kernel joins at most {} reductions of one value", max_fused));
      plan.cut.insert(fused.node);
    }
    settle(item, plan);
  }
  if (plan.lowered.body.graph.size() > max_nodes && !is_own_loop(item, plan)) {
    for (const Fused& fused : plan.lowered.fused)
      reasons_.try_emplace(fused.node, "what follows from it is too long to be computed with it");
    return false;
  }
  const bool per_element = plan.loop.is_per_element();
  std::vector<NodeId> needed = needed_by_others(plan.lowered);
  if (plan.loop.scans) {
    while (!needed.empty()) {
      plan.cut.insert(needed.begin(), needed.end());
      settle(item, plan);
      needed = needed_by_others(plan.lowered);
    }
  } else if (!plan.lowered.fused.empty() && (per_element || !needed.empty())) {
    const codegen::ChainFacts facts = chain_facts(plan.lowered.body.leaves, plan.loop.loop, plan.loop.reduced);
    plan.is_chain = chain_fits_(facts, device_);
    if (!plan.is_chain) {
      for (const Fused& fused : plan.lowered.fused) reasons_.try_emplace(fused.node, chain_reason(facts));
      if (per_element) return false;
      plan.joins = device_.cuda && !never_joined_.contains(item.key) && becomes_one_pass(plan.lowered.body);
      if (!plan.joins) {
        plan.cut.insert(needed.begin(), needed.end());
        settle(item, plan);
      }
    }
  }
  return !plan.lowered.fused.empty();
}

/// Axes split so that a reshape that would be cut is none: nullopt where no cut reshape can be helped.
std::optional<SplitShape> SegmentPlanner::split_of(const ItemPlan& plan) const {
  for (const Cut& cut : plan.lowered.cuts) {
    if (source_.graph[cut.node].kind != NodeKind::view || is_shift(source_.graph, cut.node)) continue;
    if (levels_.is_stored[cut.node]) continue;
    std::optional<SplitShape> split = split_for_reshape(source_, cut.node, cut.context, plan.loop.value);
    if (split) return split;
  }
  return std::nullopt;
}

ItemPlan SegmentPlanner::plan(const Item& item) {
  ItemPlan elementwise;
  elementwise.loop = elementwise_loop(unsplit(item.shape));
  lower(item, elementwise);
  while (const std::optional<SplitShape> split = split_of(elementwise)) {
    elementwise.loop = elementwise_loop(*split);
    lower(item, elementwise);
  }
  std::optional<ItemPlan> best;
  for (const LoopChoice& choice : candidates(item, elementwise)) {
    ItemPlan plan;
    plan.loop = choice;
    // Fewer reductions computed elsewhere are fewer kernels; among equals the larger loop moves more bytes.
    if (!attempt(item, plan) || (best && cut_reductions(plan) >= cut_reductions(*best))) continue;
    best = std::move(plan);
    if (best->loop.scans || best->lowered.cuts.empty()) break;
  }
  return best ? std::move(*best) : elementwise;
}

std::size_t SegmentPlanner::cut_reductions(const ItemPlan& plan) const {
  std::unordered_set<NodeId> nodes;
  for (const Cut& cut : plan.lowered.cuts) nodes.insert(reduction_of(cut.node));
  return nodes.size();
}

/// Over the loop of `group`, where a value of the same extents that shares operands with it costs no pass of its own.
std::optional<ItemPlan> SegmentPlanner::plan_beside(const Item& item, const ItemGroup& group,
                                                    std::string& reason) const {
  ItemPlan plan;
  plan.loop = group.loop();
  if (plan.loop.reduced == 0 || plan.loop.scans) return std::nullopt;
  plan.loop.value = unsplit(item.shape);
  plan.loop.axes.fill(-1);
  std::size_t next = 0;
  std::array<int, 2> at = {0, plan.loop.loop.rank - plan.loop.reduced};  // of the next kept and reduced axis
  for (int axis = 0; axis < item.shape.rank; ++axis) {
    if (item.shape.extents[axis] == 1) continue;
    if (next == plan.loop.order.size() || plan.loop.order[next].first != item.shape.extents[axis]) return std::nullopt;
    plan.loop.axes[axis] = at[plan.loop.order[next++].second]++;
  }
  if (next != plan.loop.order.size()) return std::nullopt;
  settle(item, plan);
  const std::vector<Leaf>& leaves = plan.lowered.body.leaves;
  const bool shares = std::any_of(leaves.begin(), leaves.end(),
                                  [&](const Leaf& leaf) { return !leaf.iota && group.leaves.contains(leaf); });
  plan.is_chain = true;
  if (!shares) return std::nullopt;
  reason = refusal(group, plan);
  return reason.empty() ? std::optional(std::move(plan)) : std::nullopt;
}

std::string SegmentPlanner::reason_of(const Cut& cut, const ItemPlan& plan) const {
  const NodeId node = reduction_of(cut.node);
  const NodeKind kind = source_.graph[node].kind;
  if (levels_.is_taken[cut.node]) return "its elements are taken by index";
  if (is_shift(source_.graph, node)) {
    return plan.loop.reduced > 0 ? "kernels that reduce read nothing displaced"
                                 : "what needs it reads it displaced once more, or in another order";
  }
  if (levels_.is_long[node]) return "it is too long to be computed in every pass over a row";
  if (levels_.is_displaced[node]) return "it is read at several places, which cost more than computing it once";
  if (kind == NodeKind::view) return "no kernel can compute it in the order that the reshape asks for";
  if (levels_.is_taken[node]) return "its elements are taken by index";
  if (levels_.is_stored[node])
    return fmt::format("a kernel joins at most {} reductions that need one another", max_passes);
  const auto known = reasons_.find(node);
  if (known != reasons_.end()) return known->second;
  if (plan.cut.contains(node)) return "it is needed in more than one way";
  if (kind == NodeKind::scan) return "what needs it does not run along it element by element";
  return "its rows are not the rows of the kernel that needs it";
}

/// Wants a temporary for everything that the plan reads.
void SegmentPlanner::request(const Item& item, const ItemPlan& plan) {
  for (const Cut& cut : plan.lowered.cuts) {
    const int rank = levels_.rank(source_.graph, cut.node);
    KILN_INTERNAL_CHECK(item.rank < 0 || rank < item.rank, "{} needs {}", reduction_text(source_, item.key),
                        reduction_text(source_, cut.node));
    const auto number = static_cast<std::uint32_t>(result_.temporaries.size());
    if (!numbers_.try_emplace(cut.node, number).second) continue;
    wanted_[rank].push_back(cut.node);
    const Node& node = source_.graph[cut.node];
    const Shape& shape = source_.shapes[stored_value(cut.node)];
    result_.temporaries.push_back({compute_type(node.type), shape});
    const std::int64_t bytes = element_count("temporary", shape, where_of(source_.graph, cut.node)) *
                               static_cast<std::int64_t>(size_of(compute_type(node.type)));
    result_.notes.push_back(fmt::format("{} is computed first, into a temporary of {} bytes: {}",
                                        reduction_text(source_, cut.node), bytes, reason_of(cut, plan)));
  }
}

}  // namespace kiln::dsl
