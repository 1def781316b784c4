// dsl/lowering_walk.h -- the walk of lower_roots(): one step per node and context.
#pragma once

#include <unordered_map>
#include <vector>

#include "dsl/infer.h"
#include "dsl/lowering.h"
#include "dsl/taken_shape.h"
#include "dsl/taking.h"

namespace kiln::dsl {

struct Place {
  NodeId node;
  int context;
};

inline std::uint64_t key_of(Place place) {
  return std::uint64_t{place.node} << 32 | static_cast<std::uint32_t>(place.context);
}

class Lowering {
 public:
  Lowering(const Source& source, const Levels* levels, const LoweringRules& rules)
      : graph_(source.graph), source_(source), levels_(levels), rules_(rules), contexts_(rules.loop) {
    for (int axis = rules.loop.rank - rules.reduced; axis < rules.loop.rank; ++axis) loop_axes_.push_back(axis);
  }

  void add(const Root& root);
  Lowered take() { return std::move(lowered_); }

 private:
  /// How a reduction or scan is computed where it is met.
  struct Decision {
    enum Way : std::uint8_t { fused, cut, single, empty } way;
    int below;  ///< context of the operands; but for `cut`
  };

  /// Finishes `place`, or queues what it needs first and returns false.
  bool step(Place place);
  bool view_step(Place place, const codegen::Node& node);
  bool shift_step(Place place, const codegen::Node& node);
  NodeId inside(Place place, const codegen::ViewSpec& spec);
  bool copy_step(Place place, codegen::Node copy, int below);
  bool alias_step(Place place, Place of);
  bool reduce_step(Place place, const codegen::Node& node);
  bool single_step(Place place, const codegen::Node& node, int below);
  bool empty_step(Place place, const codegen::Node& node, int below);
  bool scan_step(Place place, const codegen::Node& node);
  bool element_step(Place place, const codegen::Node& node);
  bool take_step(Place place, const codegen::Node& node);
  Decision decide(Place place);
  bool join_step(Place place, const codegen::Node& node, int below);
  Decision decide_reduction(Place place, const codegen::Node& node);
  bool scan_fits(Place place, const codegen::Node& node) const;
  bool covers_kept_axes(const Context& context) const;
  /// The value of `node` at `place`, whose node may differ, once its operands are known.
  NodeId known(Place place);
  void cut(Place place, const Shape& shape);
  /// Of a take: how far from the start of its axis the element lies, or -1; then the element.
  NodeId taken_place(NodeId index, const codegen::TakeSpec& spec, std::int64_t extent, std::int64_t step);
  NodeId gather_node(Place place, const TakeSource& from, NodeId displacement);
  NodeId number(std::int64_t value, DType type);
  NodeId operation(Op op, DType type, std::initializer_list<NodeId> operands);
  NodeId leaf_node(Place place, const codegen::Node& node);
  void place_leaf(Leaf& leaf, const Strided& view, int context) const;
  NodeId add_leaf(const Leaf& leaf);
  std::size_t leaf_number(Leaf leaf);
  NodeId parameter_node(const Parameter& parameter);
  void finish(Place place, NodeId id);
  Where where(NodeId node) const { return where_of(graph_, node); }

  const codegen::Graph& graph_;
  const Source& source_;
  const Levels* levels_;
  const LoweringRules& rules_;
  Contexts contexts_;
  std::vector<int> loop_axes_;  ///< the reduced ones
  Lowered lowered_;
  std::vector<Place> pending_;
  std::unordered_map<std::uint64_t, NodeId> done_;
  std::unordered_map<std::uint64_t, int> view_contexts_;
  std::unordered_map<std::uint64_t, Decision> decisions_;
  std::unordered_map<std::uint64_t, std::size_t> fused_;  ///< by node and context of the operand
  std::unordered_map<Leaf, std::size_t, LeafHash> leaf_index_;
};

}  // namespace kiln::dsl
