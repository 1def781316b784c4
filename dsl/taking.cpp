// dsl/taking.cpp -- the sources of takes: what lies in memory, and what has to be computed first.
#include "dsl/taking.h"

#include "dsl/infer.h"

namespace kiln::dsl {

using codegen::Node;
using codegen::NodeId;
using codegen::NodeKind;

TakeSource source_of_take(const Source& source, NodeId take) {
  std::vector<NodeId> views;  // outermost first
  NodeId at = source.graph[take].operands[0];
  const auto is_layout = [&] {
    const Node& node = source.graph[at];
    return node.kind == NodeKind::view && source.graph.view_spec(node).kind != ViewSpec::Kind::shift;
  };
  for (; is_layout(); at = source.graph[at].operands[0]) views.push_back(at);
  const Node& root = source.graph[at];
  const Where where = where_of(source.graph, take);
  TakeSource result;
  if (root.kind == NodeKind::input && !source.operands[root.payload].iota) {
    result.slot = source.operands[root.payload].merged;
    result.view = source.operands[root.payload].view;
  } else {
    result.stored = at;
    result.view = contiguous("take", source.shapes[at], where);
  }
  for (; !views.empty(); views.pop_back()) {
    const NodeId view = views.back();
    const std::optional<Strided> seen = apply_view(result.view, source.graph.view_spec(source.graph[view]), where);
    result.view = seen ? *seen : contiguous("take", source.shapes[view], where);
    if (!seen) result.slot = -1, result.stored = view;
  }
  return result;
}

std::vector<NodeId> stored_sources(const Source& source) {
  std::vector<NodeId> stored(source.graph.size(), codegen::no_node);
  for (NodeId id = 0; id < source.graph.size(); ++id)
    if (source.graph[id].kind == NodeKind::take) stored[id] = source_of_take(source, id).stored;
  return stored;
}

}  // namespace kiln::dsl
