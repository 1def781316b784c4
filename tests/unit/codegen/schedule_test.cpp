// tests/unit/codegen/schedule_test.cpp -- schedules follow classes of shapes, and every launch covers every element.
#include "codegen/schedule/schedule.h"

#include <gtest/gtest.h>

#include "codegen/schedule/divisor.h"
#include "codegen/schedule/transpose.h"

namespace kiln::codegen {
namespace {

Access access(DType type, std::initializer_list<AxisClass> axes, bool store, int alignment = 16) {
  Access result;
  result.type = type;
  result.store = store;
  result.alignment = static_cast<std::uint8_t>(alignment);
  result.axes = axes;
  return result;
}

constexpr AxisClass c = AxisClass::contiguous, s = AxisClass::strided, b = AxisClass::broadcast;

/// y = x with the given axes for both.
Kernel copy(std::initializer_list<AxisClass> axes, DType type, IndexWidth index = IndexWidth::bits64) {
  Kernel kernel;
  kernel.rank = static_cast<int>(axes.size());
  kernel.index = index;
  kernel.accesses = {access(type, axes, false), access(type, axes, true)};
  kernel.body.outputs = {kernel.body.load(0, type)};
  return kernel;
}

Schedule choose(const Kernel& kernel, std::vector<std::int64_t> extents) {
  return choose_schedule(kernel, Extents{std::move(extents)}, DeviceTraits{});
}

/// Elements of the innermost axis and rows that a launch reaches, and the limits of CUDA's grids.
void expect_covers(const Kernel& kernel, const std::vector<std::int64_t>& extents) {
  const Schedule schedule = choose(kernel, extents);
  const LaunchShape shape = launch_shape(kernel, schedule, Extents{extents});
  const auto at = [](const std::array<std::uint32_t, 3>& v, int i) {
    return static_cast<std::int64_t>(v[static_cast<std::size_t>(i)]);
  };
  EXPECT_LE(at(shape.grid, 0), 0x7fffffff);
  EXPECT_LE(at(shape.grid, 1), 65535);
  EXPECT_LE(at(shape.grid, 2), 65535);
  EXPECT_LE(at(shape.block, 0) * at(shape.block, 1) * at(shape.block, 2), schedule.block);
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis + 1 < extents.size(); ++axis) rows *= extents[axis];
  if (schedule.form == Template::dense) {
    EXPECT_GE(at(shape.grid, 0) * at(shape.block, 0) * schedule.vector, rows * extents.back());
    EXPECT_EQ(at(shape.grid, 1) * at(shape.grid, 2) * at(shape.block, 1), 1);
    return;
  }
  if (schedule.form == Template::transpose) {
    const std::int64_t turned = extents[static_cast<std::size_t>(turned_axis(kernel))];
    EXPECT_GE(at(shape.grid, 0) * schedule.tile, extents.back());
    EXPECT_GE(at(shape.grid, 1) * at(shape.grid, 2), (turned + schedule.tile - 1) / schedule.tile * (rows / turned));
    return;
  }
  EXPECT_GE(at(shape.grid, 0) * at(shape.block, 0) * schedule.vector * schedule.items, extents.back());
  EXPECT_GE(at(shape.grid, 1) * at(shape.grid, 2) * at(shape.block, 1), rows);
}

TEST(Divisor, EqualsDivisionBelowTwoToThe31) {
  const std::uint32_t extents[] = {1,          2,          3,          5,          7,         10,
                                   64,         641,        65535,      65536,      65537,     1000003,
                                   0x3fffffff, 0x40000001, 0x7ffffffe, 0x7fffffff, 0x80000000};
  for (const std::uint32_t extent : extents) {
    const Divisor divisor = divisor_of(extent);
    const auto check = [&](std::uint32_t n) {
      const auto high = static_cast<std::uint32_t>((std::uint64_t{n} * divisor.multiplier) >> 32);
      ASSERT_EQ((high + n) >> divisor.shift, n / extent) << n << " / " << extent;
    };
    for (std::uint32_t n = 0; n < 2000; ++n) check(n), check(0x7fffffff - n);
    for (std::uint64_t multiple = extent; multiple < 0x80000000u;
         multiple += std::max<std::uint64_t>(extent, 1000003) / extent * extent) {
      check(static_cast<std::uint32_t>(multiple) - 1);
      check(static_cast<std::uint32_t>(multiple));
    }
  }
}

TEST(Launch, CoversDegenerateAndHugeShapes) {
  const std::int64_t two31 = std::int64_t{1} << 31, two33 = std::int64_t{1} << 33;
  for (const DType type : {DType::u8, DType::f32, DType::c128}) {
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{255}, two31 - 1, two31, two33, two33 + 1})
      expect_covers(copy({c}, type), {n});
    const std::vector<std::vector<std::int64_t>> shapes = {{two31, 1}, {1, two31},     {two33, 1},      {2, two33},
                                                           {two31, 3}, {two33 / 2, 2}, {65536, 131072}, {3, 5},
                                                           {1, 1},     {100000, 257}};
    for (const auto& shape : shapes) {
      expect_covers(copy({s, c}, type), shape);
      expect_covers(copy({s, s}, type), shape);
    }
    expect_covers(copy({s, s, s, c}, type), {1 << 11, 1 << 11, 1 << 11, 1});
    expect_covers(copy({s, s, c}, type), {70000, 70000, 3});
  }
}

TEST(Launch, TilesCoverTurnedShapes) {
  Kernel kernel = copy({s, c}, DType::f32);
  kernel.accesses[0].axes = {c, s};
  for (const auto& shape :
       std::vector<std::vector<std::int64_t>>{{64, 64}, {33, 1 << 20}, {1 << 28, 32}, {16384, 16384}}) {
    EXPECT_EQ(choose(kernel, shape).form, Template::transpose);
    expect_covers(kernel, shape);
  }
  Kernel batched = copy({s, s, c}, DType::u8);
  batched.accesses[0].axes = {s, c, s};
  expect_covers(batched, {100000, 40, 1000});
}

TEST(Launch, ShortRowsShareABlock) {
  const Kernel kernel = copy({s, c}, DType::f32);
  const LaunchShape shape = launch_shape(kernel, choose(kernel, {1000, 64}), Extents{{1000, 64}});
  EXPECT_EQ(shape.block[0], 16u) << "16 vectors of 4 make a row";
  EXPECT_EQ(shape.block[1], 16u);
}

TEST(Choice, VectorFillsSixteenBytesOfTheWidestOperand) {
  EXPECT_EQ(choose(copy({c}, DType::u8), {1 << 20}).vector, 16);
  EXPECT_EQ(choose(copy({c}, DType::bf16), {1 << 20}).vector, 8);
  EXPECT_EQ(choose(copy({c}, DType::f32), {1 << 20}).vector, 4);
  EXPECT_EQ(choose(copy({c}, DType::f64), {1 << 20}).vector, 2);
  EXPECT_EQ(choose(copy({c}, DType::c128), {1 << 20}).vector, 1);
  Kernel mixed = copy({c}, DType::f32);
  mixed.accesses[0].type = DType::u8;
  EXPECT_EQ(choose(mixed, {1 << 20}).vector, 4);
}

TEST(Choice, MajorityOfBytesDecidesTheVector) {
  Kernel kernel = copy({c}, DType::f32);
  kernel.accesses[0].alignment = 4;
  EXPECT_EQ(choose(kernel, {1 << 20}).vector, 1) << "half the bytes cannot follow: coalesced single elements";
  EXPECT_EQ(choose(kernel, {1 << 20}).items, 4) << "as many bytes in flight as with vectors";
  kernel.accesses.insert(kernel.accesses.begin(), access(DType::f32, {c}, false));
  EXPECT_EQ(choose(kernel, {1 << 20}).vector, 4) << "one operand of three narrows only itself";
}

TEST(Choice, OnlyClassesOfExtentsMatter) {
  const Kernel flat = copy({c}, DType::f32);
  EXPECT_EQ(choose(flat, {1 << 20}).key(), choose(flat, {4}).key());
  EXPECT_EQ(choose(flat, {1000001}).key(), choose(flat, {35}).key());
  EXPECT_NE(choose(flat, {1 << 20}).key(), choose(flat, {(1 << 20) + 1}).key());
  const Kernel rows = copy({s, c}, DType::f32);
  EXPECT_EQ(choose(rows, {16384, 8192}).key(), choose(rows, {3, 64}).key());
}

TEST(Choice, TilesOnlyWhereBothExtentsHoldOne) {
  Kernel kernel = copy({s, c}, DType::f32);
  kernel.accesses[0].axes = {c, s};
  EXPECT_EQ(choose(kernel, {32, 32}).form, Template::transpose);
  EXPECT_EQ(choose(kernel, {31, 100000}).form, Template::rows);
  kernel.accesses[1].axes = {s, s};
  EXPECT_EQ(choose(kernel, {64, 64}).form, Template::rows) << "an output that is not contiguous gains nothing";
}

TEST(Choice, TurnedOperandsStayWithinSharedMemory) {
  Kernel kernel = copy({s, c}, DType::f32);
  kernel.accesses.assign(4, access(DType::f32, {c, s}, false));
  kernel.accesses.push_back(access(DType::f32, {s, c}, true));
  EXPECT_EQ(turned_accesses(kernel, 64), (std::vector<int>{0, 1})) << "two tiles of 16640 bytes fit into 48 KiB";
}

/// y = x along an innermost axis of 3 that only an index or a gain tells from the others.
Kernel interleaved(DType type) {
  Kernel kernel = copy({s, s, c}, type);
  for (Access& moved : kernel.accesses) moved.dense_alignment = 16;
  kernel.accesses.insert(kernel.accesses.begin(), access(DType::f32, {b, b, c}, false, 4));
  return kernel;
}

TEST(Launch, DenseVectorsCoverEveryElement) {
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{1, 1, 3}, {1080, 1920, 3}, {70000, 70000, 3}}) {
    EXPECT_EQ(choose(interleaved(DType::u8), shape).form, Template::dense);
    expect_covers(interleaved(DType::u8), shape);
  }
}

TEST(Choice, DenseFormFillsSixteenBytesAcrossShortRows) {
  const Schedule bytes = choose(interleaved(DType::u8), {1080, 1920, 3});
  EXPECT_EQ(bytes.vector, 16) << "the gain of a channel does not narrow the image";
  EXPECT_TRUE(bytes.whole_vectors);
  EXPECT_FALSE(choose(interleaved(DType::u8), {1080, 1921, 3}).whole_vectors);
  EXPECT_EQ(choose(interleaved(DType::f32), {1080, 1920, 3}).vector, 4);
}

TEST(Choice, DenseFormNeedsDenseResultsAndMostOfTheBytes) {
  const std::vector<std::int64_t> shape = {1080, 1920, 3};
  Kernel padded = interleaved(DType::u8);
  padded.accesses[2].dense_alignment = 0;
  EXPECT_EQ(choose(padded, shape).form, Template::general) << "a result with gaps";
  Kernel gathered = interleaved(DType::u8);
  gathered.accesses[0].axes = {s, s, s};
  EXPECT_EQ(choose(gathered, shape).form, Template::general) << "4 gathered bytes beside 2 dense ones";
  EXPECT_EQ(choose(interleaved(DType::f32), {1080, 1920, 4}).form, Template::general) << "rows hold a whole vector";
}

TEST(Choice, RowBroadcastDoesNotDecideTheVector) {
  Kernel kernel = copy({s, c}, DType::bf16);
  kernel.accesses.insert(kernel.accesses.begin(), access(DType::bf16, {b, c}, false, 2));
  EXPECT_EQ(choose(kernel, {4096, 4096}).vector, 8);
}

}  // namespace
}  // namespace kiln::codegen
