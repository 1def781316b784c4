// codegen/ir/exponential_terms.cpp -- recognises what a softmax or log-sum-exp is made of, whoever wrote it.
#include "codegen/ir/exponential_terms.h"

namespace kiln::codegen {
namespace {

bool is_operation(const Node& node, Op op, DType type) {
  return node.kind == NodeKind::operation && node.op == op && node.type == type && node.payload == 0;
}

/// Component `c` of a log-sum-exp state: its reduction, or no_node.
NodeId state_of(const Graph& graph, NodeId id, std::uint64_t c) {
  const Node& node = graph[id];
  if (node.kind != NodeKind::element || node.payload != c) return no_node;
  const Node& reduction = graph[node.operands[0]];
  if (reduction.kind != NodeKind::reduce || graph.reduction(reduction).kind != Reduction::logsumexp) return no_node;
  return graph[reduction.operands[0]].kind == NodeKind::tuple ? node.operands[0] : no_node;
}

NodeId value_of_state(const Graph& graph, NodeId state) { return graph[graph[state].operands[0]].operands[0]; }

}  // namespace

NodeId maximum_of(const Graph& graph, NodeId id, DType type) {
  const Node& node = graph[id];
  if (node.type != type) return no_node;
  if (node.kind == NodeKind::reduce && graph.reduction(node).kind == Reduction::max && !graph.reduction(node).combiner)
    return node.operands[0];
  const NodeId state = state_of(graph, id, 0);
  return state == no_node ? no_node : value_of_state(graph, state);
}

bool is_exponential_term(const Graph& graph, NodeId id, DType type) {
  if (!is_operation(graph[id], Op::exp, type)) return false;
  const Node& exponent = graph[graph[id].operands[0]];
  return is_operation(exponent, Op::sub, type) && maximum_of(graph, exponent.operands[1], type) == exponent.operands[0];
}

bool is_sum_of_terms(const Graph& graph, NodeId sum, NodeId term, DType type) {
  if (!is_exponential_term(graph, term, type)) return false;
  const Node& node = graph[sum];
  if (node.kind == NodeKind::reduce)
    return graph.reduction(node).kind == Reduction::sum && !graph.reduction(node).combiner && node.operands[0] == term;
  // What join_exponential_sums leaves of it: the sum of the state + (max - max).
  if (!is_operation(node, Op::add, type)) return false;
  const NodeId maximum = graph[graph[term].operands[0]].operands[1];
  const NodeId state = state_of(graph, node.operands[0], 1);
  const Node& difference = graph[node.operands[1]];
  return state != no_node && state_of(graph, maximum, 0) == state && is_operation(difference, Op::sub, type) &&
         difference.operands[0] == maximum && difference.operands[1] == maximum;
}

}  // namespace kiln::codegen
