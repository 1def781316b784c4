// codegen/ir/print.cpp -- graphs as text and as Graphviz.
#include <bit>

#include <fmt/format.h>

#include "codegen/ir/graph.h"

namespace kiln::codegen {
namespace {

/// The value of a literal for the reader; its bits are what counts.
std::string literal_value_text(const Node& node) {
  const std::uint64_t bits = node.payload;
  switch (node.type) {
    case DType::b1:
      return bits ? "true" : "false";
    case DType::f64:
      return fmt::format("{}", std::bit_cast<double>(bits));
    case DType::f32:
      return fmt::format("{}", std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case DType::f16:
      return fmt::format("{}", float{half::from_bits(static_cast<std::uint16_t>(bits))});
    case DType::bf16:
      return fmt::format("{}", float{bfloat16::from_bits(static_cast<std::uint16_t>(bits))});
    default:
      break;
  }
  if (!is_signed_integer(node.type)) return fmt::format("{}", bits);
  const int unused = static_cast<int>(64 - 8 * size_of(node.type));
  return fmt::format("{}", static_cast<std::int64_t>(bits << unused) >> unused);
}

std::string item_text(const ViewSpec::Item& item) {
  if (item.is_index) return fmt::format("{}", item.start);
  return fmt::format("{}:{}:{}", item.has_start ? fmt::format("{}", item.start) : "",
                     item.has_stop ? fmt::format("{}", item.stop) : "", item.step);
}

std::string view_text(const ViewSpec& spec) {
  constexpr const char* names[] = {"transpose", "reshape", "broadcast_to", "squeeze",
                                   "unsqueeze", "flip",    "slice",        "shift"};
  std::string text = fmt::format("{}(", names[static_cast<int>(spec.kind)]);
  const char* separator = "";
  for (const std::int64_t number : spec.numbers) {
    text += fmt::format("{}{}", separator, number);
    separator = ", ";
  }
  for (const ViewSpec::Item& item : spec.items) {
    text += separator + item_text(item);
    separator = ", ";
  }
  return text + ")";
}

std::string reduction_text(const ReductionSpec& spec) {
  constexpr const char* names[] = {
      "sum", "prod", "max", "min", "any", "all", "combine", "argmax", "argmin", "logsumexp", "squared_deviations"};
  std::string text = names[static_cast<int>(spec.kind)];
  for (int axis = 0; axis < 8; ++axis) {
    if (spec.axes >> axis & 1) text += fmt::format(" axis {}", axis);
  }
  if (spec.keepdims) text += " keepdims";
  if (spec.refuses_empty) text += " of some";
  if (spec.subtract != 0) text += fmt::format(" less {}", spec.subtract);
  return spec.combiner ? text + " {\n" + to_text(*spec.combiner) + "}" : text;
}

/// The number tells apart functions of one text with host versions of their own.
std::string function_text(const Graph& graph, const Node& node) {
  const Function& function = graph.function(node);
  std::string text = fmt::format("{} {}", node.payload, signature_text(function));
  if (!function.preamble.empty()) text += " preamble {\n" + function.preamble + "\n}";
  return text + " {\n" + function.text + "\n}";
}

/// The node without its id, type and operands: "mul", "load 2", "literal 0x3f800000 (1)".
std::string head_text(const Graph& graph, const Node& node) {
  switch (node.kind) {
    case NodeKind::input:
      return fmt::format("input {}", node.payload);
    case NodeKind::load:
      return fmt::format("load {}", node.payload);
    case NodeKind::gather:
      return fmt::format("gather {}", node.payload);
    case NodeKind::iota:
      return fmt::format("iota {}", node.payload);
    case NodeKind::index:
      return fmt::format("index axis {}", node.payload);
    case NodeKind::parameter:
      return fmt::format("parameter {}", node.payload);
    case NodeKind::literal:
      return fmt::format("literal {:#0{}x} ({})", node.payload, 2 + 2 * size_of(node.type), literal_value_text(node));
    case NodeKind::view:
      return fmt::format("view {}", view_text(graph.view_spec(node)));
    case NodeKind::cast:
      return node.payload == unrounded_cast ? "cast unrounded" : "cast";
    case NodeKind::bitcast:
      return "bitcast";
    case NodeKind::complex:
      return "complex";
    case NodeKind::real_part:
      return "real_part";
    case NodeKind::imag_part:
      return "imag_part";
    case NodeKind::mulhi:
      return "mulhi";
    case NodeKind::random:
      return node.payload ? "random normal" : "random uniform";
    case NodeKind::operation:
      return fmt::format("{}{}", detail::op_info(node.op).name, node.payload == library_form ? ".library" : "");
    case NodeKind::reduce:
      return "reduce " + reduction_text(graph.reduction(node));
    case NodeKind::scan:
      return "scan " + reduction_text(graph.reduction(node));
    case NodeKind::tuple:
      return "tuple";
    case NodeKind::element:
      return fmt::format("element {}", node.payload);
    case NodeKind::extent:
      return "extent " + reduction_text(graph.reduction(node));
    case NodeKind::take: {
      constexpr const char* modes[] = {"", " clip", " wrap"};
      const TakeSpec spec = TakeSpec::of(node.payload);
      return fmt::format("take {}axis {}{}", spec.along ? "along " : "", spec.axis, modes[spec.mode]);
    }
    case NodeKind::call:
      return "call " + function_text(graph, node);
  }
  return "?";
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? std::string("\\l") : std::string(1, c);  // a line of its own, to the left
  }
  return result;
}

}  // namespace

std::string to_text(const Graph& graph) {
  const std::vector<NodeId> order = canonical_order(graph);
  std::vector<NodeId> number(graph.size(), no_node);
  NodeId next = 0;
  std::string text;
  for (const NodeId id : order) {
    const Node& node = graph[id];
    number[id] = next++;
    text += fmt::format("%{} = {} {}", number[id], name_of(node.type), head_text(graph, node));
    const char* separator = " ";
    for (const NodeId operand : node.inputs()) {
      text += fmt::format("{}%{}", separator, number[operand]);
      separator = ", ";
    }
    text += '\n';
  }
  text += "return";
  const char* separator = " ";
  for (const NodeId output : graph.outputs) {
    text += fmt::format("{}%{}", separator, number[output]);
    separator = ", ";
  }
  return text + '\n';
}

std::string to_dot(const Graph& graph) {
  const std::vector<NodeId> order = canonical_order(graph);
  std::vector<NodeId> number(graph.size(), no_node);
  NodeId next = 0;
  std::string text = "digraph kiln {\n  rankdir=BT;\n  node [shape=box, fontname=\"monospace\"];\n";
  for (const NodeId id : order) {
    const Node& node = graph[id];
    number[id] = next++;
    text += fmt::format("  n{} [label=\"%{} {}\\n{}\"{}];\n", number[id], number[id], name_of(node.type),
                        escaped(head_text(graph, node)), node.arity == 0 ? ", style=rounded" : "");
    for (std::size_t i = 0; i < node.arity; ++i) {
      const std::string label = node.arity > 1 ? fmt::format(" [label=\"{}\"]", i) : "";
      text += fmt::format("  n{} -> n{}{};\n", number[node.operands[i]], number[id], label);
    }
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    text += fmt::format("  out{} [label=\"output {}\", shape=ellipse];\n  n{} -> out{};\n", i, i,
                        number[graph.outputs[i]], i);
  }
  return text + "}\n";
}

}  // namespace kiln::codegen
