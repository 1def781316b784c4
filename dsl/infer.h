// dsl/infer.h -- shapes of every node of a trace, once the shapes of its inputs are known.
#pragma once

#include <span>
#include <vector>

#include "codegen/ir/graph.h"
#include "dsl/shapes.h"

namespace kiln::dsl {

/// One shape per node by NumPy's broadcasting. `inputs[slot]` is the shape of input (or iota) `slot`. ShapeError names
/// the operation, the shapes and types of its operands, the user's line and what to do. One linear scan.
std::vector<Shape> infer_shapes(const codegen::Graph& graph, std::span<const Shape> inputs);

/// "add", "cast", "index", ...: what messages and texts call a node.
const char* node_name(const codegen::Node& node);

/// What the user called to get this node, without "kl::": "sum", "cumsum", "scan", ... A tuple of operands has the name
/// of the call that joins it. "var" where it was `var` or `std_`.
const char* written_name(const codegen::Graph& graph, codegen::NodeId id);

inline Where where_of(const codegen::Graph& graph, codegen::NodeId id) {
  return {graph.location(id).file, graph.location(id).line};
}

}  // namespace kiln::dsl
