// dsl/taken_shape.h -- axes and shapes of takes.
#pragma once

#include <array>

#include "dsl/shapes.h"

namespace kiln::dsl {

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
