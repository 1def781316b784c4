// dsl/expression_text.cpp -- a kernel's expression in one line, for the header of its source and for explain().
#include <fmt/format.h>

#include "dsl/drafting.h"
#include "dsl/infer.h"

namespace kiln::dsl {
namespace {

using codegen::Graph;
using codegen::Node;
using codegen::NodeId;
using codegen::NodeKind;

constexpr std::size_t longest_part = 60, longest_text = 200;

std::string leaf_text(const Node& node) {
  switch (node.kind) {
    case NodeKind::load:
      return fmt::format("in{}", node.payload);
    case NodeKind::iota:
      return fmt::format("index{}", node.payload);
    case NodeKind::parameter:
      return fmt::format("s{}", node.payload);
    default:
      return fmt::format("{}:{:#x}", name_of(node.type), node.payload);
  }
}

/// What a node of arity > 0 is called here.
std::string function_name(const Graph& body, const Node& node) {
  constexpr const char* reductions[] = {
      "sum", "prod", "max", "min", "any", "all", "combine", "argmax", "argmin", "logsumexp", "squared_deviations"};
  switch (node.kind) {
    case NodeKind::cast:
      return name_of(node.type);
    case NodeKind::reduce:
      return reductions[static_cast<int>(body.reduction(node).kind)];
    case NodeKind::scan:
      return std::string("running_") + reductions[static_cast<int>(body.reduction(node).kind)];
    case NodeKind::tuple:
      return "";
    case NodeKind::element:
      return fmt::format("part{}", node.payload);
    case NodeKind::call:
      return body.function(node).name;
    default:
      return node_name(node);
  }
}

std::string call_text(const Graph& body, const Node& node, const std::vector<std::string>& parts) {
  std::string text = function_name(body, node) + '(';
  for (const NodeId operand : node.inputs()) {
    if (text.back() != '(') text += ", ";
    text += parts[operand];
  }
  return text + ')';
}

}  // namespace

std::string expression_text(const Graph& body) {
  std::vector<unsigned> uses(body.size());
  for (const Node& node : body.nodes())
    for (const NodeId operand : node.inputs()) ++uses[operand];
  std::vector<std::string> parts(body.size());
  std::string text;
  for (NodeId id = 0; id < body.size() && text.size() < longest_text; ++id) {
    const Node& node = body[id];
    parts[id] = node.arity == 0 ? leaf_text(node) : call_text(body, node, parts);
    if (node.arity == 0 || (uses[id] <= 1 && parts[id].size() <= longest_part)) continue;
    text += fmt::format("t{} = {}; ", id, parts[id]);
    parts[id] = fmt::format("t{}", id);
  }
  for (std::size_t k = 0; k < body.outputs.size() && text.size() < longest_text; ++k)
    text += fmt::format("{}out{} = {}", k ? "; " : "", k, parts[body.outputs[k]]);
  if (text.size() > longest_text) text = text.substr(0, longest_text - 4) + " ...";
  return text;
}

}  // namespace kiln::dsl
