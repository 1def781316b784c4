// codegen/emit/cuda_calls.cpp -- the functions that a large CUDA kernel calls instead of inlining them.
#include "codegen/emit/cuda_calls.h"

#include <fmt/format.h>

#include "codegen/emit/cuda_expression.h"
#include "codegen/emit/cuda_types.h"
#include "codegen/ir/op_info.h"

namespace kiln::codegen::cuda {
namespace {

// Limits at which inlining costs ptxas about as long as a kernel costs anyway (measured with NVRTC 13.0 for sm_90).
constexpr int short_functions = 256, long_functions = 64, slow_paths = 16, very_long = 8;

int limit_of(Op op) {
  switch (op) {
    case Op::div:
    case Op::sqrt:
    case Op::rsqrt:
    case Op::exp:
    case Op::exp2:
      return short_functions;
    case Op::sin:
    case Op::cos:
    case Op::tan:
    case Op::pow:
    case Op::fmod:
      return slow_paths;
    case Op::lgamma:
    case Op::tgamma:
      return very_long;
    default:
      return op == Op::hypot || (op > Op::sqrt && op < Op::floor) ? long_functions : 0;
  }
}

}  // namespace

int inlined_limit(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  if (node.kind != NodeKind::operation || node.payload == library_form) return 0;
  if (is_integer(node.type)) {  // division by a constant is a multiplication
    const bool divides =
        (node.op == Op::div || node.op == Op::mod) && graph[node.operands[1]].kind != NodeKind::literal;
    return !divides ? 0 : size_of(node.type) == 8 ? slow_paths : long_functions;
  }
  if (node.type != DType::f32 && node.type != DType::f64) return 0;
  return node.type == DType::f64 ? limit_of(node.op) / 2 : limit_of(node.op);
}

std::uint32_t Calls::key_of(const Node& node) {
  return static_cast<std::uint32_t>(node.op) << 8 | static_cast<std::uint32_t>(node.type);
}

Calls::Calls(const Graph& body, int copies) {
  std::unordered_map<std::uint32_t, int> counts;
  for (NodeId id = 0; id < body.size(); ++id) {
    const int limit = inlined_limit(body, id);
    if (limit == 0) continue;
    const std::uint32_t key = key_of(body[id]);
    if (++counts[key] * copies > limit) called_.insert(key);
  }
}

std::string Calls::text(const Graph& graph, NodeId id, std::span<const std::string> operands,
                        std::span<const DType> types, Prelude& prelude, std::string& definitions) {
  const Node& node = graph[id];
  if (called_.empty() || inlined_limit(graph, id) == 0 || !called_.contains(key_of(node))) return "";
  std::string& name = names_[key_of(node)];
  if (name.empty()) {
    name = fmt::format("called_{}_{}", detail::op_info(node.op).name, name_of(node.type));
    static const std::string letters[] = {"a", "b", "c"};
    std::string parameters;
    for (std::size_t i = 0; i < types.size(); ++i)
      parameters += fmt::format("{}{} {}", i ? ", " : "", value_type(types[i]), letters[i]);
    definitions += fmt::format("static __device__ __noinline__ {} {}({}) {{ return {}; }}\n", value_type(node.type),
                               name, parameters, expression(node, {letters, types.size()}, types, prelude));
  }
  std::string arguments;
  for (const std::string& operand : operands) arguments += (arguments.empty() ? "" : ", ") + operand;
  return fmt::format("{}({})", name, arguments);
}

}  // namespace kiln::codegen::cuda
