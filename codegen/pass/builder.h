// codegen/pass/builder.h -- short names for appending typed nodes, shared by the passes that lower operations.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "codegen/ir/graph.h"

namespace kiln::codegen {

/// Appends to a graph; every result has the type that the operation's rule gives. Constants take the type of a
/// neighbour.
class Builder {
 public:
  explicit Builder(Graph& graph) : graph_(graph) {}

  Graph& graph() { return graph_; }
  DType type(NodeId value) const { return graph_[value].type; }
  const Node& node(NodeId value) const { return graph_[value]; }
  void at(Location where) { where_ = where; }  ///< location of the nodes that follow

  NodeId op(Op op, NodeId a) { return append(op, 0, a); }
  NodeId op(Op op, NodeId a, NodeId b) { return append(op, 0, a, b); }
  NodeId op(Op op, NodeId a, NodeId b, NodeId c) { return append(op, 0, a, b, c); }

  /// The f32 operation in the form that passes.h keeps for functions of the library.
  template <class... Ids>
  NodeId library_op(Op op, Ids... ids) {
    return append(op, library_form, ids...);
  }

  NodeId add(NodeId a, NodeId b) { return op(Op::add, a, b); }
  NodeId sub(NodeId a, NodeId b) { return op(Op::sub, a, b); }
  NodeId mul(NodeId a, NodeId b) { return op(Op::mul, a, b); }
  NodeId div(NodeId a, NodeId b) { return op(Op::div, a, b); }
  NodeId fma(NodeId a, NodeId b, NodeId c) { return op(Op::fma, a, b, c); }
  NodeId neg(NodeId a) { return op(Op::neg, a); }
  NodeId abs(NodeId a) { return op(Op::abs, a); }
  NodeId sqrt(NodeId a) { return op(Op::sqrt, a); }
  NodeId copysign(NodeId magnitude, NodeId sign) { return op(Op::copysign, magnitude, sign); }

  NodeId eq(NodeId a, NodeId b) { return op(Op::eq, a, b); }
  NodeId ne(NodeId a, NodeId b) { return op(Op::ne, a, b); }
  NodeId lt(NodeId a, NodeId b) { return op(Op::lt, a, b); }
  NodeId le(NodeId a, NodeId b) { return op(Op::le, a, b); }
  NodeId gt(NodeId a, NodeId b) { return op(Op::gt, a, b); }
  NodeId ge(NodeId a, NodeId b) { return op(Op::ge, a, b); }
  NodeId both(NodeId a, NodeId b) { return op(Op::bit_and, a, b); }
  NodeId either(NodeId a, NodeId b) { return op(Op::bit_or, a, b); }
  NodeId invert(NodeId a) { return op(Op::bit_not, a); }
  NodeId where(NodeId condition, NodeId a, NodeId b) { return op(Op::where, condition, a, b); }

  NodeId constant(DType type, double value) { return graph_.literal_value(type, value); }
  NodeId like(NodeId neighbour, double value) { return constant(type(neighbour), value); }
  NodeId bits(DType type, std::uint64_t value) { return graph_.literal(type, value); }
  NodeId infinity(DType type) { return constant(type, std::numeric_limits<double>::infinity()); }
  NodeId truth(bool value) { return graph_.literal(DType::b1, value ? 1 : 0); }

  NodeId cast(NodeId value, DType to) { return graph_.cast(value, to, where_); }
  NodeId bitcast(NodeId value, DType to) { return primitive(NodeKind::bitcast, to, {value}); }
  NodeId primitive(NodeKind kind, DType type, std::initializer_list<NodeId> operands, std::uint64_t payload = 0) {
    return graph_.primitive(kind, type, operands, payload, where_);
  }

  NodeId is_nan(NodeId x) { return ne(x, x); }
  NodeId is_inf(NodeId x) { return eq(abs(x), infinity(type(x))); }
  NodeId is_finite(NodeId x) { return lt(abs(x), infinity(type(x))); }
  /// x != 0, as b1: NaN is true.
  NodeId is_true(NodeId x);

 private:
  template <class... Ids>
  NodeId append(Op op, std::uint64_t payload, Ids... ids) {
    const NodeId operands[] = {ids...};
    return append_node(op, payload, operands);
  }
  NodeId append_node(Op op, std::uint64_t payload, std::span<const NodeId> operands);

  Graph& graph_;
  Location where_;
};

/// True for a literal; false for anything computed.
inline bool is_literal(const Graph& graph, NodeId value) { return graph[value].kind == NodeKind::literal; }
/// The literal's value as a double: exact for every type but 64-bit integers.
double literal_as_double(const Node& literal);
/// The bits of an integer or b1 literal, sign-extended from its type.
std::int64_t literal_as_integer(const Node& literal);
/// The unsigned integer type of the same size.
constexpr DType unsigned_of(DType type) {
  return is_signed_integer(type) ? static_cast<DType>(static_cast<int>(type) + 4) : type;
}

/// `node`, a reduction or scan whose operands are ids of `result` already, with specification `spec`.
NodeId add_joining(Graph& result, const Node& node, const ReductionSpec& spec, Location where);

/// Rebuilds the nodes that the outputs need, operands first. `visit(builder, node)` gets a copy of each old node with
/// its operands already renamed to the new graph and returns the new id, or no_node to keep the copy, which it may have
/// changed. Combiners of kept nodes are rewritten alike.
template <class Visit>
Graph rewrite(const Graph& graph, Visit&& visit) {
  Graph result;
  Builder builder(result);
  std::vector<NodeId> renamed(graph.size(), no_node);
  for (const NodeId id : canonical_order(graph)) {
    Node node = graph[id];
    for (std::size_t i = 0; i < node.arity; ++i) node.operands[i] = renamed[node.operands[i]];
    builder.at(graph.location(id));
    renamed[id] = visit(builder, node);
    if (renamed[id] != no_node) continue;
    const bool joins = node.kind == NodeKind::reduce || node.kind == NodeKind::scan;
    if (joins && graph.reduction(node).combiner) {
      ReductionSpec spec = graph.reduction(node);
      spec.combiner = std::make_shared<const Graph>(rewrite(*spec.combiner, visit));
      renamed[id] = add_joining(result, node, spec, graph.location(id));
    } else {
      renamed[id] = result.adopt(graph, node, graph.location(id));
    }
  }
  for (const NodeId output : graph.outputs) result.outputs.push_back(renamed[output]);
  return result;
}

}  // namespace kiln::codegen
