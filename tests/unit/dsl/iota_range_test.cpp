// tests/unit/dsl/iota_range_test.cpp -- the bounds that narrowing may assume hold every value of an iota.
#include <limits>

#include <gtest/gtest.h>

#include "dsl/collapse.h"
#include "tests/unit/dsl/brute_force.h"

namespace kiln::dsl {
namespace {

using test::strided;

constexpr std::int64_t small = std::int64_t{1} << 24, large = (std::int64_t{1} << 31) - (std::int64_t{1} << 18);
constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

void expect_range(const Strided& view, std::int64_t low, std::int64_t high) {
  const codegen::IotaRange range = iota_range(view);
  EXPECT_EQ(range.low, low);
  EXPECT_EQ(range.high, high);
}

TEST(IotaRange, EveryValueOfSmallViewsIsInside) {
  for (const std::int64_t offset : {-7, 0, 5}) {
    for (const std::int64_t row : {-3, 0, 4}) {
      for (const std::int64_t step : {-1, 0, 1, 6}) {
        const Strided view = strided({3, 5}, {row, step}, offset);
        const codegen::IotaRange range = iota_range(view);
        bool any_negative = false;
        test::for_each_index(view.shape, [&](const Extents& index) {
          const std::int64_t value = test::address_at(view.strides, view.offset, index);
          EXPECT_LE(range.low, value);
          EXPECT_GE(range.high, value);
          any_negative = any_negative || value < 0;
        });
        EXPECT_EQ(range.low < 0, any_negative) << "a sign is assumed only where there is one";
      }
    }
  }
}

// Few classes, so that kernels are shared between shapes; the border belongs to the smaller class.
TEST(IotaRange, ClassesAndTheirBorders) {
  expect_range(strided({10}, {1}, 0), 0, small);
  expect_range(strided({small + 1}, {1}, 0), 0, small);
  expect_range(strided({small + 2}, {1}, 0), 0, large);
  expect_range(strided({10}, {-1}, 0), -small, small);
  expect_range(strided({2}, {-small}, 0), -small, small);
  expect_range(strided({2}, {-small - 1}, 0), -large, large);
  expect_range(strided({2}, {large}, 0), 0, large);
  expect_range(strided({2}, {large}, 1), lowest, highest);
  expect_range(strided({2}, {-large}, -1), lowest, highest);
}

// Steps that overflow 64 bits on the way are no small range.
TEST(IotaRange, HugeStepsAreUnbounded) {
  expect_range(strided({5}, {std::int64_t{1} << 62}, 0), lowest, highest);
  expect_range(strided({5, 5}, {std::int64_t{1} << 62, -(std::int64_t{1} << 62)}, 0), lowest, highest);
}

}  // namespace
}  // namespace kiln::dsl
