// tests/golden/row_emulation_test.cpp -- every form of row reduction, compiled for the CPU, against a reference in
// double precision: any length, misaligned, strided, several axes, blocks in any order.
#include <gtest/gtest.h>

#include "tests/golden/reduction_run.h"

namespace kiln::emulation {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wshadow"
#include "row_cases.inc"
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

/// True where the schedule was made for rows of this class.
bool admits(const ReductionCase& test, const std::vector<std::int64_t>& extents, std::int64_t length) {
  const codegen::Schedule& s = test.schedule;
  const std::int64_t tile = std::int64_t{s.lanes} * s.items * s.vector;
  if (s.resident && (length > tile || (s.whole_rows && length != tile))) return false;
  if (s.whole_rows && length % tile != 0) return false;
  return !s.whole_vectors || extents.back() % s.vector == 0;
}

std::vector<std::vector<std::int64_t>> shapes(const codegen::Kernel& kernel) {
  const int kept = kernel.rank - kernel.reduced;
  std::vector<std::vector<std::int64_t>> rows = {{}};
  if (kept == 1) rows = {{3}, {67}};
  if (kept == 2) rows = {{3, 5}};
  if (kept == 3) rows = {{2, 1, 3}, {3, 5, 7}};
  std::vector<std::vector<std::int64_t>> columns;
  for (const std::int64_t n : {0, 1, 2, 3, 7, 8, 31, 32, 33, 64, 128, 255, 256, 257, 512, 1000, 1024, 1536, 4097})
    columns.push_back({n});
  if (kernel.reduced == 2) columns = {{1, 1}, {3, 4}, {0, 8}, {5, 7}, {16, 16}, {7, 36}, {31, 33}};
  std::vector<std::vector<std::int64_t>> result;
  for (const auto& row : rows) {
    for (const auto& column : columns) {
      result.push_back(row);
      result.back().insert(result.back().end(), column.begin(), column.end());
      if (row.size() == 1 && row[0] == 67 && column[0] > 64) result.pop_back();
    }
  }
  return result;
}

class RowForms : public ::testing::TestWithParam<std::size_t> {};

TEST_P(RowForms, EveryShapeMatchesTheReference) {
  const ReductionCase test = row_cases()[GetParam()];
  const auto& kernel = emitted(test.name);
  int runs = 0;
  for (const auto& extents : shapes(test.kernel)) {
    ReductionRun run(test.kernel, extents);
    if (!admits(test, extents, run.length())) continue;
    SCOPED_TRACE(::testing::PrintToString(extents));
    run.fill(noise);
    const std::vector<double> parameters = {1.0 / static_cast<double>(std::max<std::int64_t>(run.length(), 1)), 1e-5};
    run.launch(test.schedule, kernel.call, kernel.size, parameters, 0);
    if (HasFatalFailure()) return;
    const bool rounded = test.kernel.accesses.back().type == DType::bf16;
    run.expect(parameters, rounded ? 4e-3 : 2e-5);
    if (HasFailure()) return;
    // Rule: the order in which blocks run never changes a bit.
    const std::vector<std::uint8_t> before = run.results();
    run.launch(test.schedule, kernel.call, kernel.size, parameters, 12345);
    EXPECT_EQ(run.results(), before);
    ++runs;
  }
  EXPECT_GE(runs, test.schedule.whole_rows && test.schedule.resident ? 1 : 2);
}

INSTANTIATE_TEST_SUITE_P(Kernels, RowForms, ::testing::Range<std::size_t>(0, row_cases().size()),
                         [](const auto& test) { return row_cases()[test.param].name; });

}  // namespace
}  // namespace kiln::golden
