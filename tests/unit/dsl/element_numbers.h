// tests/unit/dsl/element_numbers.h -- a reference for views that moves element numbers about one by one.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <kiln/error.h>

#include "dsl/shapes.h"
#include "tests/support/messages.h"

namespace element_numbers {

using namespace kiln;
using namespace kiln::dsl;
using messages::expect_mentions;
using messages::message_of;
using Numbers = std::vector<std::int64_t>;
using Item = ViewSpec::Item;

inline constexpr Where here{"/home/user/main.cpp", 7};

/// An array whose elements are their own numbers in the base array, in C order.
struct Reference {
  Numbers shape, elements;
};

inline std::int64_t product(const Numbers& shape) {
  std::int64_t n = 1;
  for (const auto extent : shape) n *= extent;
  return n;
}

/// Calls `body` with every index of `shape` in C order.
template <class Body>
void for_each_index(const Numbers& shape, Body body) {
  if (product(shape) == 0) return;
  Numbers index(shape.size(), 0);
  for (;;) {
    body(index);
    std::size_t i = shape.size();
    while (i > 0 && ++index[i - 1] == shape[i - 1]) index[--i] = 0;
    if (i == 0) return;
  }
}

inline std::int64_t at(const Reference& a, const Numbers& index) {
  std::int64_t flat = 0;
  for (std::size_t i = 0; i < index.size(); ++i) flat = flat * a.shape[i] + index[i];
  return a.elements[static_cast<std::size_t>(flat)];
}

/// The array of `shape` whose element at an index is the element of `a` at `source(index)`.
template <class Source>
Reference gather(const Reference& a, const Numbers& shape, Source source) {
  Reference result{shape, {}};
  for_each_index(shape, [&](const Numbers& index) { result.elements.push_back(at(a, source(index))); });
  return result;
}

inline Reference base(const Numbers& shape) {
  Reference a{shape, Numbers(static_cast<std::size_t>(product(shape)))};
  for (std::size_t i = 0; i < a.elements.size(); ++i) a.elements[i] = static_cast<std::int64_t>(i);
  return a;
}

inline Numbers shape_numbers(const Strided& view) { return {view.shape.span().begin(), view.shape.span().end()}; }

inline Reference read(const Strided& view) {
  Reference result{shape_numbers(view), {}};
  for_each_index(result.shape, [&](const Numbers& index) {
    std::int64_t address = view.offset;
    for (std::size_t i = 0; i < index.size(); ++i) address += index[i] * view.strides[i];
    result.elements.push_back(address);
  });
  return result;
}

inline void expect_same(const Strided& view, const Reference& expected) {
  EXPECT_EQ(shape_numbers(view), expected.shape);
  EXPECT_EQ(read(view).elements, expected.elements);
}

inline Strided base_view(const Numbers& shape) { return contiguous("array", make_shape("array", shape, here), here); }

/// The indices that Python's slice selects, by walking them.
inline Numbers walk_slice(const Item& item, std::int64_t n) {
  Numbers picked;
  if (item.step > 0) {
    std::int64_t i = !item.has_start ? 0 : item.start < 0 ? item.start + n : item.start;
    const std::int64_t stop = !item.has_stop ? n : item.stop < 0 ? item.stop + n : item.stop;
    for (i = std::max<std::int64_t>(i, 0); i < stop && i < n; i += item.step) picked.push_back(i);
  } else {
    std::int64_t i = !item.has_start ? n - 1 : item.start < 0 ? item.start + n : item.start;
    const std::int64_t stop = !item.has_stop  ? -1
                              : item.stop < 0 ? std::max<std::int64_t>(item.stop + n, -1)
                                              : item.stop;
    for (i = std::min(i, n - 1); i > stop && i >= 0; i += item.step) picked.push_back(i);
  }
  return picked;
}

inline Reference slice_reference(const Reference& a, const std::vector<Item>& items) {
  std::vector<Numbers> picked;
  Numbers shape;
  for (std::size_t i = 0; i < a.shape.size(); ++i) {
    const Item item = i < items.size() ? items[i] : Item{};
    if (item.is_index) {
      picked.push_back({item.start < 0 ? item.start + a.shape[i] : item.start});
      continue;
    }
    picked.push_back(walk_slice(item, a.shape[i]));
    shape.push_back(static_cast<std::int64_t>(picked.back().size()));
  }
  return gather(a, shape, [&](const Numbers& index) {
    Numbers source;
    std::size_t used = 0;
    for (std::size_t i = 0; i < a.shape.size(); ++i) {
      const bool is_index = i < items.size() && items[i].is_index;
      source.push_back(picked[i][is_index ? 0 : static_cast<std::size_t>(index[used++])]);
    }
    return source;
  });
}

}  // namespace element_numbers
