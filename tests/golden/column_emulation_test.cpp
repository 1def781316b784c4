// tests/golden/column_emulation_test.cpp -- every form of column reduction, compiled for the CPU, against a reference
// in double precision: any shape of block, any number of parts, blocks in any order.
#include <gtest/gtest.h>

#include "tests/golden/reduction_run.h"

namespace kiln::emulation {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wshadow"
#include "column_cases.inc"
#pragma GCC diagnostic pop
}  // namespace kiln::emulation

namespace kiln::golden {
namespace {

const emulation::Emitted& emitted(const std::string& name) {
  for (const emulation::Emitted& kernel : emulation::emitted) {
    if (name == kernel.name) return kernel;
  }
  ADD_FAILURE() << name << " was not emitted";
  return emulation::emitted[0];
}

double noise(std::size_t i) {
  std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
  x ^= x >> 29, x *= 0xbf58476d1ce4e5b9u, x ^= x >> 32;
  return static_cast<double>(x % 4096) / 512 - 4;
}

/// Kept and reduced extents, from a single element to several tiles; the last kept one is a multiple of the vector.
std::vector<std::vector<std::int64_t>> shapes(const codegen::Kernel& kernel, int vector) {
  const std::vector<std::vector<std::int64_t>> outer = kernel.rank - kernel.reduced == 1
                                                           ? std::vector<std::vector<std::int64_t>>{{}}
                                                           : std::vector<std::vector<std::int64_t>>{{1}, {3}};
  const std::vector<std::vector<std::int64_t>> rows =
      kernel.reduced == 1
          ? std::vector<std::vector<std::int64_t>>{{0}, {1}, {2}, {7}, {8}, {32}, {33}, {100}, {257}, {500}}
          : std::vector<std::vector<std::int64_t>>{{1, 1}, {3, 4}, {0, 8}, {5, 7}, {16, 16}, {31, 11}};
  std::vector<std::vector<std::int64_t>> result;
  for (const auto& first : outer) {
    for (const std::int64_t vectors : {1, 2, 5, 8, 17}) {
      for (const auto& last : rows) {
        result.push_back(first);
        result.back().push_back(vectors * vector);
        result.back().insert(result.back().end(), last.begin(), last.end());
      }
    }
  }
  return result;
}

class ColumnForms : public ::testing::TestWithParam<std::size_t> {};

TEST_P(ColumnForms, EveryShapeMatchesTheReference) {
  const ReductionCase test = column_cases()[GetParam()];
  const auto& kernel = emitted(test.name);
  const bool rounded = test.kernel.accesses.back().type == DType::bf16;
  int runs = 0;
  std::size_t turn = 0;
  for (const auto& extents : shapes(test.kernel, test.schedule.vector)) {
    codegen::Schedule schedule = test.schedule;
    ReductionRun run(test.kernel, extents);
    const std::int64_t kept =
        extents.size() > static_cast<std::size_t>(test.kernel.reduced) + 1 ? extents[0] * extents[1] : extents[0];
    static constexpr int widths[] = {1, 3, 8, 16, 64}, parts[] = {2, 3, 7};
    schedule.columns = static_cast<int>(std::min<std::int64_t>(widths[turn % 5], kept / schedule.vector));
    schedule.parts = schedule.split ? parts[turn / 5 % 3] : 1;
    ++turn;
    if (schedule.resident && run.length() > schedule.block / schedule.columns * schedule.items) continue;
    SCOPED_TRACE(::testing::PrintToString(extents) + " " + std::to_string(schedule.columns) + " columns, " +
                 std::to_string(schedule.parts) + " parts");
    run.fill(noise);
    const std::vector<double> parameters = {1.0 / static_cast<double>(std::max<std::int64_t>(run.length(), 1)), 1e-5};
    run.launch(schedule, kernel.call, kernel.size, parameters, 0);
    if (HasFatalFailure()) return;
    run.expect(parameters, rounded ? 4e-3 : 2e-5);
    if (HasFailure()) return;
    // Rule: the order in which blocks run never changes a bit.
    const std::vector<std::uint8_t> before = run.results();
    run.launch(schedule, kernel.call, kernel.size, parameters, 12345);
    ASSERT_EQ(run.results(), before);
    ++runs;
  }
  EXPECT_GE(runs, 20);
}

// Rule: the variance of equal numbers is 0 whatever their size, infinities and NaN give NaN wherever they stand, and
// squares that overflow give infinity.
TEST(ColumnMoments, ExtremeColumns) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto value = [&](std::int64_t column, std::int64_t row) {
    switch (column) {
      case 0:
        return 3e38;
      case 1:
        return row == 37 ? infinity : 1.0;
      case 2:
        return row == 0 ? nan : 1.0;
      case 3:
        return row % 3 == 0 ? 1e38 : -1e38;
      case 4:
        return 1e6 + static_cast<double>(row % 2);
      case 5:
        return row == 99 ? -infinity : 1.0;
      case 6:
        return row == 0 ? infinity : 0.0;
      default:
        return 0.1;
    }
  };
  for (const auto& test : column_cases()) {
    if (!test.name.starts_with("column_moments") || test.kernel.accesses[0].type != DType::f32) continue;
    for (const int columns : {1, 2}) {
      codegen::Schedule schedule = test.schedule;
      schedule.columns = columns;
      schedule.parts = schedule.split ? 3 : 1;
      ReductionRun run(test.kernel, {8, 100});
      run.fill_rows(0, value);
      const auto& kernel = emitted(test.name);
      run.launch(schedule, kernel.call, kernel.size, {}, 0);
      SCOPED_TRACE(test.name);
      EXPECT_EQ(run.result(1, 0), 0);
      for (const std::int64_t column : {1, 2, 5, 6}) EXPECT_TRUE(std::isnan(run.result(1, column))) << column;
      EXPECT_EQ(run.result(1, 3), infinity);
      EXPECT_NEAR(run.result(1, 4), 0.25, 1e-3);  // half the distance of floats at 1e6, squared
      EXPECT_EQ(run.result(1, 7), 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, ColumnForms, ::testing::Range<std::size_t>(0, column_cases().size()),
                         [](const auto& test) { return column_cases()[test.param].name; });

}  // namespace
}  // namespace kiln::golden
