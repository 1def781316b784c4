// tests/unit/codegen/column_schedule_test.cpp -- schedules of column reductions and scans keep the card busy, read
// whole vectors, and every launch covers every column and row.
#include "codegen/schedule/column_reduction.h"

#include <gtest/gtest.h>

#include "codegen/schedule/launch_wish.h"

namespace kiln::codegen {
namespace {

using enum AxisClass;

Kernel reducing(std::initializer_list<AxisClass> axes, DType type, bool scans) {
  Kernel kernel;
  kernel.rank = static_cast<int>(axes.size());
  kernel.reduced = 1;
  kernel.index = IndexWidth::bits32;
  Access load, store;
  load.type = store.type = type;
  load.alignment = store.alignment = 16;
  load.axes = store.axes = axes;
  store.store = true;
  if (!scans) store.axes.back() = broadcast;
  kernel.accesses = {load, store};
  const NodeId x = kernel.body.load(0, type);
  kernel.body.outputs = {scans ? kernel.body.scan({}, type, {x}) : kernel.body.reduce({}, type, {x})};
  return kernel;
}

struct Chosen {
  Schedule schedule;
  LaunchShape shape;
  std::int64_t blocks() const { return std::int64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2]; }
};

Chosen choose(const Kernel& kernel, const std::vector<std::int64_t>& extents) {
  const Extents all{extents};
  const Schedule schedule = choose_schedule(kernel, all, DeviceTraits{});
  return {schedule, launch_shape(kernel, schedule, all)};
}

const Kernel columns = reducing({contiguous, strided}, DType::f32, false);

// Rule: what is the same in all columns does not decide the direction: in sum(dy * (x - mean) * rstd, 0) of bf16 rows
// the f32 mean and deviation are more bytes per element, and are read once.
TEST(Columns, WhatColumnsShareDoesNotTurnThem) {
  Kernel kernel = reducing({contiguous, strided}, DType::f32, false);
  kernel.accesses[0].type = DType::bf16;
  kernel.body = Graph();
  Access shared;
  shared.type = DType::f32;
  shared.alignment = 16;
  shared.axes = {broadcast, contiguous};
  kernel.accesses.insert(kernel.accesses.begin() + 1, shared);
  const NodeId x = kernel.body.cast(kernel.body.load(0, DType::bf16), DType::f32);
  const NodeId operands[] = {x, kernel.body.load(1, DType::f32)};
  const NodeId centred = kernel.body.operation(Op::sub, DType::f32, operands);
  kernel.body.outputs = {kernel.body.reduce({}, DType::f32, {centred})};
  EXPECT_EQ(choose(kernel, {4096, 65536}).schedule.form, Template::column_reduction);
  DeviceTraits cpu;
  cpu.cuda = false;
  EXPECT_EQ(choose_schedule(kernel, Extents{{4096, 65536}}, cpu).form, Template::column_reduction);
  kernel.accesses[0].axes = {strided, contiguous};
  EXPECT_EQ(choose(kernel, {4096, 65536}).schedule.form, Template::row_reduction) << "x along the rows decides";
  EXPECT_EQ(choose_schedule(kernel, Extents{{4096, 65536}}, cpu).form, Template::row_reduction);
}

// Rule: elements that are computed from their positions cost no less than loads: five rows of 2^24 are not held by five
// blocks, which would compute them twice, but joined in one pass by many.
TEST(Rows, ComputedFromPositionsAreNotHeldForNothing) {
  const ChainFacts facts{.rows = 5, .length = std::int64_t{1} << 24, .bytes = 0};
  EXPECT_FALSE(holds_rows(facts, DeviceTraits{}));
  EXPECT_FALSE(chain_fits(facts, DeviceTraits{}));
  EXPECT_TRUE(holds_rows({.rows = 5, .length = 1000, .bytes = 0}, DeviceTraits{}));
}

// Rule: two blocks per multiprocessor; one tile per block where columns suffice, else blocks share the rows of a tile.
TEST(Columns, FillTheCardWithColumnsOrElseWithRows) {
  const Chosen wide = choose(columns, {16384, 16384}), narrow = choose(columns, {64, 1 << 22});
  EXPECT_EQ(wide.schedule.form, Template::column_reduction);
  EXPECT_FALSE(wide.schedule.split);
  EXPECT_EQ(wide.shape.workspace_bytes, 0u);
  EXPECT_TRUE(narrow.schedule.split);
  EXPECT_EQ(narrow.shape.counters, narrow.shape.grid[0]);
  EXPECT_GT(narrow.shape.workspace_bytes, 0u);
  for (const Chosen& chosen : {wide, narrow}) {
    EXPECT_GE(chosen.blocks(), 2 * 132 * 9 / 10);
    EXPECT_LE(chosen.blocks(), 8 * 132);
  }
}

TEST(Columns, EveryColumnHasAThread) {
  for (const std::int64_t kept : {1, 3, 8, 60, 100, 1001, 4096, 100000}) {
    for (const std::int64_t rows : {1, 2, 9, 64, 1000, 300000}) {
      const Chosen chosen = choose(columns, {kept, rows});
      ASSERT_EQ(kept % chosen.schedule.vector, 0) << kept;
      ASSERT_GE(std::int64_t{chosen.shape.grid[0]} * chosen.shape.block[0] * chosen.schedule.vector, kept);
      ASSERT_LE(chosen.shape.block[0] * chosen.shape.block[1], static_cast<unsigned>(chosen.schedule.block));
      ASSERT_LE(chosen.shape.grid[1], static_cast<unsigned>(rows)) << "more parts than rows";
    }
  }
}

// Rule: what chain_fits promises to hold, a block holds in registers.
TEST(Columns, ChainsHoldWhatIsPromised) {
  Kernel kernel = reducing({contiguous, strided}, DType::f32, false);
  const NodeId x = kernel.body.load(0, DType::f32), sum = kernel.body.outputs[0];
  const NodeId operands[] = {x, sum};
  kernel.body.outputs = {kernel.body.operation(Op::div, DType::f32, operands)};
  kernel.accesses[1].axes = {contiguous, strided};
  for (const std::int64_t rows : {1, 7, 64, 500, 1024, 2048, 2049, 5000}) {
    const ChainFacts facts{.rows = 65536, .length = rows, .bytes = 4, .columns = true};
    const Chosen chosen = choose(kernel, {65536, rows});
    EXPECT_EQ(chosen.schedule.resident, holds_columns(facts, DeviceTraits{})) << rows;
    EXPECT_FALSE(chosen.schedule.split);
    if (!chosen.schedule.resident) continue;
    EXPECT_GE(static_cast<std::int64_t>(chosen.shape.block[1]) * chosen.schedule.items, rows);
  }
}

// Rule: short rows are shared by lanes, long ones walked by a block, few long ones cut into pieces.
TEST(Scans, FollowTheLengthAndNumberOfRows) {
  const Kernel rows = reducing({strided, contiguous}, DType::f32, true);
  EXPECT_LE(choose(rows, {1 << 20, 100}).schedule.lanes, 32);
  const Chosen many = choose(rows, {4096, 65536}), few = choose(rows, {2, 1 << 24});
  EXPECT_EQ(many.schedule.lanes, many.schedule.block);
  EXPECT_FALSE(many.schedule.split);
  EXPECT_EQ(many.blocks(), 4096);
  EXPECT_TRUE(few.schedule.split);
  EXPECT_GE(few.blocks() * few.schedule.block * few.schedule.vector * few.schedule.items, std::int64_t{2} << 24);
  EXPECT_EQ(few.shape.counters, few.blocks() + 2);
}

TEST(Scans, ColumnsReadAlongTheKeptAxis) {
  const Kernel kernel = reducing({contiguous, strided}, DType::f32, true);
  for (const std::int64_t kept : {4, 64, 1000, 16384}) {
    const Chosen chosen = choose(kernel, {kept, 100000});
    EXPECT_EQ(chosen.schedule.lanes, 0);
    EXPECT_EQ(chosen.schedule.vector, 4);
    const std::int64_t piece = std::int64_t{chosen.shape.block[1]} * chosen.schedule.items;
    const std::int64_t tile = std::int64_t{chosen.shape.block[0]} * chosen.schedule.vector;
    const std::int64_t tiles = (kept + tile - 1) / tile;
    EXPECT_EQ(chosen.blocks(), chosen.schedule.split ? tiles * ((100000 + piece - 1) / piece) : tiles);
    EXPECT_EQ(chosen.schedule.split, tiles < 132) << kept;
  }
}

/// Work items of a block: rows where lanes share one, vectors of columns where threads stand side by side.
std::int64_t rows_of_block(const Schedule& schedule) {
  if (schedule.form == Template::column_reduction || schedule.lanes == 0)
    return std::int64_t{schedule.columns} * schedule.vector;
  const std::int64_t groups = std::max(1, schedule.block / schedule.lanes);
  return schedule.form == Template::scan ? groups : groups * schedule.rows;
}

// Rule: whatever the number of kept elements, every one has a block, within the 2^31 - 1 by 65535 by 65535 of a grid.
TEST(HugeExtents, EveryKeptElementHasABlock) {
  for (const bool scans : {false, true}) {
    for (const bool by_columns : {false, true}) {
      for (const DType type : {DType::i8, DType::f32, DType::f64}) {
        Kernel kernel =
            by_columns ? reducing({contiguous, strided}, type, scans) : reducing({strided, contiguous}, type, scans);
        kernel.index = IndexWidth::bits64;
        for (const std::int64_t length : {1, 2, 3, 40, 1030, 4096, 30000, 1 << 20}) {
          for (const int power : {27, 30, 31, 32, 34, 40, 42}) {
            for (const std::int64_t more : {-1, 0, 1, 5}) {
              const std::int64_t kept = (std::int64_t{1} << power) + more;
              SCOPED_TRACE(testing::Message()
                           << (scans ? "scan " : "reduction ") << by_columns << ' ' << kept << " x " << length);
              const Chosen chosen = choose(kernel, {kept, length});
              const auto [x, y, z] = chosen.shape.grid;
              ASSERT_LE(x, 0x7fffffffu);
              ASSERT_LE(std::max(y, z), 65535u);
              ASSERT_EQ(x % chosen.shape.cluster, 0u);
              ASSERT_GE(chosen.blocks() / chosen.shape.cluster, (kept - 1) / rows_of_block(chosen.schedule) + 1);
              ASSERT_TRUE(chosen.schedule.layers || (y == 1 && z == 1));
              ASSERT_LE(chosen.shape.block[0] * chosen.shape.block[1], 1024u);
            }
          }
        }
      }
    }
  }
}

// Rule: few rows of any length are cut into pieces only as far as a grid has blocks.
TEST(HugeExtents, PiecesOfLongScansFitTheGrid) {
  for (const bool by_columns : {false, true}) {
    Kernel kernel = by_columns ? reducing({contiguous, strided}, DType::f32, true)
                               : reducing({strided, contiguous}, DType::f32, true);
    kernel.index = IndexWidth::bits64;
    for (const std::int64_t kept : {1, 4, 100}) {
      for (const int power : {31, 34, 40, 50}) {
        const Chosen chosen = choose(kernel, {kept, std::int64_t{1} << power});
        EXPECT_TRUE(!chosen.schedule.split || (chosen.shape.grid[1] == 1 && chosen.shape.grid[2] == 1))
            << kept << ' ' << power;
        EXPECT_TRUE(chosen.schedule.split || power >= 36) << kept << ' ' << power;
      }
    }
  }
}

// Rule: a caller's blocks and elements per thread are honoured or refused, whatever the number of rows.
TEST(HugeExtents, WishesOfCallers) {
  Kernel kernel = reducing({contiguous, strided}, DType::f32, false);
  kernel.index = IndexWidth::bits64;
  LaunchWish wish;
  wish.block[0] = 128;
  for (const std::int64_t rows : {(std::int64_t{1} << 31) + 5, std::int64_t{1} << 40}) {
    const Extents extents{{64, rows}};
    Schedule schedule = choose_schedule(kernel, extents, DeviceTraits{});
    EXPECT_EQ(apply_wish(kernel, extents, wish, schedule), "");
    EXPECT_EQ(schedule.block, 128);
    EXPECT_GE(schedule.columns, 1);
  }
}

}  // namespace
}  // namespace kiln::codegen
