// tests/unit/codegen/launch_wish_test.cpp -- schedules in the caller's blocks and elements per thread: what changes,
// what every element's thread is, and what is refused.
#include "codegen/schedule/launch_wish.h"

#include <gtest/gtest.h>

#include <array>

#include "codegen/schedule/arithmetic.h"

namespace kiln::codegen {
namespace {

Access access(DType type, std::vector<AxisClass> axes, bool store) {
  Access result;
  result.type = type;
  result.axes = std::move(axes);
  result.alignment = 16;
  result.store = store;
  return result;
}

constexpr AxisClass c = AxisClass::contiguous, s = AxisClass::strided, b = AxisClass::broadcast;

/// y = x + x.
Kernel elementwise(std::vector<AxisClass> from, std::vector<AxisClass> to) {
  Kernel kernel;
  kernel.rank = static_cast<int>(to.size());
  kernel.accesses = {access(DType::f32, std::move(from), false), access(DType::f32, std::move(to), true)};
  const NodeId x = kernel.body.load(0, DType::f32);
  const std::array<NodeId, 2> both = {x, x};
  kernel.body.outputs.push_back(kernel.body.operation(Op::add, DType::f32, both));
  return kernel;
}

/// A sum or running sum of x along the last axis.
Kernel reduction(std::vector<AxisClass> from, bool scan) {
  Kernel kernel;
  kernel.rank = static_cast<int>(from.size());
  kernel.reduced = 1;
  std::vector<AxisClass> to = from;
  if (!scan) {
    for (AxisClass& axis : to) axis = axis == s ? c : axis;
    to.back() = b;
  }
  kernel.accesses = {access(DType::f32, from, false), access(DType::f32, to, true)};
  ReductionSpec spec;
  spec.kind = Reduction::sum;
  const NodeId x = kernel.body.load(0, DType::f32);
  kernel.body.outputs.push_back(scan ? kernel.body.scan(spec, DType::f32, {x})
                                     : kernel.body.reduce(spec, DType::f32, {x}));
  return kernel;
}

struct Wished {
  Schedule schedule;
  LaunchShape shape;
  std::string problem;
};

Wished wish(const Kernel& kernel, std::vector<std::int64_t> extents, int block, int items, std::uint64_t grid = 0) {
  const Extents loop{std::move(extents)};
  Wished result{choose_schedule(kernel, loop, {}), {}, {}};
  LaunchWish wished;
  wished.block[0] = block;
  wished.items = items;
  wished.grid = grid;
  result.problem = apply_wish(kernel, loop, wished, result.schedule);
  if (!result.problem.empty()) return result;
  result.shape = launch_shape(kernel, result.schedule, loop);
  result.problem = apply_grid(wished, result.schedule, result.shape);
  return result;
}

std::uint32_t threads(const LaunchShape& shape) { return shape.block[0] * shape.block[1] * shape.block[2]; }

TEST(LaunchWish, ElementwiseBlocksAndItemsAreWhatWasAskedFor) {
  for (const int block : {32, 96, 128, 1024}) {
    for (const int items : {1, 2, 6, 8, 64}) {
      const Wished w = wish(elementwise({c}, {c}), {1 << 20}, block, items);
      ASSERT_EQ(w.problem, "");
      EXPECT_EQ(threads(w.shape), static_cast<std::uint32_t>(block));
      EXPECT_EQ(w.schedule.vector * w.schedule.items, items);
      EXPECT_EQ(w.shape.grid[0], static_cast<std::uint32_t>(ceil_divide(1 << 20, std::int64_t{block} * items)));
    }
  }
}

TEST(LaunchWish, FewerBlocksThanTilesTakeThemInTurn) {
  const Wished w = wish(elementwise({c}, {c}), {1 << 20}, 256, 4, 7);
  EXPECT_EQ(w.problem, "");
  EXPECT_EQ(w.shape.grid[0], 7u);
  EXPECT_NE(w.schedule.key(), wish(elementwise({c}, {c}), {1 << 20}, 256, 4).schedule.key()) << "another kernel";
  EXPECT_EQ(wish(elementwise({c}, {c}), {1 << 20}, 256, 4, 5000).shape.grid[0], 1024u) << "more than there is to do";
  EXPECT_NE(wish(elementwise({s, c}, {s, c}), {1000, 1000}, 256, 0, 7).problem.find("does not cover"),
            std::string::npos);
}

TEST(LaunchWish, TwoAxesMayBeSpreadByTheCaller) {
  const Kernel kernel = elementwise({s, c}, {s, c});
  const Extents loop{{100, 1000}};
  Schedule schedule = choose_schedule(kernel, loop, {});
  LaunchWish wished;
  wished.block[0] = 64, wished.block[1] = 4;
  EXPECT_EQ(apply_wish(kernel, loop, wished, schedule), "");
  const LaunchShape shape = launch_shape(kernel, schedule, loop);
  EXPECT_EQ(shape.block, (std::array<std::uint32_t, 3>{64, 4, 1}));
  EXPECT_EQ(shape.grid[1], 25u);
  Schedule flat = choose_schedule(elementwise({c}, {c}), {{1000}}, {});
  EXPECT_NE(apply_wish(elementwise({c}, {c}), {{1000}}, wished, flat), "") << "one axis";
}

TEST(LaunchWish, TransposedTilesTakeThePowersOfTwoThatFit) {
  const Kernel kernel = elementwise({c, s}, {s, c});
  for (const int block : {64, 128, 256, 512, 1024}) {
    const Wished w = wish(kernel, {4096, 4096}, block, 0);
    ASSERT_EQ(w.problem, "");
    ASSERT_EQ(w.schedule.form, Template::transpose);
    EXPECT_EQ(threads(w.shape), static_cast<std::uint32_t>(block));
    EXPECT_LE(w.schedule.vector * block, w.schedule.tile * w.schedule.tile);
    EXPECT_EQ(block % (w.schedule.tile / w.schedule.vector), 0);
  }
  EXPECT_EQ(wish(kernel, {4096, 4096}, 128, 8).schedule.tile, 32);
  EXPECT_EQ(wish(kernel, {4096, 4096}, 128, 32).schedule.tile, 64);
  EXPECT_NE(wish(kernel, {4096, 4096}, 100, 0).problem.find("64, 128, 256"), std::string::npos);
}

TEST(LaunchWish, RowsAreHeldWhereTheBlockHoldsThemElseWalkedAlong) {
  const Kernel kernel = reduction({s, c}, false);
  for (const std::int64_t length : {64, 1000, 4096, 100000}) {
    for (const int block : {0, 32, 64, 256, 1024}) {
      for (const int items : {0, 4, 16, 32}) {
        const Wished w = wish(kernel, {100000, length}, block, items);
        ASSERT_EQ(w.problem, "") << length << " " << block << " " << items;
        EXPECT_TRUE(block == 0 || threads(w.shape) == static_cast<std::uint32_t>(block));
        EXPECT_TRUE(items == 0 || w.schedule.items * w.schedule.vector == items);
        const std::int64_t tile = std::int64_t{w.schedule.lanes} * w.schedule.items * w.schedule.vector;
        EXPECT_TRUE(!w.schedule.resident || tile >= length) << "a row that is held is held whole";
        EXPECT_TRUE(w.schedule.lanes <= 32 || w.schedule.lanes == w.schedule.block);
        EXPECT_EQ(w.schedule.block % w.schedule.lanes, 0);
      }
    }
  }
  EXPECT_NE(wish(kernel, {1000, 4096}, 96, 0).problem.find("32, 64, 128"), std::string::npos);
  EXPECT_NE(wish(kernel, {1000, 4096}, 0, 6).problem.find("multiple of 4"), std::string::npos);
  EXPECT_NE(wish(kernel, {1000, 4096}, 2048, 0).problem.find("1024 that CUDA allows"), std::string::npos);
  EXPECT_NE(wish(kernel, {1000, 4096}, 0, 128).problem.find("more than 64"), std::string::npos);
}

TEST(LaunchWish, ColumnsKeepWholeBlocks) {
  const Kernel kernel = reduction({c, s}, false);
  for (const std::vector<std::int64_t>& extents :
       {std::vector<std::int64_t>{16384, 16384}, {64, 1 << 22}, {100000, 50}, {4, 100}}) {
    for (const int block : {32, 128, 512, 1024}) {
      const Wished w = wish(kernel, extents, block, 0);
      ASSERT_EQ(w.problem, "");
      ASSERT_EQ(w.schedule.form, Template::column_reduction);
      EXPECT_LE(threads(w.shape), static_cast<std::uint32_t>(block));
      EXPECT_GE(2 * threads(w.shape), static_cast<std::uint32_t>(block)) << "columns may not fill the block";
      EXPECT_GE(std::int64_t{w.shape.grid[0]} * w.shape.block[0] * w.schedule.vector, extents[0]);
    }
    EXPECT_EQ(wish(kernel, extents, 0, 8).schedule.items * wish(kernel, extents, 0, 8).schedule.vector, 8);
  }
}

TEST(LaunchWish, ScansKeepTheirPiecesWhole) {
  for (const std::vector<std::int64_t>& extents :
       {std::vector<std::int64_t>{1 << 20, 256}, {65536, 4096}, {4, 1 << 22}}) {
    for (const bool columns : {false, true}) {
      const Kernel kernel = reduction(columns ? std::vector{c, s} : std::vector{s, c}, true);
      const Wished w = wish(kernel, extents, 128, 8);
      ASSERT_EQ(w.problem, "");
      EXPECT_EQ(threads(w.shape), 128u);
      EXPECT_EQ(w.schedule.items * w.schedule.vector, 8);
      EXPECT_TRUE(!w.schedule.split || w.schedule.columns <= 32) << "whose pieces look back";
      const bool lanes = w.schedule.lanes > 0 && w.schedule.lanes <= 32;
      EXPECT_TRUE(!lanes || std::int64_t{w.schedule.lanes} * 8 >= extents[1]);
    }
  }
  EXPECT_NE(wish(reduction({s, c}, true), {1 << 20, 256}, 0, 4).problem.find("items of 8"), std::string::npos);
  EXPECT_NE(wish(reduction({s, c}, true), {65536, 4096}, 32, 0).problem.find("64 threads"), std::string::npos);
}

}  // namespace
}  // namespace kiln::codegen
