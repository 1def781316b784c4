// codegen/pass/fold.cpp -- constant folding and dead code.
#include "codegen/pass/builder.h"
#include "codegen/pass/evaluate.h"
#include "codegen/pass/passes.h"
#include "support/float_environment.h"

namespace kiln::codegen {

Graph fold_constants(const Graph& graph, const PassOptions&) {
  const DefaultFloatEnvironment environment;
  return rewrite(graph, [](Builder& b, const Node& node) {
    std::array<Node, 3> operands;
    for (std::size_t i = 0; i < node.arity; ++i) {
      if (!is_literal(b.graph(), node.operands[i])) return no_node;
      operands[i] = b.node(node.operands[i]);
    }
    if (node.arity == 0) return no_node;
    const auto bits = evaluate(node, {operands.data(), node.arity});
    return bits ? b.bits(node.type, *bits) : no_node;
  });
}

Graph eliminate_dead(const Graph& graph, const PassOptions&) {
  return rewrite(graph, [](Builder&, const Node&) { return no_node; });  // canonical(), of combiners too
}

}  // namespace kiln::codegen
