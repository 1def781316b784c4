// codegen/emit/cuda_select.cpp -- pairs of operations for which CUDA has a cheaper sequence of the same accuracy.
#include "codegen/emit/cuda_select.h"

#include <algorithm>
#include <bit>

namespace kiln::codegen::cuda {
namespace {

bool is_operation(const Node& node, Op op) {
  return node.kind == NodeKind::operation && node.op == op && node.type == DType::f32;
}

bool is_one(const Node& node) {
  return node.kind == NodeKind::literal && node.type == DType::f32 &&
         node.payload == std::bit_cast<std::uint32_t>(1.0f);
}

/// The operand of `op` where `id` is 1 + op(operand), in either order; no_node otherwise.
NodeId operand_of_one_plus(const Graph& graph, NodeId id, Op op) {
  const Node& sum = graph[id];
  if (!is_operation(sum, Op::add)) return no_node;
  for (std::size_t one = 0; one < 2; ++one) {
    const Node& other = graph[sum.operands[1 - one]];
    if (is_one(graph[sum.operands[one]]) && is_operation(other, op)) return other.operands[0];
  }
  return no_node;
}

}  // namespace

bool has_narrow_results(const Graph& graph) {
  return std::all_of(graph.outputs.begin(), graph.outputs.end(),
                     [&](NodeId id) { return graph[id].type == DType::f16 || graph[id].type == DType::bf16; });
}

Selection select(const Graph& graph, NodeId id, bool narrow_results) {
  const Node& node = graph[id];
  if (const NodeId x = operand_of_one_plus(graph, id, Op::erf); x != no_node) return {"one_plus_erf", {x}};
  if (narrow_results && is_operation(node, Op::div) && operand_of_one_plus(graph, node.operands[1], Op::exp) != no_node)
    return {"quotient_2ulp", {node.operands[0], node.operands[1]}};
  return {};
}

}  // namespace kiln::codegen::cuda
