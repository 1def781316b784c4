// dsl/lowering_walk.cpp -- copies the needed part of a trace into a kernel body, node by node and map by map.
#include "dsl/lowering_walk.h"

#include <algorithm>
#include <numeric>

#include "support/check.h"

namespace kiln::dsl {
using codegen::Node;
using codegen::NodeKind;

namespace {

/// A body larger than this comes from a chain of shifted views whose combinations multiply.
constexpr std::size_t max_body_nodes = 4'000'000;

}  // namespace

void Lowering::add(const Root& root) {
  const Place first{root.node, contexts_.placed(root.shape, root.split, root.axes)};
  pending_.push_back(first);
  while (!pending_.empty()) {
    const Place top = pending_.back();
    if (done_.contains(key_of(top)) || step(top)) pending_.pop_back();
  }
  lowered_.body.graph.outputs.push_back(done_.at(key_of(first)));
}

NodeId Lowering::known(Place place) {
  const auto entry = done_.find(key_of(place));
  if (entry != done_.end()) return entry->second;
  pending_.push_back(place);
  return codegen::no_node;
}

void Lowering::finish(Place place, NodeId id) {
  done_.emplace(key_of(place), id);
  if (done_.size() > max_body_nodes) {
    fail<ShapeError>(
        "{}: shifted views of views make more than {} distinct values{}; write kl::eval for an inner "
        "expression to compute it once",
        node_name(graph_[place.node]), max_body_nodes, dsl::place(where(place.node)));
  }
}

bool Lowering::step(Place place) {
  const Node& node = graph_[place.node];
  if (levels_ && levels_->is_stored[place.node] && rules_.may_read(source_, *levels_, place.node) &&
      node.kind != NodeKind::reduce) {
    cut(place, source_.shapes[place.node]);
    return true;
  }
  switch (node.kind) {
    case NodeKind::input:
    case NodeKind::iota:
    case NodeKind::index:
      finish(place, leaf_node(place, node));
      return true;
    case NodeKind::parameter:
      finish(place, parameter_node({static_cast<unsigned>(node.payload), node.type}));
      return true;
    case NodeKind::extent: {
      const std::int64_t elements = joined_elements(source_, place.node) - graph_.reduction(node).subtract;
      finish(place, parameter_node({0, node.type, true, std::max<std::int64_t>(0, elements)}));
      return true;
    }
    case NodeKind::view:
      return view_step(place, node);
    case NodeKind::reduce:
      return reduce_step(place, node);
    case NodeKind::scan:
      return scan_step(place, node);
    case NodeKind::element:
      return element_step(place, node);
    case NodeKind::take:
      return take_step(place, node);
    default:
      return copy_step(place, node, place.context);
  }
}

bool Lowering::view_step(Place place, const Node& node) {
  if (graph_.view_spec(node).kind == codegen::ViewSpec::Kind::shift) return shift_step(place, node);
  const NodeId operand = node.operands[0];
  const auto [entry, inserted] = view_contexts_.try_emplace(key_of(place), 0);
  if (inserted) {
    const codegen::ViewSpec& spec = graph_.view_spec(node);
    const Shape& from = source_.shapes[operand];
    const Shape& to = source_.shapes[place.node];
    const std::optional<int> below = contexts_.affine_below(place.context, spec, from, to, where(place.node));
    // Neither a reduction nor a shift can run below (or above) a reshape that no affine map describes.
    if (!below && levels_ && (levels_->level[operand] > 0 || contexts_.has_folds(place.context))) {
      cut(place, to);
      return true;
    }
    entry->second = below ? *below : contexts_.below(place.context, spec, from, to, where(place.node));
  }
  return alias_step(place, {operand, entry->second});
}

bool Lowering::alias_step(Place place, Place of) {
  const NodeId value = known(of);
  if (value == codegen::no_node) return false;
  finish(place, value);
  return true;
}

/// `copy` with its operands in context `below`.
bool Lowering::copy_step(Place place, Node copy, int below) {
  bool ready = true;
  for (int i = copy.arity; i-- > 0;) {
    const NodeId value = known({copy.operands[i], below});
    ready = ready && value != codegen::no_node;
    copy.operands[i] = value;
  }
  if (ready) finish(place, lowered_.body.graph.adopt(graph_, copy, graph_.location(place.node)));
  return ready;
}

// ------------------------------------------------------------------ leaves
void Lowering::cut(Place place, const Shape& shape) {
  const DType type = graph_[place.node].type;
  Leaf leaf;
  leaf.temporary = static_cast<int>(place.node);
  leaf.type = compute_type(type);
  place_leaf(leaf, contiguous("temporary", shape, where(place.node)), place.context);
  NodeId value = add_leaf(leaf);
  if (leaf.type != type) value = lowered_.body.graph.primitive(NodeKind::cast, type, {value}, codegen::unrounded_cast);
  lowered_.cuts.push_back({place.node, contexts_.aligned(place.context, shape)});
  finish(place, value);
}

void Lowering::place_leaf(Leaf& leaf, const Strided& view, int context) const {
  const Placement placed = contexts_.resolve(view, context);
  leaf.view = placed.view;
  leaf.folds = placed.folds;
}

NodeId Lowering::leaf_node(Place place, const Node& node) {
  Leaf leaf;
  if (node.kind == NodeKind::index) {
    leaf.iota = true;
    leaf.type = DType::i64;
    Strided coordinate = constant(source_.shapes[node.operands[0]]);
    coordinate.strides[node.payload] = 1;
    place_leaf(leaf, coordinate, place.context);
  } else {
    const Operand& operand = source_.operands[node.payload];
    leaf.slot = operand.merged;
    leaf.iota = operand.iota;
    leaf.type = operand.type;
    place_leaf(leaf, operand.view, place.context);
  }
  return add_leaf(leaf);
}

std::size_t Lowering::leaf_number(Leaf leaf) {
  for (int axis = 0; axis < leaf.view.shape.rank; ++axis)
    if (leaf.view.shape.extents[axis] <= 1) leaf.view.strides[axis] = 0;  // never stepped along
  Body& body = lowered_.body;
  const auto [entry, inserted] = leaf_index_.try_emplace(leaf, body.leaves.size());
  if (inserted) body.leaves.push_back(leaf);
  return entry->second;
}

NodeId Lowering::add_leaf(const Leaf& leaf) {
  const std::size_t number = leaf_number(leaf);
  codegen::Graph& body = lowered_.body.graph;
  return leaf.iota ? body.iota(number) : body.load(number, leaf.type);
}

NodeId Lowering::parameter_node(const Parameter& parameter) {
  std::vector<Parameter>& parameters = lowered_.body.parameters;
  const auto known = std::find(parameters.begin(), parameters.end(), parameter);
  const auto number = static_cast<std::size_t>(known - parameters.begin());
  if (known == parameters.end()) parameters.push_back(parameter);
  return lowered_.body.graph.parameter(number, parameter.type);
}

Lowered lower_roots(const Source& source, const Levels* levels, const LoweringRules& rules,
                    std::span<const Root> roots) {
  Lowering lowering(source, levels, rules);
  for (const Root& root : roots) lowering.add(root);
  return lowering.take();
}

Body lower(const codegen::Graph& graph, std::span<const Shape> shapes, std::span<const Operand> operands,
           std::span<const NodeId> outputs, const Shape& loop) {
  const Source source{graph, shapes, operands};
  LoweringRules rules;
  rules.loop = loop;
  AxisMap axes;
  std::iota(axes.begin(), axes.end(), 0);
  std::vector<Root> roots;
  for (const NodeId output : outputs) roots.push_back({output, loop, unsplit(loop), axes});
  return lower_roots(source, nullptr, rules, roots).body;
}

}  // namespace kiln::dsl
