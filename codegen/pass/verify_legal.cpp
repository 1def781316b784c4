// codegen/pass/verify_legal.cpp -- the grammar of legalised bodies at the top of passes.h, as a check.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "codegen/ir/op_info.h"
#include "codegen/pass/builder.h"
#include "codegen/pass/passes.h"
#include "support/check.h"

namespace kiln::codegen {
namespace {

constexpr bool is_storage_type(DType type) { return type == DType::f16 || type == DType::bf16; }
constexpr bool is_value_type(DType type) { return !is_storage_type(type) && !is_complex(type); }

bool is_float_operation(Op op) {
  switch (op) {
    case Op::mod:
    case Op::true_divide:
    case Op::floor_divide:
    case Op::remainder:
    case Op::sign:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_not:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
    case Op::bit_not:
    case Op::shl:
    case Op::shr:
    case Op::clip:
    case Op::isnan:
    case Op::isinf:
    case Op::isfinite:
      return false;
    default:
      return op < Op::real;
  }
}

bool is_boolean_operation(Op op) { return op >= Op::bit_and && op <= Op::bit_not; }

bool is_integer_operation(Op op) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::neg:
    case Op::div:
    case Op::mod:
    case Op::shl:
    case Op::shr:
    case Op::minimum:
    case Op::maximum:
      return true;
    default:
      return is_boolean_operation(op) || is_comparison(op);
  }
}

std::string operation_problem(const Graph& graph, const Node& node) {
  if (!is_value_type(node.type)) return "computes in a storage or complex type";
  const bool has_library_form =
      node.type == DType::f32 && (node.op == Op::div || node.op == Op::erf || node.op == Op::tanh);
  if (node.payload == library_form && !has_library_form) return "has no library form";
  if (node.op == Op::where) return "";
  const DType first = graph[node.operands[0]].type;
  for (const NodeId operand : node.inputs()) {
    if (graph[operand].type != first) return "mixes operand types";
  }
  const bool is_allowed = first == DType::b1  ? is_boolean_operation(node.op)
                          : is_integer(first) ? is_integer_operation(node.op)
                                              : is_value_type(first) && is_float_operation(node.op);
  return is_allowed ? "" : fmt::format("is no primitive on {}", name_of(first));
}

std::string cast_problem(const Graph& graph, const Node& node) {
  const DType from = graph[node.operands[0]].type;
  if (from == node.type) return "converts a type to itself";
  if (node.type == DType::b1 || is_complex(node.type) || is_complex(from)) return "converts to bool or complex";
  if (is_storage_type(from)) return node.type == DType::f32 ? "" : "converts a storage type to other than f32";
  if (is_storage_type(node.type)) return from == DType::f32 ? "" : "rounds to a storage type from other than f32";
  return "";
}

bool is_float_bits_pair(DType a, DType b) {
  if (is_floating(a)) std::swap(a, b);
  return is_integer(a) && ((b == DType::f32 && size_of(a) == 4) || (b == DType::f64 && size_of(a) == 8));
}

bool is_joined_plainly(Reduction kind, DType type) {
  switch (kind) {
    case Reduction::sum:
    case Reduction::prod:
      return is_value_type(type) && size_of(type) >= 4;
    case Reduction::max:
    case Reduction::min:
      return is_value_type(type) && type != DType::b1;
    case Reduction::any:
    case Reduction::all:
      return type == DType::b1;
    default:
      return false;
  }
}

std::string first_problem(const Graph& graph);

std::string joining_problem(const Graph& graph, const Node& node) {
  const ReductionSpec& spec = graph.reduction(node);
  if (spec.combiner) {
    const std::string problem = first_problem(*spec.combiner);
    return problem.empty() ? "" : "in its combiner, " + problem;
  }
  return is_joined_plainly(spec.kind, node.type) ? "" : "must have been lowered";
}

std::string node_problem(const Graph& graph, const Node& node) {
  switch (node.kind) {
    case NodeKind::reduce:
    case NodeKind::scan:
      return joining_problem(graph, node);
    case NodeKind::input:  // of a combiner
    case NodeKind::tuple:
    case NodeKind::element:
      return is_value_type(node.type) ? "" : "has a storage or complex type";
    case NodeKind::call:
      return is_storage_type(node.type) ? "must be f32" : "";
    case NodeKind::load:
    case NodeKind::gather:
    case NodeKind::iota:
    case NodeKind::complex:
    case NodeKind::real_part:
    case NodeKind::imag_part:
      return "";
    case NodeKind::parameter:
      return is_storage_type(node.type) ? "must be f32" : "";
    case NodeKind::literal:
      return is_value_type(node.type) ? "" : "has a storage or complex type";
    case NodeKind::mulhi:
      return node.type == DType::u32 ? "" : "must be u32";
    case NodeKind::bitcast:
      return is_float_bits_pair(node.type, graph[node.operands[0]].type) ? "" : "is not between a float and its bits";
    case NodeKind::cast:
      return cast_problem(graph, node);
    case NodeKind::operation:
      return operation_problem(graph, node);
    default:
      return "is gone after legalize";
  }
}

/// Who may use f16, bf16 and complex nodes.
std::string use_problem(const Graph& graph, const Node& user) {
  for (const NodeId operand : user.inputs()) {
    const DType type = graph[operand].type;
    if (is_storage_type(type) && user.kind != NodeKind::cast) return "uses an f16 or bf16 value";
    const bool takes_part = user.kind == NodeKind::real_part || user.kind == NodeKind::imag_part;
    if (is_complex(type) && user.kind == NodeKind::call) continue;
    if (is_complex(type) && (!takes_part || graph[operand].kind == NodeKind::complex))
      return "uses a whole complex value";
  }
  return "";
}

std::string first_problem(const Graph& graph) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    std::string problem = node_problem(graph, node);
    if (problem.empty()) problem = use_problem(graph, node);
    if (problem.empty()) continue;
    const char* name = node.kind == NodeKind::operation ? detail::op_info(node.op).name : "node";
    return fmt::format("%{} ({} {}): {}", id, name_of(node.type), name, problem);
  }
  return {};
}

bool has(const Graph& graph, NodeKind kind) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) { return node.kind == kind; });
}

}  // namespace

void verify_legal(const Graph& graph) {
  verify(graph, true);
  std::string problem = first_problem(graph);
  if (problem.empty() && has(graph, NodeKind::scan) && has(graph, NodeKind::reduce))
    problem = "scans and reductions are in one kernel";
  if (!problem.empty()) fail<InternalError>("legalised body, {}; please report this defect in kiln", problem);
}

}  // namespace kiln::codegen
