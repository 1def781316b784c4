// tests/unit/dsl/collapse_reduced_test.cpp -- collapse with reduced axes: every kept point still sees its elements.
#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "dsl/collapse.h"
#include "tests/unit/dsl/brute_force.h"

namespace kiln::dsl {
namespace {

using codegen::AxisClass;
using test::address_at;
using test::shape;
using test::strided;

using Tuple = std::vector<std::int64_t>;

/// For each point of the kept axes (named by what its row-level accesses touch): the elements of its row, sorted.
std::vector<std::vector<Tuple>> rows_of(const LoopNest& nest) {
  std::map<Tuple, std::vector<Tuple>> rows;
  const int kept = nest.shape.rank - nest.reduced;
  test::for_each_index(nest.shape, [&](const Extents& index) {
    const Tuple point(index.begin(), index.begin() + kept);
    Tuple& tuple = rows[point].emplace_back();
    for (const LoopNest::Walk& walk : nest.walks) tuple.push_back(address_at(walk.strides, walk.offset, index));
  });
  std::vector<std::vector<Tuple>> result;
  for (auto& [point, elements] : rows) {
    std::sort(elements.begin(), elements.end());
    result.push_back(elements);
  }
  std::sort(result.begin(), result.end());
  return result;
}

/// f32 accesses over a loop whose last `reduced` axes are reduced; the last one is the store.
LoopNest reduction(const std::vector<Strided>& views, int reduced) {
  LoopNest nest{views[0].shape, {}, views.size() - 1, reduced};
  for (const Strided& view : views) nest.walks.push_back({view.strides, view.offset, 4});
  return nest;
}

TEST(CollapseReduced, FullSumOfAContiguousArrayIsOneReducedAxis) {
  const LoopNest result = collapse(reduction({strided({4, 5, 6}, {30, 6, 1}), strided({4, 5, 6}, {0, 0, 0})}, 3));
  EXPECT_EQ(result.shape, shape({120}));
  EXPECT_EQ(result.reduced, 1);
  EXPECT_EQ(result.walks[0].strides[0], 1);
}

TEST(CollapseReduced, KeptAndReducedAxesNeverMerge) {
  // Everything is broadcast: only the border keeps the axes apart.
  const Strided none = strided({4, 5, 6}, {0, 0, 0});
  const LoopNest result = collapse(reduction({none, none}, 1));
  EXPECT_EQ(result.shape, shape({20, 6}));
  EXPECT_EQ(result.reduced, 1);
  // A running maximum kept per element is dense across the border.
  const Strided dense = strided({4, 5, 6}, {30, 6, 1});
  EXPECT_EQ(collapse(reduction({dense, dense}, 2)).shape, shape({4, 30}));
}

TEST(CollapseReduced, MiddleAxisKeepsTheContiguousKeptAxisLast) {
  // x[a, b, c] summed over b: loop (a, c | b).
  const LoopNest result = collapse(reduction({strided({3, 7, 5}, {35, 1, 7}), strided({3, 7, 5}, {7, 1, 0})}, 1));
  EXPECT_EQ(result.shape, shape({3, 7, 5}));
  EXPECT_EQ(result.reduced, 1);
  EXPECT_EQ(axis_classes(result, 0), (std::vector{AxisClass::strided, AxisClass::contiguous, AxisClass::strided}));
}

TEST(CollapseReduced, OrderFollowsTheElementsAndNotTheRows) {
  // The transposed result does not turn the rows of x: kept axes (j, i) as written become (i, j).
  const LoopNest result = collapse(reduction({strided({5, 4, 6}, {6, 30, 1}), strided({5, 4, 6}, {4, 1, 0})}, 1));
  EXPECT_EQ(result.shape, shape({4, 5, 6}));
  EXPECT_EQ(result.walks[0].strides[0], 30);
  EXPECT_EQ(result.walks[1].strides[0], 1);
}

TEST(CollapseReduced, MostBytesDecideOnTheInnermostReducedAxis) {
  const Strided c = strided({64, 64}, {64, 1}), f = strided({64, 64}, {1, 64}), total = strided({64, 64}, {0, 0});
  LoopNest nest = reduction({c, f, f, total}, 2);
  EXPECT_EQ(collapse(nest).walks[1].strides[1], 1) << "two of three are column-major";
  nest.walks[0].bytes = 16;
  EXPECT_EQ(collapse(nest).walks[0].strides[1], 1) << "16 bytes against 2 x 4";
}

TEST(CollapseReduced, BackwardRowsAreWalkedForwardUnlessOrderMatters) {
  LoopNest nest = reduction({strided({4, 7}, {7, -1}, 6), strided({4, 7}, {7, -1}, 6)}, 1);
  const LoopNest flipped = collapse(nest);
  EXPECT_EQ(flipped.walks[0].strides[1], 1);
  EXPECT_EQ(flipped.walks[0].offset, 0);
  nest.in_order = true;
  const LoopNest scan = collapse(nest);
  EXPECT_EQ(scan.walks[0].strides[1], -1) << "a running sum goes from the first element to the last";
  EXPECT_EQ(scan.walks[0].offset, 6);
}

TEST(CollapseReduced, PositionsFollowAFlippedAxis) {
  // argmax of a reversed row: the iota runs backwards along with the flipped load.
  LoopNest nest = reduction({strided({3, 5}, {5, -1}, 4), strided({3, 5}, {0, 1}), strided({3, 5}, {1, 0})}, 1);
  nest.walks[1].bytes = 0;
  const LoopNest result = collapse(nest);
  EXPECT_EQ(result.walks[0].strides[1], 1);
  EXPECT_EQ(result.walks[1].strides[1], -1);
  EXPECT_EQ(result.walks[1].offset, 4);
}

TEST(CollapseReduced, OneReducedAxisRemains) {
  const LoopNest single = collapse(reduction({strided({6, 1, 1}, {1, 1, 1}), strided({6, 1, 1}, {1, 0, 0})}, 2));
  EXPECT_EQ(single.shape, shape({6, 1}));
  EXPECT_EQ(single.reduced, 1);
  EXPECT_EQ(single.walks[0].strides[1], 0);
  const LoopNest scalar = collapse(reduction({strided({1}, {1}), strided({1}, {0})}, 1));
  EXPECT_EQ(scalar.shape, shape({1}));
  EXPECT_EQ(scalar.reduced, 1);
  const LoopNest partly = collapse(reduction({strided({6, 1, 5}, {5, 5, 1}), strided({6, 1, 5}, {1, 0, 0})}, 2));
  EXPECT_EQ(partly.shape, shape({6, 5}));
  EXPECT_EQ(partly.reduced, 1);
}

TEST(CollapseReduced, NothingToReduceIsOneAxisOfExtentZero) {
  // What moves along the empty axes is never read, and must not look like one value per row.
  const LoopNest result = collapse(
      reduction({strided({6, 4, 0}, {0, 0, 1}), strided({6, 4, 0}, {1, 0, 0}), strided({6, 4, 0}, {1, 0, 0})}, 2));
  EXPECT_EQ(result.shape, shape({6, 0}));
  EXPECT_EQ(result.reduced, 1);
  EXPECT_EQ(axis_classes(result, 0), (std::vector{AxisClass::broadcast, AxisClass::contiguous}));
  EXPECT_EQ(axis_classes(result, 1), (std::vector{AxisClass::contiguous, AxisClass::broadcast}));
  const DType f32[] = {DType::f32, DType::f32, DType::f32};
  EXPECT_EQ(index_width(result, f32), codegen::IndexWidth::bits32);
}

TEST(CollapseReduced, ReducedElementsCountForTheIndexWidth) {
  const DType f32[] = {DType::f32, DType::f32};
  const std::int64_t big = std::int64_t{1} << 20;
  EXPECT_EQ(index_width(reduction({strided({big, 1 << 12}, {0, 0}), strided({big, 1 << 12}, {0, 0})}, 1), f32),
            codegen::IndexWidth::bits64);
}

TEST(CollapseReduced, RandomNestsKeepTheElementsOfEveryRow) {
  std::mt19937 random(11);
  const std::int64_t steps[] = {0, 1, -1, 2, 3, 6, -6, 12, 4};
  for (int round = 0; round < 600; ++round) {
    const int rank = 1 + static_cast<int>(random() % 5);
    const int reduced = 1 + static_cast<int>(random() % rank);
    std::vector<Strided> views(2 + random() % 3);
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
        if (loop.extents[axis] == 1) view.strides[axis] = 0;
      }
    }
    const LoopNest nest = reduction(views, reduced), result = collapse(nest);
    ASSERT_EQ(rows_of(result), rows_of(nest)) << "round " << round;
    ASSERT_GE(result.reduced, 1);
    ASSERT_LE(result.shape.rank, rank);
  }
}

}  // namespace
}  // namespace kiln::dsl
