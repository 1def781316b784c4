// tests/golden/candidate_emulation_test.cpp -- every candidate of a tuner, run on the host: the same bits as the
// heuristic's schedule.
#include <gtest/gtest.h>

#include "tests/golden/candidate_cases.h"
#include "tests/golden/reduction_run.h"

namespace kiln::emulation {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wshadow"
#include "candidate_cases.inc"
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

/// Values whose sums round differently in every order.
double noise(std::size_t i) {
  std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
  x ^= x >> 29, x *= 0xbf58476d1ce4e5b9u, x ^= x >> 32;
  return (static_cast<double>(x % 4096) / 512 - 4) * (x % 7 == 0 ? 37.77 : 0.013);
}

class Candidates : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Candidates, GiveTheSameBits) {
  const CandidateCase test = candidate_cases()[GetParam()];
  ASSERT_GE(test.candidates.size(), 2u);
  std::vector<std::uint8_t> expected;
  for (std::size_t k = 0; k < test.candidates.size(); ++k) {
    SCOPED_TRACE(test.candidates[k].name);
    ReductionRun run(test.kernel, test.extents.loop);
    run.fill(noise);
    const std::string name = test.name + "_" + std::to_string(k);
    const auto& kernel = emitted(name);
    const std::vector<double> parameters(test.kernel.parameters.size(), 1.0 / 3);
    run.launch(test.candidates[k].schedule, kernel.call, kernel.size, parameters, k);
    if (HasFatalFailure()) return;
    if (k == 0) {
      expected = run.results();
    } else {
      EXPECT_EQ(run.results(), expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Candidates, ::testing::Range<std::size_t>(0, candidate_cases().size()),
                         [](const auto& test) { return candidate_cases()[test.param].name; });

}  // namespace
}  // namespace kiln::golden
