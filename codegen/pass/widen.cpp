// codegen/pass/widen.cpp -- f16/bf16 expressions compute in f32 and round where a cast or a store says so.
#include "codegen/pass/builder.h"
#include "codegen/pass/passes.h"
#include "support/check.h"

namespace kiln::codegen {
namespace {

constexpr bool is_storage_type(DType type) { return type == DType::f16 || type == DType::bf16; }

/// The f32 value of a f16/bf16 node; operands of `node` are already f32 where they were f16/bf16. no_node: the node
/// itself, which has become f32.
NodeId widened(Builder& b, Node& node) {
  switch (node.kind) {
    case NodeKind::load:
      return b.cast(b.graph().load(node.payload, node.type), DType::f32);
    case NodeKind::gather:
      return b.cast(b.graph().add(node), DType::f32);
    case NodeKind::literal:
      return b.constant(DType::f32, literal_as_double(node));
    case NodeKind::cast: {
      if (node.payload == unrounded_cast) return b.cast(node.operands[0], DType::f32);
      const NodeId rounded = b.primitive(NodeKind::cast, node.type, {node.operands[0]});
      return b.cast(rounded, DType::f32);
    }
    case NodeKind::input:  // of a combiner
    case NodeKind::parameter:
    case NodeKind::random:
    case NodeKind::operation:
    case NodeKind::reduce:
    case NodeKind::scan:
    case NodeKind::tuple:
    case NodeKind::element:
    case NodeKind::call:
      node.type = DType::f32;
      return no_node;
    default:
      KILN_INTERNAL_CHECK(false, "a {} node cannot be widened to f32", name_of(node.type));
  }
  return no_node;
}

/// The node to store for an f16/bf16 output whose f32 value is `value`.
NodeId rounded_output(Builder& b, NodeId value, DType type) {
  const Node& node = b.node(value);
  if (node.kind == NodeKind::cast && b.type(node.operands[0]) == type) return node.operands[0];
  return b.primitive(NodeKind::cast, type, {value});
}

}  // namespace

Graph widen_storage_types(const Graph& graph, const PassOptions&) {
  Graph result = rewrite(graph, [](Builder& b, Node& node) {
    if (is_storage_type(node.type)) return widened(b, node);
    // f16/bf16 operands have become f32: the cast to f32 is then the value itself.
    if (node.kind == NodeKind::cast && b.type(node.operands[0]) == node.type) return node.operands[0];
    KILN_INTERNAL_CHECK(node.kind != NodeKind::bitcast || size_of(b.type(node.operands[0])) == size_of(node.type),
                        "bitcast of a storage type");
    return no_node;
  });
  Builder builder(result);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const DType type = graph[graph.outputs[i]].type;
    if (is_storage_type(type)) result.outputs[i] = rounded_output(builder, result.outputs[i], type);
  }
  return result;
}

}  // namespace kiln::codegen
