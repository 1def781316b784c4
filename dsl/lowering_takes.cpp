// dsl/lowering_takes.cpp -- a take in a kernel: the place of the element is computed there, and the element loaded.
#include <algorithm>
#include <cstdlib>

#include "dsl/lowering_walk.h"
#include "support/check.h"

namespace kiln::dsl {

using codegen::Node;
using codegen::NodeKind;
using codegen::TakeSpec;

/// A number that follows from the shapes, as an argument of the kernel.
NodeId Lowering::number(std::int64_t value, DType type) { return parameter_node({0, type, true, value}); }

NodeId Lowering::operation(Op op, DType type, std::initializer_list<NodeId> operands) {
  return lowered_.body.graph.operation(op, type, {operands.begin(), operands.size()});
}

/// Counted in elements from the lowest address, without overflow for any index.
NodeId Lowering::taken_place(NodeId index, const TakeSpec& spec, std::int64_t extent, std::int64_t step) {
  codegen::Graph& body = lowered_.body.graph;
  const bool is_signed = is_signed_integer(body[index].type);
  const DType type = is_signed ? DType::i64 : DType::u64;
  const NodeId zero = body.literal_value(type, 0);
  const NodeId given = body.cast(index, type);
  NodeId position = given, valid = codegen::no_node;
  if (spec.mode == TakeSpec::clip) {
    position = operation(Op::minimum, type, {given, number(extent - 1, type)});
    if (is_signed) position = operation(Op::maximum, type, {position, zero});
  } else if (spec.mode == TakeSpec::wrap) {
    position = operation(Op::remainder, type, {given, number(extent, type)});
  } else {
    const NodeId end = number(extent, type);
    if (is_signed) {
      const NodeId from_end = operation(Op::add, type, {given, end});
      position = operation(Op::where, type, {operation(Op::lt, DType::b1, {given, zero}), from_end, given});
    }
    valid = operation(Op::lt, DType::b1, {position, end});
    if (is_signed)
      valid = operation(Op::logical_and, DType::b1, {operation(Op::ge, DType::b1, {position, zero}), valid});
  }
  NodeId result = body.cast(position, DType::i64);
  if (step < 0) result = operation(Op::sub, DType::i64, {number(extent - 1, DType::i64), result});
  if (std::abs(step) != 1) result = operation(Op::mul, DType::i64, {result, number(std::abs(step), DType::i64)});
  if (valid == codegen::no_node) return result;
  return operation(Op::where, DType::i64, {valid, result, body.literal(DType::i64, ~std::uint64_t{0})});
}

/// Every axis is walked upwards, so that places count from the lowest address.
NodeId Lowering::gather_node(Place place, const TakeSource& from, NodeId displacement) {
  codegen::Graph& body = lowered_.body.graph;
  const Node& take = graph_[place.node];
  const TakeSpec spec = TakeSpec::of(take.payload);
  const Shape& shape = source_.shapes[take.operands[0]];
  const TakeAxes axes = axes_of_take(spec, shape.rank, source_.shapes[take.operands[1]].rank);
  Strided rest{without_axis(shape, spec.axis), {}, from.view.offset};
  for (int k = 0; k < rest.shape.rank; ++k) rest.strides[k] = from.view.strides[k < spec.axis ? k : k + 1];
  const int below = contexts_.selected(place.context, source_.shapes[place.node], rest.shape, axes.rest);
  const Placement placed = contexts_.resolve(rest, below);
  KILN_INTERNAL_CHECK(!any_active(placed.folds), "a take is read displaced");
  Leaf affine{-1, true, DType::i64, placed.view};
  const DType type = from.slot >= 0 ? take.type : compute_type(take.type);
  affine.gathers = static_cast<std::uint8_t>(size_of(type));
  Leaf memory{from.slot, false, type, constant(affine.view.shape), static_cast<int>(from.stored)};
  if (from.slot >= 0) memory.temporary = -1;
  memory.gathered = true;
  memory.whole = from.view;
  memory.step = std::abs(from.view.strides[spec.axis]);
  memory.view.offset = affine.view.offset;
  affine.view.offset = 0;
  std::int64_t reach = 0;
  for (int axis = 0; axis < affine.view.shape.rank; ++axis) {
    const std::int64_t last =
        affine.view.strides[axis] * std::max<std::int64_t>(0, affine.view.shape.extents[axis] - 1);
    reach += std::abs(last);
    if (last < 0) memory.view.offset += last, affine.view.offset -= last;
  }
  if (from.view.strides[spec.axis] < 0)
    memory.view.offset += from.view.strides[spec.axis] * (shape.extents[spec.axis] - 1);
  const NodeId zero = body.literal(DType::i64, 0);
  const NodeId moved = reach == 0 ? zero : add_leaf(affine);
  const NodeId limit = reach == 0 ? zero : number(reach, DType::i64);
  return body.primitive(NodeKind::gather, type, {displacement, moved, limit}, leaf_number(memory),
                        graph_.location(place.node));
}

bool Lowering::take_step(Place place, const Node& node) {
  const TakeSpec spec = TakeSpec::of(node.payload);
  const Shape& source = source_.shapes[node.operands[0]];
  const Shape& indices = source_.shapes[node.operands[1]];
  const TakeAxes axes = axes_of_take(spec, source.rank, indices.rank);
  const int below = contexts_.selected(place.context, source_.shapes[place.node], indices, axes.indices);
  const NodeId index = known({node.operands[1], below});
  if (index == codegen::no_node) return false;
  const TakeSource from = source_of_take(source_, place.node);
  if (from.stored != codegen::no_node) lowered_.cuts.push_back({from.stored, {}});
  codegen::Graph& body = lowered_.body.graph;
  const NodeId far = taken_place(index, spec, source.extents[spec.axis], from.view.strides[spec.axis]);
  NodeId value = gather_node(place, from, far);
  if (body[value].type != node.type)
    value = body.primitive(NodeKind::cast, node.type, {value}, codegen::unrounded_cast);
  finish(place, value);
  return true;
}

}  // namespace kiln::dsl
