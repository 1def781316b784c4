// dsl/lowering_shift.cpp -- where a shift is met: its operand is read displaced, or the shift is computed first.
#include "dsl/lowering_walk.h"

namespace kiln::dsl {

using codegen::Node;
using codegen::NodeKind;

/// Whether the element that shift `spec` reads at `place` lies inside its operand: a b1 value, or no_node where all do.
NodeId Lowering::inside(Place place, const codegen::ViewSpec& spec) {
  const Shape& shape = source_.shapes[place.node];
  const Context context = contexts_.aligned(place.context, shape);
  codegen::Graph& body = lowered_.body.graph;
  NodeId all = codegen::no_node;
  const auto require = [&](Op op, NodeId position, NodeId bound) {
    const NodeId sides[] = {position, bound};
    const NodeId holds = body.operation(op, DType::b1, sides);
    const NodeId both[] = {all, holds};
    all = all == codegen::no_node ? holds : body.operation(Op::bit_and, DType::b1, both);
  };
  for (int axis = 0; axis < shape.rank; ++axis) {
    const std::int64_t extent = shape.extents[axis];
    const Positions at = positions(context, axis, displacement(spec, axis, extent).by);
    if (at.low >= 0 && at.high < extent) continue;
    Leaf leaf;
    leaf.iota = true;
    leaf.type = DType::i64;
    leaf.view = at.view;
    const NodeId position = add_leaf(leaf);
    if (at.low < 0) require(Op::ge, position, body.literal(DType::i64, 0));
    if (at.high >= extent) require(Op::lt, position, parameter_node({0, DType::i64, true, extent}));
  }
  return all;
}

/// Kernels with reduced axes read nothing displaced: a shift that they need is computed before.
bool Lowering::shift_step(Place place, const Node& node) {
  const codegen::ViewSpec& spec = graph_.view_spec(node);
  const Shape& shape = source_.shapes[place.node];
  const std::optional<int> below = contexts_.shifted(place.context, spec, shape);
  if (!below || (rules_.reduced > 0 && contexts_.has_folds(*below))) {
    cut(place, shape);
    return true;
  }
  const NodeId fill = node.arity > 1 ? known({node.operands[1], place.context}) : codegen::no_node;
  const NodeId value = known({node.operands[0], *below});
  if (value == codegen::no_node || (node.arity > 1 && fill == codegen::no_node)) return false;
  const NodeId is_inside = node.arity > 1 ? inside(place, spec) : codegen::no_node;
  const NodeId choice[] = {is_inside, value, fill};
  finish(place, is_inside == codegen::no_node
                    ? value
                    : lowered_.body.graph.operation(Op::where, node.type, choice, graph_.location(place.node)));
  return true;
}

}  // namespace kiln::dsl
