// dsl/lower.h -- from a traced graph and concrete layouts to kernel bodies: views are pushed down to the operands.
//
// A view of an expression is the expression of viewed operands. Walking down from an output, each node is reached in a
// context: the affine map from the coordinates of the loop to the coordinates of the node. Equal maps are one context,
// so the work is linear in the distinct (node, map) pairs and never in the number of paths.
#pragma once

#include <span>
#include <vector>

#include "codegen/ir/graph.h"
#include "dsl/folds.h"
#include "dsl/shapes.h"

namespace kiln::dsl {

/// What a traced input slot stands for in this call.
struct Operand {
  Strided view;  ///< from the handle's data, in elements
  DType type = DType::f32;
  bool iota = false;  ///< no memory: the address itself is the value
  int merged = 0;     ///< the first slot with the same data and layout; its own number if none
};

/// One distinct load or iota of a kernel: an operand seen over the loop.
struct Leaf {
  int slot = -1;  ///< input slot; -1 for kl::index, whose values follow from the loop alone, and temporaries
  bool iota = false;
  DType type = DType::f32;
  Strided view;        ///< over the loop's shape
  int temporary = -1;  ///< number of the temporary that is read, computed by an earlier kernel of the call
  /// Memory that elements are taken from: `view` is its start only, the places are computed; `whole` is what may be
  /// read and `step` the distance of neighbours along the axis of the indices.
  bool gathered = false;
  std::int64_t step = 0;
  Strided whole = {};
  std::uint8_t gathers = 0;  ///< of an iota: Access::gathers
  AxisFolds folds = {};      ///< by loop axis
  bool is_folded() const { return any_active(folds); }
  friend bool operator==(const Leaf&, const Leaf&) = default;
};

/// A scalar argument as one kernel takes it: the same slot may be wanted in two types.
struct Parameter {
  unsigned slot = 0;
  DType type = DType::f32;
  bool constant = false;   ///< no scalar of the call: a number that follows from the shapes
  std::int64_t value = 0;  ///< that number
  friend bool operator==(const Parameter&, const Parameter&) = default;
};

/// A kernel body over an uncollapsed loop. Load and iota nodes number `leaves`, parameter nodes `parameters`.
struct Body {
  codegen::Graph graph;
  std::vector<Leaf> leaves;
  std::vector<Parameter> parameters;
};

/// The body that computes `outputs` (nodes of `graph`) over `loop`. ShapeError when a reshape cannot be pushed down.
Body lower(const codegen::Graph& graph, std::span<const Shape> shapes, std::span<const Operand> operands,
           std::span<const codegen::NodeId> outputs, const Shape& loop);

/// Renumbers leaves and parameters in the order of their first use in `body.graph` and drops unused ones. A pass may
/// have removed uses, and equal expressions must number alike.
Body renumbered(const Body& body);

}  // namespace kiln::dsl
