// tests/unit/dsl/collapse_test.cpp -- axis collapse keeps the visited tuples; classes follow their definitions.
#include "dsl/collapse.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/unit/dsl/brute_force.h"

namespace kiln::dsl {
namespace {

using codegen::AxisClass;
using test::address_at;
using test::shape;
using test::strided;

/// The set of (address of access 0, address of access 1, ...) over the loop, sorted.
std::vector<std::vector<std::int64_t>> tuples(const LoopNest& nest) {
  std::vector<std::vector<std::int64_t>> result;
  test::for_each_index(nest.shape, [&](const Extents& index) {
    auto& tuple = result.emplace_back();
    for (const LoopNest::Walk& walk : nest.walks) tuple.push_back(address_at(walk.strides, walk.offset, index));
  });
  std::sort(result.begin(), result.end());
  return result;
}

LoopNest nest_of(const std::vector<Strided>& views, std::size_t first_store) {
  LoopNest nest{views[0].shape, {}, first_store};
  for (const Strided& view : views) nest.walks.push_back({view.strides, view.offset});
  return nest;
}

TEST(Collapse, ContiguousOperandsBecomeOneAxis) {
  const Strided c = strided({4, 5, 6}, {30, 6, 1});
  const LoopNest result = collapse(nest_of({c, c, c}, 2));
  EXPECT_EQ(result.shape, shape({120}));
  for (const auto& walk : result.walks) EXPECT_EQ(walk.strides[0], 1);
}

TEST(Collapse, ColumnMajorOutputIsOneContiguousAxis) {
  const Strided f = strided({4, 5, 6}, {1, 4, 20});
  const LoopNest result = collapse(nest_of({f, f}, 1));
  EXPECT_EQ(result.shape, shape({120}));
  EXPECT_EQ(result.walks[1].strides[0], 1);
}

TEST(Collapse, BroadcastRowKeepsTwoAxes) {
  const LoopNest result = collapse(nest_of({strided({3, 4, 5}, {0, 0, 1}), strided({3, 4, 5}, {20, 5, 1})}, 1));
  EXPECT_EQ(result.shape, shape({12, 5}));
  EXPECT_EQ(result.walks[0].strides[0], 0);
}

TEST(Collapse, ReversedTogetherIsForward) {
  const LoopNest result = collapse(nest_of({strided({7}, {-1}, 6), strided({7}, {-1}, 6)}, 1));
  EXPECT_EQ(result.walks[0].strides[0], 1);
  EXPECT_EQ(result.walks[0].offset, 0);
  EXPECT_EQ(result.walks[1].offset, 0);
}

TEST(Collapse, ReversedOperandOfForwardOutputStaysReversed) {
  const LoopNest result = collapse(nest_of({strided({7}, {-1}, 6), strided({7}, {1})}, 1));
  EXPECT_EQ(result.walks[0].strides[0], -1);
  EXPECT_EQ(result.walks[0].offset, 6);
}

TEST(Collapse, SingleElementHasNoAxes) {
  EXPECT_EQ(collapse(nest_of({strided({1, 1, 1}, {5, 9, 2}), strided({1, 1, 1}, {1, 1, 1})}, 1)).shape.rank, 0);
  EXPECT_EQ(collapse(nest_of({strided({}, {}), strided({}, {})}, 1)).shape.rank, 0);
}

TEST(Collapse, RandomNestsVisitTheSameTuples) {
  std::mt19937 random(7);
  const std::int64_t steps[] = {0, 1, -1, 2, 3, 6, -6, 12, 4};
  for (int round = 0; round < 400; ++round) {
    const int rank = static_cast<int>(random() % 5);
    std::vector<Strided> views(1 + random() % 3);
    Shape loop;
    loop.rank = rank;
    for (int axis = 0; axis < rank; ++axis) loop.extents[axis] = 1 + random() % 4;
    for (Strided& view : views) {
      view.shape = loop;
      view.offset = random() % 10;
      std::int64_t natural = 1;
      for (int axis = rank; axis-- > 0;) {
        view.strides[axis] = random() % 2 ? natural : steps[random() % 9];
        natural *= loop.extents[axis];
      }
    }
    const LoopNest nest = nest_of(views, views.size() - 1), result = collapse(nest);
    ASSERT_EQ(tuples(result), tuples(nest)) << "round " << round;
    ASSERT_LE(result.shape.rank, rank);
    for (int axis = 0; axis < result.shape.rank; ++axis) {
      EXPECT_GT(result.shape.extents[axis], 1);
      EXPECT_GE(result.walks.back().strides[axis], 0) << "the output is walked forward";
    }
  }
}

TEST(Classes, StridesOneZeroAndOther) {
  const LoopNest nest = nest_of({strided({2, 3, 4}, {-1, 0, 1})}, 0);
  EXPECT_EQ(axis_classes(nest, 0), (std::vector{AxisClass::strided, AxisClass::broadcast, AxisClass::contiguous}));
}

TEST(Classes, AlignmentIsLimitedByBaseAndByOuterSteps) {
  const auto alignment = [](std::initializer_list<std::int64_t> strides, std::uint64_t base, DType type) {
    const LoopNest nest = nest_of({strides.size() == 2 ? strided({8, 8}, strides) : strided({64}, strides)}, 0);
    return alignment_class(nest, 0, base, type);
  };
  EXPECT_EQ(alignment({1}, 4096, DType::f32), 16);
  EXPECT_EQ(alignment({1}, 4096 + 4, DType::f32), 4);
  EXPECT_EQ(alignment({1}, 4096 + 8, DType::f32), 8);
  EXPECT_EQ(alignment({1}, 4096 + 3, DType::u8), 1);
  EXPECT_EQ(alignment({1184, 1}, 4096, DType::f32), 16);
  EXPECT_EQ(alignment({1185, 1}, 4096, DType::f32), 4) << "odd pitch: B05";
  EXPECT_EQ(alignment({1186, 1}, 4096, DType::f16), 4);
  EXPECT_EQ(alignment({0, 1}, 4096, DType::f16), 16) << "a broadcast axis takes no step";
  EXPECT_EQ(alignment({3}, 4096, DType::f32), 4) << "never a vector: one class";
  EXPECT_EQ(alignment({0}, 4096, DType::f64), 8);
}

TEST(Classes, DenseMeansRowMajorWithoutGapsAndAShortInnermostAxis) {
  const auto dense = [](std::initializer_list<std::int64_t> extents, std::initializer_list<std::int64_t> strides,
                        std::uint64_t base) {
    return dense_alignment(nest_of({strided(extents, strides)}, 0), 0, base);
  };
  EXPECT_EQ(dense({5, 7, 3}, {21, 3, 1}, 4096), 16);
  EXPECT_EQ(dense({5, 7, 3}, {21, 3, 1}, 4096 + 3), 1);
  EXPECT_EQ(dense({5, 7, 3}, {24, 3, 1}, 4096), 0) << "padded rows";
  EXPECT_EQ(dense({5, 7, 3}, {0, 0, 1}, 4096), 0) << "broadcast";
  EXPECT_EQ(dense({5, 7, 3}, {1, 5, 35}, 4096), 0) << "another order";
  EXPECT_EQ(dense({5, 31}, {31, 1}, 4096), 16);
  EXPECT_EQ(dense({5, 32}, {32, 1}, 4096), 0) << "long enough for vectors along it";
  EXPECT_EQ(dense({7}, {1}, 4096), 0) << "one axis is flat anyway";
}

TEST(Classes, IndexWidthFollowsReachAndRoundedCount) {
  const DType f32[] = {DType::f32}, i8[] = {DType::i8};
  const auto width = [](std::int64_t n, std::int64_t stride, std::span<const DType> types) {
    return index_width(nest_of({strided({n}, {stride})}, 0), types);
  };
  const std::int64_t two31 = std::int64_t{1} << 31;
  EXPECT_EQ(width(1 << 28, 1, f32), codegen::IndexWidth::bits32);
  EXPECT_EQ(width((1 << 29) + 1, 1, f32), codegen::IndexWidth::bits64) << "byte offsets beyond 2^31";
  EXPECT_EQ(width(two31 - 1, 1, i8), codegen::IndexWidth::bits64) << "the last block would pass 2^31";
  EXPECT_EQ(width(two31 + 3, 0, i8), codegen::IndexWidth::bits64) << "B06: a broadcast operand still counts";
  EXPECT_EQ(width(1 << 20, -(1 << 12), i8), codegen::IndexWidth::bits64) << "reach backwards counts too";
}

}  // namespace
}  // namespace kiln::dsl
