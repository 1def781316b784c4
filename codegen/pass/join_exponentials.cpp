// codegen/pass/join_exponentials.cpp -- a maximum and the sum of exponentials relative to it, found in one pass.
//
// sum(exp(x - max(x))) needs the maximum first: where rows are not held, it reads each a second time. Both parts are
// what a log-sum-exp joins as a state (largest x, sum of exp(x - largest)).
#include <limits>
#include <memory>

#include "codegen/ir/exponential_terms.h"
#include "codegen/ir/reduction.h"
#include "codegen/pass/builder.h"
#include "codegen/pass/combiners.h"
#include "codegen/pass/passes.h"

namespace kiln::codegen {
namespace {

/// Of a sum of exponential terms, their maximum; no_node for other nodes.
NodeId joined_maximum(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  if (node.kind != NodeKind::reduce || (node.type != DType::f32 && node.type != DType::f64) ||
      !is_sum_of_terms(graph, id, node.operands[0], node.type))
    return no_node;
  const NodeId maximum = graph[graph[node.operands[0]].operands[0]].operands[1];
  return graph[maximum].kind == NodeKind::reduce ? maximum : no_node;
}

NodeId state_of(Builder& b, NodeId x, Location where) {
  const DType type = b.type(x);
  ReductionSpec spec;
  spec.kind = Reduction::logsumexp;
  spec.combiner = std::make_shared<const Graph>(logsumexp_combiner(type));
  const auto pair = [&](NodeId first, NodeId second) { return b.primitive(NodeKind::tuple, type, {first, second}); };
  const NodeId identity = pair(b.constant(type, -std::numeric_limits<double>::infinity()), b.constant(type, 0));
  return b.graph().reduce(spec, type, {pair(x, b.constant(type, 1)), identity}, where);
}

}  // namespace

Graph join_exponential_sums(const Graph& graph, const PassOptions& options) {
  if (!options.joins_exponentials) return graph;
  std::vector<char> is_joined(graph.size(), 0);  // per node: a maximum beside whose state a sum is found
  bool any = false;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const NodeId maximum = joined_maximum(graph, id);
    if (maximum != no_node) is_joined[maximum] = 1, any = true;
  }
  if (!any) return graph;
  Graph result;
  Builder b(result);
  std::vector<NodeId> renamed(graph.size(), no_node);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Location where = graph.location(id);
    b.at(where);
    Node node = graph[id];
    for (std::size_t i = 0; i < node.arity; ++i) node.operands[i] = renamed[node.operands[i]];
    if (is_joined[id]) {
      renamed[id] = b.primitive(NodeKind::element, node.type, {state_of(b, node.operands[0], where)}, 0);
    } else if (const NodeId old = joined_maximum(graph, id); old != no_node) {
      // An infinite maximum makes every difference inf - inf or -inf: the sum is NaN, and so is max - max.
      const NodeId maximum = renamed[old];
      const NodeId sum = b.primitive(NodeKind::element, node.type, {b.node(maximum).operands[0]}, 1);
      renamed[id] = b.add(sum, b.sub(maximum, maximum));
    } else {
      renamed[id] = result.adopt(graph, node, where);
    }
  }
  for (const NodeId output : graph.outputs) result.outputs.push_back(renamed[output]);
  return result;
}

}  // namespace kiln::codegen
