// tests/golden/scan_emulation_test.cpp -- every form of scan, compiled for the CPU, against a reference in double
// precision: any length, many and few rows, pieces that look back.
#include <gtest/gtest.h>

#include "tests/golden/reduction_run.h"

// Blocks may run on several threads of the host.
#undef __shared__
#define __shared__ static thread_local

namespace kiln::emulation {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wshadow"
#include "scan_cases.inc"
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

std::vector<std::vector<std::int64_t>> shapes(const ReductionCase& test) {
  std::vector<std::vector<std::int64_t>> kept = {{}};
  const codegen::Schedule& schedule = test.schedule;
  const bool columns = schedule.lanes == 0;
  if (test.kernel.rank > 1) {
    kept.clear();
    for (const std::int64_t n : {1, 3, 9}) kept.push_back({columns ? n * schedule.vector : n});
  }
  if (test.kernel.rank > 2) {
    for (auto& extents : kept) extents.insert(extents.begin(), 3);
  }
  std::vector<std::vector<std::int64_t>> result;
  for (const auto& first : kept) {
    for (const std::int64_t length : {1, 2, 3, 4, 8, 33, 64, 129, 512, 1025, 2300}) {
      const bool one_piece = !columns && schedule.lanes <= 32;
      if (one_piece && length > std::int64_t{schedule.lanes} * schedule.vector * schedule.items) continue;
      if (length > 1000 && !first.empty() && first != kept[1]) continue;
      result.push_back(first);
      result.back().push_back(length);
    }
  }
  return result;
}

class ScanForms : public ::testing::TestWithParam<std::size_t> {};

TEST_P(ScanForms, EveryShapeMatchesTheReference) {
  const ReductionCase test = scan_cases()[GetParam()];
  const auto& kernel = emitted(test.name);
  const DType stored = test.kernel.accesses.back().type;
  std::size_t turn = 0;
  for (const auto& extents : shapes(test)) {
    codegen::Schedule schedule = test.schedule;
    static constexpr int widths[] = {8, 2, 4};
    if (schedule.lanes == 0) {
      schedule.columns = std::min(widths[turn % 3], schedule.block / schedule.rows);
      if (schedule.columns * schedule.rows < 32) schedule.columns = 32 / schedule.rows;
    }
    ++turn;
    ReductionRun run(test.kernel, extents);
    SCOPED_TRACE(::testing::PrintToString(extents));
    run.fill(noise);
    run.launch(schedule, kernel.call, kernel.size, {}, 0);
    if (HasFatalFailure()) return;
    run.expect({}, stored == DType::bf16 ? 4e-3 : 2e-4);
    if (HasFailure()) return;
    // Rule: the order in which blocks run never changes a bit.
    const std::vector<std::uint8_t> before = run.results();
    run.launch(schedule, kernel.call, kernel.size, {}, 12345);
    ASSERT_EQ(run.results(), before);
  }
  EXPECT_GT(turn, 2u);
}

INSTANTIATE_TEST_SUITE_P(Kernels, ScanForms, ::testing::Range<std::size_t>(0, scan_cases().size()),
                         [](const auto& test) { return scan_cases()[test.param].name; });

// Rule: however far back a prefix is found, the bits are the same; blocks wait for the pieces before theirs.
TEST(LookBack, BlocksSideBySideGiveTheSameBits) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "flags are volatile words, which this sanitizer takes for races";
#endif
  for (const ReductionCase& test : scan_cases()) {
    if (!test.schedule.split) continue;
    const auto& kernel = emitted(test.name);
    codegen::Schedule schedule = test.schedule;
    if (schedule.lanes == 0) schedule.columns = std::max(32 / schedule.rows, schedule.block / schedule.rows);
    std::vector<std::int64_t> extents(static_cast<std::size_t>(test.kernel.rank), 2 * schedule.vector);
    extents.back() = 1500;
    ReductionRun run(test.kernel, extents);
    run.fill(noise);
    run.launch(schedule, kernel.call, kernel.size, {}, 0);
    const std::vector<std::uint8_t> alone = run.results();
    for (std::uint64_t order = 1; order <= 2; ++order) {
      emulation::host_threads = 8;
      run.launch(schedule, kernel.call, kernel.size, {}, order);
      emulation::host_threads = 1;
      ASSERT_EQ(run.results(), alone) << test.name << ", order " << order;
    }
  }
}

}  // namespace
}  // namespace kiln::golden
