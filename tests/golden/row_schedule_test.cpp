// tests/golden/row_schedule_test.cpp -- schedules of row reductions keep to the limits of the device, cover every row
// and depend on lengths through classes only.
#include <gtest/gtest.h>

#include <set>

#include "codegen/schedule/row_reduction.h"
#include "tests/golden/reduction_cases.h"

namespace kiln::golden {
namespace {

using codegen::Extents;
using codegen::Kernel;
using codegen::Schedule;

struct Bodies {
  const char* name;
  Kernel kernel;
};

std::vector<Bodies> bodies() {
  return {{"sum", sum_kernel(DType::f32, "sc", 1)},     {"sum_strided", sum_kernel(DType::f64, "ss", 1, 8)},
          {"softmax", softmax_kernel(DType::bf16)},     {"softmax_misaligned", softmax_kernel(DType::f32, 4)},
          {"layernorm", layernorm_kernel(DType::bf16)}, {"logsumexp", logsumexp_kernel(DType::bf16)},
          {"argmax", argmax_kernel(DType::f32, "sc")},  {"moments", moments_kernel(DType::f32)},
          {"several", several_in_one_pass_kernel()},    {"integers", integer_kernel()}};
}

// Rule: a block has at most 1024 threads and 227 KB of shared memory, a cluster at most 16 blocks; what is held covers
// the row, and the grid covers the rows.
TEST(RowSchedule, LaunchesCoverEveryRowWithinTheLimits) {
  for (const Bodies& body : bodies()) {
    for (const std::int64_t rows : {1, 3, 64, 1000, 70000, 1 << 22}) {
      for (const std::int64_t length : {0, 1, 2, 5, 31, 64, 100, 257, 1000, 1024, 4096, 5000, 32768, 128256, 1 << 20}) {
        if (rows * length > std::int64_t{1} << 33) continue;
        SCOPED_TRACE(std::string(body.name) + " " + std::to_string(rows) + " x " + std::to_string(length));
        const Extents extents{{rows, length}};
        const Schedule s = codegen::choose_rows(body.kernel, extents, device());
        const LaunchShape shape = codegen::rows_launch_shape(body.kernel, s, extents);
        EXPECT_LE(s.block, 1024);
        EXPECT_EQ(s.block % 32, 0);
        EXPECT_LE(s.cluster, 16);
        EXPECT_LE(shape.shared_bytes, 227u << 10);
        EXPECT_EQ(shape.grid[2], 1u);  // and grid y, where rows are held: kernels read 1 from there
        if (s.resident) {
          EXPECT_EQ(shape.grid[1], 1u);
        }
        if (s.resident) {
          EXPECT_GE(std::int64_t{s.lanes} * s.items * s.vector, length + (s.shifted ? s.vector - 1 : 0));
        }
        if (s.whole_vectors) {
          EXPECT_EQ(length % s.vector, 0);
        }
        const std::int64_t tile = std::int64_t{s.lanes} * s.items * s.vector;
        if (s.whole_rows) {
          EXPECT_EQ(s.resident ? length - tile : length % tile, 0);
        }
        const std::int64_t groups = std::int64_t{shape.grid[0]} * shape.grid[1] / shape.cluster;
        if (s.split) {
          EXPECT_EQ(shape.grid[1], rows);
          EXPECT_EQ(shape.counters, rows);
          EXPECT_GE(shape.workspace_bytes, groups * 4u);
        } else if (s.grid > 0) {  // blocks take rows in turn
          EXPECT_EQ(shape.grid[0], std::min<std::int64_t>(s.grid, rows * s.cluster));
          EXPECT_EQ(shape.grid[0] % shape.cluster, 0u);
        } else {
          EXPECT_GE(groups * std::max(1, s.block / s.lanes) * s.rows, rows);
          EXPECT_EQ(shape.workspace_bytes, 0u);
        }
      }
    }
  }
}

// Rule: rows that start at any element move by whole vectors all the same: where a chain holds them, or elements are
// so small that single ones leave accesses half empty.
TEST(RowSchedule, RowsThatStartAnywhereMoveByVectors) {
  const auto chosen = [](const Kernel& kernel, std::int64_t length) {
    return codegen::choose_rows(kernel, Extents{{3000, length}}, device());
  };
  for (const std::int64_t length : {257, 1001, 4097, 50257, 151937}) {
    SCOPED_TRACE(length);
    for (const Kernel& kernel : {softmax_kernel(DType::bf16, 2), sum_kernel(DType::bf16, "sc", 1, 2)}) {
      const Schedule s = chosen(kernel, length);
      EXPECT_TRUE(s.shifted);
      EXPECT_EQ(s.vector, 8);
      EXPECT_FALSE(s.whole_vectors || s.whole_rows);
    }
    EXPECT_TRUE(chosen(softmax_kernel(DType::f32, 4), length).shifted);
    EXPECT_FALSE(chosen(sum_kernel(DType::f32, "sc", 1, 4), length).shifted);
    EXPECT_FALSE(chosen(softmax_kernel(DType::bf16, 16), length / 8 * 8).shifted);
  }
  EXPECT_FALSE(chosen(softmax_kernel(DType::bf16, 2), 40).shifted);  // too short
}

// Rule: no length stands in a kernel's text: few schedules serve all lengths.
TEST(RowSchedule, FewSchedulesServeAllLengths) {
  for (const Bodies& body : bodies()) {
    std::set<std::string> keys;
    for (std::int64_t length = 1; length < 20000; ++length)
      keys.insert(codegen::choose_rows(body.kernel, Extents{{70000, length}}, device()).key());
    EXPECT_LE(keys.size(), 100u) << body.name;
  }
}

// Rule: the largest clusters take rows in turn where there are more rows than clusters, whatever the number of rows.
TEST(RowSchedule, LargestClustersTakeRowsInTurn) {
  const Kernel softmax = softmax_kernel(DType::f32);
  const Schedule many = codegen::choose_rows(softmax, Extents{{64, 1 << 20}}, device());
  EXPECT_EQ(many.grid % many.cluster, 0);
  EXPECT_GT(many.grid, 0);
  EXPECT_LE(many.grid, device().multiprocessors);
  EXPECT_EQ(codegen::choose_rows(softmax, Extents{{640, 1 << 20}}, device()).key(), many.key());
  EXPECT_EQ(codegen::choose_rows(softmax, Extents{{4, 1 << 20}}, device()).grid, 0);
}

// Rule: where the L2 cache keeps one row per multiprocessor until it is read again, and not two, blocks take the
// registers of a multiprocessor.
TEST(RowSchedule, RowsInFlightFollowTheCache) {
  codegen::DeviceTraits ampere = device();
  ampere.compute_capability = 80, ampere.multiprocessors = 108, ampere.l2_bytes = std::size_t{40} << 20;
  const Kernel softmax = joined_softmax_kernel(DType::f32);
  const auto chosen = [&](std::int64_t length) {
    return codegen::choose_schedule(softmax, Extents{{4096, length}}, ampere);
  };
  for (const std::int64_t length : {40000, 131072}) {  // two fit, none fits
    EXPECT_EQ(chosen(length).min_blocks, 2) << length;
    EXPECT_EQ(chosen(length).items, 2) << length << ": with more, two blocks of 1024 threads spill";
  }
  EXPECT_EQ(chosen(65536).min_blocks, 1);
  EXPECT_EQ(chosen(65536).items, 8);
}

// Rule: clusters only where the device has them.
TEST(RowSchedule, ClustersNeedHopper) {
  codegen::DeviceTraits ampere = device(), consumer = device();
  ampere.compute_capability = 80, consumer.compute_capability = 120;
  const Kernel softmax = softmax_kernel(DType::f32);
  const Extents extents{{64, 1 << 20}};
  EXPECT_EQ(codegen::choose_schedule(softmax, extents, device()).cluster, 16);
  EXPECT_EQ(codegen::choose_schedule(softmax, extents, ampere).cluster, 1);
  EXPECT_EQ(codegen::choose_schedule(softmax, extents, consumer).cluster, 1);
  codegen::ChainFacts facts;
  facts.rows = 64, facts.length = 1 << 19, facts.bytes = 4;
  EXPECT_TRUE(codegen::chain_fits(facts, device()));
  facts.length = 1 << 20;
  EXPECT_TRUE(codegen::chain_fits(facts, device()));
  facts.length -= 1;  // no whole vectors: no cluster holds it
  EXPECT_FALSE(codegen::chain_fits(facts, device()));
  facts.length = 1 << 19;
  facts.rows = 1;  // Rule: one long row is worth all multiprocessors, and so several kernels.
  EXPECT_FALSE(codegen::chain_fits(facts, device()));
  facts.rows = 64;
  EXPECT_FALSE(codegen::chain_fits(facts, ampere));
}

}  // namespace
}  // namespace kiln::golden
