// codegen/ir/verify.cpp -- the grammar of graphs: arity, operand order and the type rule of every kind of node.
#include <string>

#include <fmt/format.h>

#include "codegen/ir/graph.h"
#include "codegen/ir/op_info.h"
#include "support/check.h"

namespace kiln::codegen {
namespace {

/// What is wrong with an operation node, or empty.
std::string operation_problem(const Graph& graph, const Node& node) {
  const detail::OpInfo& row = detail::op_info(node.op);
  if (node.arity != row.arity) return fmt::format("has {} operands, its row says {}", node.arity, row.arity);
  std::array<DType, 3> types{};
  for (std::size_t i = 0; i < node.arity; ++i) types[i] = graph[node.operands[i]].type;
  const TypeRule rule = type_rule(node.op, {types.data(), node.arity});
  if (!rule.error.empty()) return rule.error;
  const std::size_t first_value = row.result == detail::ResultRule::select ? 1 : 0;
  for (std::size_t i = first_value; i < node.arity && !rule.keeps_operands; ++i) {
    if (types[i] != rule.operand) {
      return fmt::format("operand {} is {}, its type rule asks for {}", i, name_of(types[i]), name_of(rule.operand));
    }
  }
  if (node.type != rule.result)
    return fmt::format("has type {}, its type rule gives {}", name_of(node.type), name_of(rule.result));
  return {};
}

/// What is wrong with a tuple, reduction or scan, or empty.
std::string reduction_problem(const Graph& graph, const Node& node) {
  const auto kind_of_operand = [&](std::size_t i) { return graph[node.operands[i]].kind; };
  if (node.kind == NodeKind::tuple) {
    if (node.arity < 2) return "needs two or three components";
    return node.type != graph[node.operands[0]].type ? "must have the type of its first component" : "";
  }
  const ReductionSpec& spec = graph.reduction(node);
  const bool positions = !spec.combiner && (spec.kind == Reduction::argmax || spec.kind == Reduction::argmin);
  const std::size_t arity = positions || spec.combiner ? 2 : 1;
  if (node.arity != arity) return fmt::format("has {} operands, its reduction takes {}", node.arity, arity);
  if (node.kind == NodeKind::scan && node.arity != 1 && !spec.combiner) return "a scan has one operand";
  const DType first = graph[node.operands[0]].type;
  if (positions) {
    const DType position = graph[node.operands[1]].type;
    return node.type != DType::i64 || position != DType::i64 ? "positions are i64" : "";
  }
  if (spec.kind == Reduction::combine && !spec.combiner) return "has no combiner";
  if (node.type != first) return "has another type than its operand";
  if (spec.combiner) {
    const bool tuples = kind_of_operand(0) == NodeKind::tuple;
    const std::size_t components = tuples ? graph[node.operands[0]].arity : 1;
    if (spec.combiner->outputs.size() != components) return "its combiner joins another number of components";
    if ((kind_of_operand(1) == NodeKind::tuple) != tuples) return "identity and values differ in components";
  }
  return (spec.kind == Reduction::any || spec.kind == Reduction::all) && first != DType::b1 ? "needs truth values" : "";
}

unsigned arity_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::input:
    case NodeKind::load:
    case NodeKind::iota:
    case NodeKind::parameter:
    case NodeKind::literal:
      return 0;
    case NodeKind::complex:
    case NodeKind::mulhi:
    case NodeKind::random:
      return 2;
    default:
      return 1;
  }
}

std::string type_problem(const Graph& graph, const Node& node) {
  const DType first = node.arity > 0 ? graph[node.operands[0]].type : node.type;
  const DType second = node.arity > 1 ? graph[node.operands[1]].type : first;
  switch (node.kind) {
    case NodeKind::iota:
    case NodeKind::index:
      if (node.type != DType::i64) return "must be i64";
      return node.kind == NodeKind::index && node.payload >= 8 ? "names an axis above 7" : "";
    case NodeKind::literal: {
      if (is_complex(node.type)) return "a complex literal is `complex` of two literals";
      const std::size_t bits = node.type == DType::b1 ? 1 : 8 * size_of(node.type);
      return bits < 64 && node.payload >> bits != 0 ? "holds bits outside its type" : "";
    }
    case NodeKind::view:
      return first != node.type ? "a view keeps its operand's type" : "";
    case NodeKind::bitcast:
      return size_of(first) != size_of(node.type) ? "must keep the size" : "";
    case NodeKind::complex:
      if (!is_complex(node.type)) return "must have a complex type";
      return first != real_of(node.type) || second != first ? "needs two parts of its own precision" : "";
    case NodeKind::real_part:
    case NodeKind::imag_part:
      return !is_complex(first) || node.type != real_of(first) ? "takes a complex operand and has the type of its parts"
                                                               : "";
    case NodeKind::mulhi:
      return !is_unsigned_integer(node.type) || first != node.type || second != first ? "needs one unsigned type" : "";
    case NodeKind::random:
      if (!is_floating(node.type)) return "must be floating";
      return first != DType::u64 || second != DType::u64 ? "needs u64 counter and key" : "";
    default:
      return "";
  }
}

bool is_allowed(NodeKind kind, bool kernel_body) {
  const bool traced_only =
      kind == NodeKind::input || kind == NodeKind::index || kind == NodeKind::view || kind == NodeKind::extent;
  const bool body_only = kind == NodeKind::load || kind == NodeKind::mulhi;
  return kernel_body ? !traced_only : !body_only;
}

std::string problem_of(const Graph& graph, NodeId id, bool kernel_body) {
  const Node& node = graph[id];
  if (node.arity > node.operands.size()) return fmt::format("has arity {}", node.arity);
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    if (i < node.arity && node.operands[i] >= id)
      return fmt::format("operand {} (%{}) does not precede it", i, node.operands[i]);
    if (i >= node.arity && node.operands[i] != no_node) return fmt::format("unused operand {} is set", i);
  }
  if (!is_allowed(node.kind, kernel_body)) {
    return kernel_body ? "is not allowed in a kernel body" : "is allowed in a kernel body only";
  }
  if (node.kind == NodeKind::operation) {
    if (node.payload > (kernel_body ? library_form : 0)) return "carries a form that only legalize may write";
    return operation_problem(graph, node);
  }
  if (node.op != Op{}) return "carries an operation";
  if (node.kind == NodeKind::tuple || node.kind == NodeKind::reduce || node.kind == NodeKind::scan)
    return reduction_problem(graph, node);
  if (node.arity != arity_of(node.kind))
    return fmt::format("has {} operands, its kind takes {}", node.arity, arity_of(node.kind));
  return type_problem(graph, node);
}

}  // namespace

void verify(const Graph& graph, bool kernel_body) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    const std::string problem = problem_of(graph, id, kernel_body);
    if (problem.empty()) continue;
    const Node& node = graph[id];
    const char* name = node.kind == NodeKind::operation ? detail::op_info(node.op).name : "kind";
    fail<InternalError>("graph node %{} ({} {} {}): {}; please report this defect in kiln", id, name_of(node.type),
                        name, static_cast<int>(node.kind), problem);
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    if (graph.outputs[i] >= graph.size()) {
      fail<InternalError>("graph output {} is %{}, but there are {} nodes; please report this defect in kiln", i,
                          graph.outputs[i], graph.size());
    }
  }
}

}  // namespace kiln::codegen
