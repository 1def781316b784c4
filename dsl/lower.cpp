// dsl/lower.cpp -- copies the needed part of a trace into a kernel body, node by node and map by map.
#include "dsl/lower.h"

#include <algorithm>
#include <unordered_map>

#include "dsl/contexts.h"
#include "dsl/infer.h"
#include "support/check.h"

namespace kiln::dsl {
namespace {

using codegen::Node;
using codegen::NodeId;
using codegen::NodeKind;

/// A body larger than this comes from a chain of shifted views whose combinations multiply.
constexpr std::size_t max_body_nodes = 4'000'000;

struct Place {
  NodeId node;
  int context;
};

std::uint64_t key_of(Place place) {
  return std::uint64_t{place.node} << 32 | static_cast<std::uint32_t>(place.context);
}

struct LeafHash {
  std::size_t operator()(const Leaf& leaf) const {
    std::uint64_t hash = static_cast<std::uint64_t>(leaf.slot) * 0x9e3779b97f4a7c15u + leaf.iota;
    for (int axis = 0; axis < leaf.view.shape.rank; ++axis)
      hash = (hash ^ static_cast<std::uint64_t>(leaf.view.strides[axis])) * 0x9e3779b97f4a7c15u;
    return (hash ^ static_cast<std::uint64_t>(leaf.view.offset)) * 0x9e3779b97f4a7c15u;
  }
};

class Lowering {
 public:
  Lowering(const codegen::Graph& graph, std::span<const Shape> shapes, std::span<const Operand> operands,
           const Shape& loop)
      : graph_(graph), shapes_(shapes), operands_(operands), contexts_(loop) {}

  /// The body's node for `node` seen over the loop.
  NodeId at_root(NodeId node) {
    pending_.push_back({node, Contexts::root});
    while (!pending_.empty()) {
      const Place top = pending_.back();
      if (done_.contains(key_of(top)) || step(top)) pending_.pop_back();
    }
    return done_.at(key_of({node, Contexts::root}));
  }

  Body take() { return std::move(body_); }
  codegen::Graph& body() { return body_.graph; }

 private:
  /// Finishes `place`, or queues what it needs first and returns false.
  bool step(Place place);
  bool view_step(Place place, const Node& node);
  bool copy_step(Place place, const Node& node);
  NodeId leaf_node(Place place, const Node& node);
  NodeId parameter_node(const Node& node);
  void finish(Place place, NodeId id);

  const codegen::Graph& graph_;
  std::span<const Shape> shapes_;
  std::span<const Operand> operands_;
  Contexts contexts_;
  Body body_;
  std::vector<Place> pending_;
  std::unordered_map<std::uint64_t, NodeId> done_;
  std::unordered_map<std::uint64_t, int> view_contexts_;
  std::unordered_map<Leaf, std::size_t, LeafHash> leaf_index_;
};

void Lowering::finish(Place place, NodeId id) {
  done_.emplace(key_of(place), id);
  if (done_.size() > max_body_nodes) {
    fail<ShapeError>(
        "{}: shifted views of views make more than {} distinct values{}; write kl::eval for an inner "
        "expression to compute it once",
        node_name(graph_[place.node]), max_body_nodes, dsl::place(where_of(graph_, place.node)));
  }
}

bool Lowering::step(Place place) {
  const Node& node = graph_[place.node];
  switch (node.kind) {
    case NodeKind::input:
    case NodeKind::iota:
    case NodeKind::index:
      finish(place, leaf_node(place, node));
      return true;
    case NodeKind::parameter:
      finish(place, parameter_node(node));
      return true;
    case NodeKind::view:
      return view_step(place, node);
    default:
      return copy_step(place, node);
  }
}

bool Lowering::view_step(Place place, const Node& node) {
  const NodeId operand = node.operands[0];
  const auto [entry, inserted] = view_contexts_.try_emplace(key_of(place), 0);
  if (inserted) {
    entry->second = contexts_.below(place.context, graph_.view_spec(node), shapes_[operand], shapes_[place.node],
                                    where_of(graph_, place.node));
  }
  const Place below{operand, entry->second};
  const auto known = done_.find(key_of(below));
  if (known == done_.end()) {
    pending_.push_back(below);
    return false;
  }
  finish(place, known->second);
  return true;
}

bool Lowering::copy_step(Place place, const Node& node) {
  Node copy = node;
  bool ready = true;
  for (int i = node.arity; i-- > 0;) {
    const Place operand{node.operands[i], place.context};
    const auto known = done_.find(key_of(operand));
    if (known == done_.end()) {
      pending_.push_back(operand);
      ready = false;
    } else {
      copy.operands[i] = known->second;
    }
  }
  if (ready) finish(place, body_.graph.add(copy, graph_.location(place.node)));
  return ready;
}

NodeId Lowering::leaf_node(Place place, const Node& node) {
  Leaf leaf;
  if (node.kind == NodeKind::index) {
    leaf.iota = true;
    leaf.type = DType::i64;
    Strided coordinate = constant(shapes_[node.operands[0]]);
    coordinate.strides[node.payload] = 1;
    leaf.view = contexts_.resolve(coordinate, place.context);
  } else {
    const Operand& operand = operands_[node.payload];
    leaf.slot = operand.merged;
    leaf.iota = operand.iota;
    leaf.type = operand.type;
    leaf.view = contexts_.resolve(operand.view, place.context);
  }
  for (int axis = 0; axis < leaf.view.shape.rank; ++axis)
    if (leaf.view.shape.extents[axis] <= 1) leaf.view.strides[axis] = 0;  // never stepped along
  const auto [entry, inserted] = leaf_index_.try_emplace(leaf, body_.leaves.size());
  if (inserted) body_.leaves.push_back(leaf);
  return leaf.iota ? body_.graph.iota(entry->second) : body_.graph.load(entry->second, leaf.type);
}

NodeId Lowering::parameter_node(const Node& node) {
  const Parameter parameter{static_cast<unsigned>(node.payload), node.type};
  const auto known = std::find(body_.parameters.begin(), body_.parameters.end(), parameter);
  const auto number = static_cast<std::size_t>(known - body_.parameters.begin());
  if (known == body_.parameters.end()) body_.parameters.push_back(parameter);
  return body_.graph.parameter(number, node.type);
}

}  // namespace

Body lower(const codegen::Graph& graph, std::span<const Shape> shapes, std::span<const Operand> operands,
           std::span<const NodeId> outputs, const Shape& loop) {
  Lowering lowering(graph, shapes, operands, loop);
  std::vector<NodeId> roots;
  for (const NodeId output : outputs) roots.push_back(lowering.at_root(output));
  lowering.body().outputs = std::move(roots);
  return lowering.take();
}

Body renumbered(const Body& body) {
  Body result;
  constexpr std::size_t unused = ~std::size_t{0};
  std::vector<std::size_t> leaf_number(body.leaves.size(), unused), parameter_number(body.parameters.size(), unused);
  const codegen::Graph canonical = codegen::canonical(body.graph);
  for (NodeId id = 0; id < canonical.size(); ++id) {
    Node node = canonical[id];
    if (node.kind == NodeKind::load || node.kind == NodeKind::iota) {
      std::size_t& number = leaf_number[node.payload];
      if (number == unused) {
        number = result.leaves.size();
        result.leaves.push_back(body.leaves[node.payload]);
      }
      node.payload = number;
    } else if (node.kind == NodeKind::parameter) {
      std::size_t& number = parameter_number[node.payload];
      if (number == unused) {
        number = result.parameters.size();
        result.parameters.push_back(body.parameters[node.payload]);
      }
      node.payload = number;
    }
    result.graph.add(node, canonical.location(id));
  }
  result.graph.outputs = canonical.outputs;
  return result;
}

}  // namespace kiln::dsl
