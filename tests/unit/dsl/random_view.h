// tests/unit/dsl/random_view.h -- a view that a value of a given shape may have.
#pragma once

#include <random>

#include "dsl/shapes.h"

namespace kiln::dsl::test {

inline ViewSpec random_view(const Shape& shape, std::mt19937& random) {
  const auto any = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(n)); };
  ViewSpec spec;
  spec.kind = static_cast<ViewSpec::Kind>(any(7));
  switch (spec.kind) {
    case ViewSpec::Kind::reshape:
      if (any(2) && shape.rank > 0) {
        spec.numbers = {-1};
      } else {
        spec.numbers.assign(shape.extents.begin(), shape.extents.begin() + shape.rank);
        spec.numbers.insert(spec.numbers.begin() + any(shape.rank + 1), 1);
      }
      break;
    case ViewSpec::Kind::broadcast_to:
      spec.numbers.assign(shape.extents.begin(), shape.extents.begin() + shape.rank);
      for (std::int64_t& extent : spec.numbers)
        if (extent == 1) extent = 1 + any(3);
      if (shape.rank < 4) spec.numbers.insert(spec.numbers.begin(), 2);
      break;
    case ViewSpec::Kind::squeeze:
      for (int axis = 0; axis < shape.rank && spec.numbers.empty(); ++axis)
        if (shape.extents[axis] == 1) spec.numbers = {axis};
      if (spec.numbers.empty()) spec.kind = ViewSpec::Kind::transpose;
      break;
    case ViewSpec::Kind::unsqueeze:
      if (shape.rank < 4)
        spec.numbers = {any(shape.rank + 1)};
      else
        spec.kind = ViewSpec::Kind::flip;
      break;
    case ViewSpec::Kind::slice:
      for (int axis = 0; axis < shape.rank; ++axis) {
        const std::int64_t step = any(2) ? 1 + any(2) : -1 - any(2);
        const bool index = any(4) == 0;
        spec.items.push_back({index, index, false, index ? any(shape.extents[axis]) : 0, 0, index ? 1 : step});
      }
      break;
    default:
      break;  // transpose and flip of all axes
  }
  return spec;
}

}  // namespace kiln::dsl::test
