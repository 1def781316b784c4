// dsl/lower.cpp -- canonical numbering of what a body reads.
#include "dsl/lower.h"

namespace kiln::dsl {
using codegen::Node;
using codegen::NodeId;
using codegen::NodeKind;

Body renumbered(const Body& body) {
  Body result;
  constexpr std::size_t unused = ~std::size_t{0};
  std::vector<std::size_t> leaf_number(body.leaves.size(), unused), parameter_number(body.parameters.size(), unused);
  const codegen::Graph canonical = codegen::canonical(body.graph);
  for (NodeId id = 0; id < canonical.size(); ++id) {
    Node node = canonical[id];
    if (node.kind == NodeKind::load || node.kind == NodeKind::iota || node.kind == NodeKind::gather) {
      std::size_t& number = leaf_number[node.payload];
      if (number == unused) {
        number = result.leaves.size();
        result.leaves.push_back(body.leaves[node.payload]);
      }
      node.payload = number;
    } else if (node.kind == NodeKind::parameter) {
      std::size_t& number = parameter_number[node.payload];
      if (number == unused) {
        number = result.parameters.size();
        result.parameters.push_back(body.parameters[node.payload]);
      }
      node.payload = number;
    }
    result.graph.adopt(canonical, node, canonical.location(id));
  }
  result.graph.outputs = canonical.outputs;
  return result;
}

}  // namespace kiln::dsl
