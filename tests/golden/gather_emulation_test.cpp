// tests/golden/gather_emulation_test.cpp -- the golden kernels that read and write by index, compiled for the CPU:
// whatever the index, no memory beside the operands is touched.
#include <gtest/gtest.h>

#include "tests/golden/emulation_run.h"

namespace kiln::emulation {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wshadow"
namespace rows {
#include "tests/golden/take_rows_bf16.cu"
}
namespace centred {
#include "tests/golden/take_rows_centred_f32.cu"
}
namespace elements {
#include "tests/golden/take_elements_f32.cu"
}
namespace counts {
#include "tests/golden/histogram_u8_i64.cu"
}
namespace halves {
#include "tests/golden/scatter_add_bf16.cu"
}
namespace bytes {
#define kiln_bins kiln_bins_of_bytes  // C names are one whatever the namespace
#include "tests/golden/scatter_bins_u8.cu"
#undef kiln_bins
}  // namespace bytes
#pragma GCC diagnostic pop
}  // namespace kiln::emulation

namespace kiln::golden {
namespace {

/// Of an axis of n places, those outside included.
std::int64_t index_of(std::size_t i, std::int64_t n) {
  return static_cast<std::int64_t>(i * 7919 % static_cast<std::size_t>(2 * n + 4)) - n - 2;
}
std::int64_t place_of(std::int64_t index, std::int64_t n) {
  if (index < 0) index += n;
  return index < 0 || index >= n ? -1 : index;
}

TEST(GatherEmulation, RowsByIndex) {
  const std::int64_t rows = 37, table = 11, width = 4096;
  const Case test = resized("take_rows_bf16", {rows, width});
  Buffer<bfloat16> w(static_cast<std::size_t>(table * width)), y(static_cast<std::size_t>(rows * width));
  Buffer<std::int32_t> ids(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < w.size; ++i) w[i] = bfloat16::from_bits(static_cast<std::uint16_t>(i % 0x7f00));
  for (std::size_t i = 0; i < ids.size; ++i) ids[i] = static_cast<std::int32_t>(index_of(i, table));
  run(test, emulation::rows::kiln_rows_take,
      {{ids.data, nullptr, w.data, y.data},
       {{1, 0}, {0, 1}, {0, 0}, {width, 1}},
       {bytes_of(table), bytes_of(width), bytes_of(width - 1)}});
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = place_of(ids[static_cast<std::size_t>(r)], table);
    for (std::int64_t c = 0; c < width; ++c) {
      const std::uint16_t want = at < 0 ? 0x7fc0 : w[static_cast<std::size_t>(at * width + c)].bits;
      ASSERT_EQ(y[static_cast<std::size_t>(r * width + c)].bits, want) << r << ", " << c;
    }
  }
}

// Rule: a reduction of rows by index reads each row as vectors, also one that ends within a step; a row that does not
// exist is NaN.
TEST(GatherEmulation, ReducedRowsByIndex) {
  for (const std::int64_t width : {1000, 996, 904}) {
    const std::int64_t rows = 21, table = 9;
    const Case test = resized("take_rows_centred_f32", {rows, width});
    EXPECT_EQ(schedule_of(test).vector, 4);
    Buffer<float> w(static_cast<std::size_t>(table * width)), y(static_cast<std::size_t>(rows * width)),
        squares(static_cast<std::size_t>(rows));
    Buffer<std::int32_t> ids(static_cast<std::size_t>(rows));
    for (std::size_t i = 0; i < w.size; ++i) w[i] = static_cast<float>(i * 37 % 101) / 8 - 5;
    for (std::size_t i = 0; i < ids.size; ++i) ids[i] = static_cast<std::int32_t>(index_of(i, table));
    run(test, emulation::centred::kiln_row_sum_mul_sub_take,
        {{ids.data, nullptr, w.data, y.data, squares.data},
         {{1, 0}, {0, 1}, {0, 0}, {width, 1}, {1, 0}},
         {bytes_of(table), bytes_of(width), bytes_of(width - 1), bytes_of(1 / static_cast<float>(width))}});
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t at = place_of(ids[static_cast<std::size_t>(r)], table);
      if (at < 0) {
        ASSERT_TRUE(std::isnan(squares[static_cast<std::size_t>(r)]) &&
                    std::isnan(y[static_cast<std::size_t>(r * width)]));
        continue;
      }
      double mean = 0, sum = 0;
      for (std::int64_t c = 0; c < width; ++c) {
        const double x = static_cast<double>(w[static_cast<std::size_t>(at * width + c)]);
        mean += x / static_cast<double>(width), sum += x * x;
      }
      ASSERT_NEAR(squares[static_cast<std::size_t>(r)], sum, 1e-4 * sum);
      for (std::int64_t c = 0; c < width; ++c) {
        const double x = static_cast<double>(w[static_cast<std::size_t>(at * width + c)]);
        ASSERT_NEAR(y[static_cast<std::size_t>(r * width + c)], x - mean, 1e-4) << r << ", " << c;
      }
    }
  }
}

TEST(GatherEmulation, ElementsByIndex) {
  for (const std::int64_t n : {1, 3, 5000, 5003}) {
    Case test = resized("take_elements_f32", {n - n % 4 == 0 ? 4 : n - n % 4});
    const auto count = static_cast<std::size_t>(test.extents.loop[0]);
    Buffer<std::int64_t> i(count);
    Buffer<float> x(100), y(count);
    number(x, 1, 0);
    for (std::size_t k = 0; k < count; ++k) i[k] = index_of(k, 100);
    run(test, emulation::elements::kiln_flat_add_take,
        {{i.data, x.data, y.data}, {{1}, {0}, {1}}, {bytes_of(std::int64_t{100})}});
    for (std::size_t k = 0; k < count; ++k) {
      const std::int64_t at = place_of(i[k], 100);
      if (at < 0) {
        ASSERT_TRUE(std::isnan(y[k]));
      } else {
        ASSERT_EQ(y[k], static_cast<float>(at) + 1);
      }
    }
  }
}

TEST(GatherEmulation, CountsOfBytes) {
  const std::int64_t n = 1 << 16;
  const Case test = resized("histogram_u8_i64", {n});
  Buffer<std::uint8_t> x(static_cast<std::size_t>(n));
  Buffer<std::uint64_t> counts(256);
  std::vector<std::uint64_t> want(256, 5);
  for (std::size_t i = 0; i < x.size; ++i) x[i] = static_cast<std::uint8_t>(i * i >> 5), want[x[i]] += 3;
  for (std::size_t b = 0; b < 256; ++b) counts[b] = 5;
  run(test, emulation::counts::kiln_bins,
      {{x.data, counts.data, nullptr},
       {{1}, {0}, {0}},
       {bytes_of(std::int64_t{256}), bytes_of(std::int64_t{3}), bytes_of(std::int64_t{256})}});
  for (std::size_t b = 0; b < 256; ++b) ASSERT_EQ(counts[b], want[b]) << b;
}

TEST(GatherEmulation, HalvesJoinBesideTheirNeighbours) {
  const Case test = resized("scatter_add_bf16", {1000});
  Buffer<std::int32_t> i(1000);
  Buffer<bfloat16> x(1000), y(6);
  std::vector<float> want(5, 0.0f);
  for (std::size_t k = 0; k < 1000; ++k) {
    i[k] = static_cast<std::int32_t>(index_of(k, 5));
    x[k] = bfloat16(0.25f);
    if (place_of(i[k], 5) >= 0) want[static_cast<std::size_t>(place_of(i[k], 5))] += 0.25f;
  }
  for (std::size_t b = 0; b < 6; ++b) y[b] = bfloat16(0.0f);
  run(test, emulation::halves::kiln_scatter,
      {{i.data, x.data, y.data, nullptr}, {{1}, {1}, {0}, {0}}, {bytes_of(std::int64_t{5})}});
  for (std::size_t b = 0; b < 5; ++b) EXPECT_EQ(float{y[b]}, want[b]) << b;
  EXPECT_EQ(y[5].bits, 0);
}

/// One place, and few: sums of bytes in shared memory wrap, and those beside the target stay.
TEST(GatherEmulation, BytesAddUpInBlocks) {
  const std::int64_t n = 1 << 15;
  const Case test = resized("scatter_bins_u8", {n});
  for (const std::int64_t bins : {1, 7}) {
    Buffer<std::int32_t> i(static_cast<std::size_t>(n));
    Buffer<std::uint8_t> x(static_cast<std::size_t>(n)), y(8);
    std::vector<std::uint8_t> want(8, 9);
    for (std::size_t k = 0; k < 8; ++k) y[k] = 9;
    for (std::size_t k = 0; k < x.size; ++k) {
      i[k] = static_cast<std::int32_t>(index_of(k, bins));
      x[k] = static_cast<std::uint8_t>(k * 5);
      const std::int64_t at = place_of(i[k], bins);
      if (at >= 0) want[static_cast<std::size_t>(at)] += x[k];
    }
    run(test, emulation::bytes::kiln_bins_of_bytes,
        {{i.data, x.data, y.data, nullptr}, {{1}, {1}, {0}, {0}}, {bytes_of(bins), bytes_of(bins)}});
    for (std::size_t b = 0; b < 8; ++b) EXPECT_EQ(y[b], want[b]) << b << " of " << bins;
  }
}

}  // namespace
}  // namespace kiln::golden
