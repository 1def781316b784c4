// dsl/taken_shape.cpp -- where the axes of a take's result come from.
#include "dsl/taken_shape.h"

#include "support/check.h"

namespace kiln::dsl {

using codegen::TakeSpec;

TakeAxes axes_of_take(const TakeSpec& spec, int source_rank, int indices_rank) {
  TakeAxes axes;
  for (int k = 0; k < indices_rank; ++k) axes.indices[k] = spec.along ? k : spec.axis + k;
  const int step = spec.along ? 1 : indices_rank;  // axes of the result in the place of the source's
  for (int k = 0; k + 1 < source_rank; ++k) axes.rest[k] = k < spec.axis ? k : k + step;
  return axes;
}

Shape without_axis(const Shape& shape, int axis) {
  Shape result;
  for (int k = 0; k < shape.rank; ++k)
    if (k != axis) result.extents[result.rank++] = shape.extents[k];
  return result;
}

namespace {

Shape shape_along(const TakeSpec& spec, const Shape& source, const Shape& indices, Where where) {
  Shape result = indices;
  bool fits = source.rank == indices.rank;
  for (int k = 0; fits && k < source.rank; ++k) {
    if (k == spec.axis) continue;
    const std::int64_t a = source.extents[k], b = indices.extents[k];
    fits = a == b || a == 1 || b == 1;
    result.extents[k] = a == 1 ? b : a;
  }
  if (fits) return result;
  fail<ShapeError>(
      "kl::take_along_axis: a source of shape {} and indices of shape {} do not agree{}; they need as many axes, and "
      "equal extents (or 1) but along axis {}",
      to_text(source), to_text(indices), place(where), spec.axis);
}

}  // namespace

Shape taken_shape(const TakeSpec& spec, const Shape& source, const Shape& indices, Where where) {
  Shape result;
  if (spec.along) {
    result = shape_along(spec, source, indices, where);
  } else {
    if (source.rank - 1 + indices.rank > max_rank) {
      fail<ShapeError>("kl::take of shape {} by indices of shape {}{} has {} axes; ranks 0 to {} are possible",
                       to_text(source), to_text(indices), place(where), source.rank - 1 + indices.rank, max_rank);
    }
    const TakeAxes axes = axes_of_take(spec, source.rank, indices.rank);
    const Shape rest = without_axis(source, spec.axis);
    result.rank = rest.rank + indices.rank;
    for (int k = 0; k < indices.rank; ++k) result.extents[axes.indices[k]] = indices.extents[k];
    for (int k = 0; k < rest.rank; ++k) result.extents[axes.rest[k]] = rest.extents[k];
  }
  if (source.extents[spec.axis] == 0 && element_count("take", result, where) > 0) {
    fail<ShapeError>("kl::take: axis {} of shape {} has no elements to take{}; indices of shape {} ask for some",
                     static_cast<int>(spec.axis), to_text(source), place(where), to_text(indices));
  }
  return result;
}

}  // namespace kiln::dsl
