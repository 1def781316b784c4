// codegen/pass/legalize.cpp -- sends each node to the lowering for its operand type; see the grammar in passes.h.
#include "codegen/ir/op_info.h"
#include "codegen/pass/lowering.h"
#include "codegen/pass/passes.h"

namespace kiln::codegen {
namespace {

NodeId lower_operation(Builder& b, const Node& node) {
  const std::span<const NodeId> operands = node.inputs();
  if (node.op == Op::where) return no_node;
  const DType first = b.type(operands[0]);
  if (is_comparison(node.op) && first != b.type(operands[1])) {
    return compare_mixed_integers(b, node.op, operands[0], operands[1]);
  }
  switch (kind_of(first)) {
    case Kind::boolean:
      return lower_boolean(b, node.op, operands);
    case Kind::integer:
      return lower_integer(b, node.op, operands);
    case Kind::floating:
      return lower_float(b, node.op, operands);
    case Kind::complex:
      break;  // split_complex has run
  }
  return no_node;
}

}  // namespace

Graph legalize(const Graph& graph, const PassOptions&) {
  return rewrite(graph, [](Builder& b, const Node& node) {
    switch (node.kind) {
      case NodeKind::operation:
        return lower_operation(b, node);
      case NodeKind::cast:
        return lower_cast(b, node.operands[0], node.type);
      case NodeKind::random:
        return lower_random(b, node.operands[0], node.operands[1], node.payload != 0, node.type);
      default:
        return no_node;
    }
  });
}

}  // namespace kiln::codegen
