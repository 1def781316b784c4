// tests/unit/dsl/brute_force.h -- addresses of every element, by plain enumeration: the reference for layout algebra.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "dsl/shapes.h"

namespace kiln::dsl::test {

/// Calls `visit(index)` for each index of `shape` in C order.
inline void for_each_index(const Shape& shape, const std::function<void(const Extents&)>& visit) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape.span()) count *= extent;
  for (std::int64_t number = 0; number < count; ++number) {
    Extents index = {};
    std::int64_t rest = number;
    for (int axis = shape.rank; axis-- > 0;) {
      index[axis] = rest % shape.extents[axis];
      rest /= shape.extents[axis];
    }
    visit(index);
  }
}

inline std::int64_t address_at(const Extents& strides, std::int64_t offset, const Extents& index) {
  for (int axis = 0; axis < max_rank; ++axis) offset += strides[axis] * index[axis];
  return offset;
}

/// Element numbers in C order of the index.
inline std::vector<std::int64_t> addresses(const Strided& view) {
  std::vector<std::int64_t> result;
  for_each_index(view.shape,
                 [&](const Extents& index) { result.push_back(address_at(view.strides, view.offset, index)); });
  return result;
}

inline Shape shape(std::initializer_list<std::int64_t> extents) {
  Shape result;
  for (const std::int64_t extent : extents) result.extents[result.rank++] = extent;
  return result;
}

inline Strided strided(std::initializer_list<std::int64_t> extents, std::initializer_list<std::int64_t> strides,
                       std::int64_t offset = 0) {
  Strided result{shape(extents), {}, offset};
  int axis = 0;
  for (const std::int64_t stride : strides) result.strides[axis++] = stride;
  return result;
}

}  // namespace kiln::dsl::test
