// dsl/taking.h -- where the elements of a take come from: an operand's memory as it lies, or a temporary.
#pragma once

#include <vector>

#include "dsl/lower.h"

namespace kiln::dsl {

/// A call: what every kernel of it is lowered from.
struct Source;

/// The source of a take. Views of an operand are read where they lie. Any other value, and a reshape that no view of
/// the operand shows, is computed first: node `stored`, from which `view` shows the source.
struct TakeSource {
  int slot = -1;
  codegen::NodeId stored = codegen::no_node;
  Strided view;  ///< over the axes of the source
};
TakeSource source_of_take(const Source& source, codegen::NodeId take);

/// Per node, for takes of computed values: the node that must be stored; no_node elsewhere.
std::vector<codegen::NodeId> stored_sources(const Source& source);

/// A take's coordinates, as axes of its result: for each axis of the indices, and of the source without `spec.axis`.
struct TakeAxes {
  std::array<int, max_rank> indices = {}, rest = {};
};
TakeAxes axes_of_take(const codegen::TakeSpec& spec, int source_rank, int indices_rank);

/// The shape of a take's result. ShapeError: more than 8 axes, shapes that do not line up, elements of nothing.
Shape taken_shape(const codegen::TakeSpec& spec, const Shape& source, const Shape& indices, Where where);

/// `shape` without `axis`.
Shape without_axis(const Shape& shape, int axis);

}  // namespace kiln::dsl
