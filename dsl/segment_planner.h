// dsl/segment_planner.h -- the steps of segment(), sharing what is known about one call.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dsl/segment.h"
#include "dsl/segment_loops.h"

namespace kiln::dsl {

/// A value that some kernel has to compute.
struct Item {
  NodeId key;   ///< what asks for it: an output of the trace, or what is read from the temporary
  NodeId node;  ///< what is computed
  Shape shape;  ///< of the target or temporary
  bool is_temporary;
  std::uint32_t number;
  int rank;  ///< Levels::rank; < 0 for targets, which nothing else needs
};

/// How one item is computed.
struct ItemPlan {
  LoopChoice loop;
  std::unordered_set<NodeId> cut;  ///< fused nowhere, though their context would allow it
  Lowered lowered;
  bool is_chain = false;
  bool joins = false;  ///< PassOptions::joins_exponentials makes one pass of what would else be a chain
};

/// Items that one kernel computes.
struct ItemGroup {
  std::vector<Item> items;
  std::vector<ItemPlan> plans;  ///< one per item
  std::unordered_map<NodeId, Context> fused;
  std::unordered_set<NodeId> read;  ///< reductions and other values read from temporaries
  std::unordered_set<Leaf, LeafHash> leaves;
  bool is_chain = false;
  bool joins = false;     ///< that of some plan
  bool columns = false;   ///< ChainFacts::columns
  int highest_read = -1;  ///< rank
  const LoopChoice& loop() const { return plans.front().loop; }
};

class SegmentPlanner {
 public:
  using Fits = bool(const codegen::ChainFacts&, const codegen::DeviceTraits&);
  SegmentPlanner(const Source& source, const codegen::DeviceTraits& device, Fits* chain_fits = codegen::chain_fits)
      : source_(source), device_(device), chain_fits_(chain_fits), levels_(levels_of(source)) {}
  Segmentation run(std::span<const Shape> loops);

 private:
  // segment_items.cpp: one item
  ItemPlan plan(const Item& item);
  std::vector<LoopChoice> candidates(const Item& item, const ItemPlan& elementwise) const;
  std::optional<SplitShape> split_of(const ItemPlan& plan) const;
  std::optional<ItemPlan> plan_beside(const Item& item, const ItemGroup& group, std::string& reason) const;
  std::size_t cut_reductions(const ItemPlan& plan) const;
  bool attempt(const Item& item, ItemPlan& plan);
  bool is_own_loop(const Item& item, const ItemPlan& plan) const;
  void lower(const Item& item, ItemPlan& plan) const;
  void settle(const Item& item, ItemPlan& plan) const;
  std::string chain_reason(const codegen::ChainFacts& facts) const;
  std::string reason_of(const Cut& cut, const ItemPlan& plan) const;
  void request(const Item& item, const ItemPlan& plan);

  // segment.cpp: groups of items
  void plan_targets(std::span<const Shape> loops);
  std::vector<std::pair<Item, ItemPlan>> plan_rank(int rank);
  void plan_temporaries(int rank);
  void take_along(std::vector<ItemGroup>& groups, ItemGroup& group);
  NodeId stored_value(NodeId node) const;
  Item temporary_item(NodeId node) const;
  /// Why `plan` cannot share a kernel with the items of `group`; empty where it can.
  std::string refusal(const ItemGroup& group, const ItemPlan& plan) const;
  std::string chain_refusal(const ItemGroup& group, const ItemPlan& plan) const;
  bool accepts(const ItemGroup& group, const ItemPlan& plan) const { return refusal(group, plan).empty(); }
  void join(ItemGroup& group, Item item, ItemPlan plan) const;
  std::vector<std::string> place(std::vector<ItemGroup>& groups, Item item, ItemPlan plan) const;
  void set_apart(std::vector<std::string> reasons);
  void finish(ItemGroup& group);
  NodeId reduction_of(NodeId node) const;

  const Source& source_;
  const codegen::DeviceTraits& device_;
  Fits* chain_fits_;
  Levels levels_;
  std::map<int, std::vector<NodeId>> wanted_;          ///< nodes to be computed into temporaries, by rank
  std::unordered_map<NodeId, std::uint32_t> numbers_;  ///< of temporaries
  std::vector<ItemGroup> targets_;
  std::vector<ItemGroup> finished_;                  ///< consumers before producers
  std::unordered_map<NodeId, std::string> reasons_;  ///< why a reduction is not fused, where it was tried
  std::vector<std::string> apart_;                   ///< why results do not share a kernel
  std::unordered_set<NodeId> never_joined_;          ///< values whose maximum a kernel of its own computes
  Segmentation result_;
};

}  // namespace kiln::dsl
