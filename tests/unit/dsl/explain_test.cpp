// tests/unit/dsl/explain_test.cpp -- explain() of reductions: kernels, bytes against the least possible, reasons.
#include <gtest/gtest.h>
#include <kiln/kiln.h>

#include "dsl/explain.h"
#include "tests/support/cpu_compiler.h"

namespace kiln {
namespace {

/// A view of any size over a few bytes: inspecting touches no element.
View<float> large(const std::vector<std::int64_t>& shape) {
  static const Array<float> few({16});
  return view(const_cast<float*>(few.data()), Shape(shape), Device::cpu());
}

class Explain : public testing::Test {
 protected:
  /// What `function` becomes for an architecture that is not here. Only a missing NVRTC excuses.
  template <class F>
  Inspection inspected(const F& function, const View<float>& x) {
    return function.inspect_for("sm_90", x);
  }
  void SetUp() override {
    try {
      jit([](auto v) { return v + 1; }).inspect_for("sm_90", large({4}));
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  const DeviceGuard guard{Device::cpu()};
};

const auto softmax = jit([](auto v) {
  auto e = exp(v - max(v, -1, keepdims));
  return e / sum(e, -1, keepdims);
});
const auto normalised = jit([](auto v) { return v / norm(v); });

TEST_F(Explain, RowsThatFitAreReadOnce) {
  const Inspection info = inspected(softmax, large({4096, 1024}));
  ASSERT_EQ(info.kernels.size(), 1u) << info.explain().c_str();
  EXPECT_EQ(info.kernels[0].bytes_moved, 2 * 4096 * 1024 * 4);
  const Text text = info.explain();
  for (const char* part : {"1 kernel", "4096 rows of 1024 elements", "and reads it once",
                           "moves 33554432 bytes; the least possible is 33554432\n", "max(in0)"})
    EXPECT_TRUE(text.contains(part)) << part << " in: " << text.c_str();
}

TEST_F(Explain, ASplitSaysWhyAndWhatItCosts) {
  constexpr std::int64_t n = 1 << 28;
  const Inspection info = inspected(normalised, large({n}));
  ASSERT_EQ(info.kernels.size(), 2u) << info.explain().c_str();
  EXPECT_EQ(info.kernels[0].bytes_moved, n * 4 + 4) << "the sum alone reads x and writes a number";
  EXPECT_EQ(info.kernels[1].bytes_moved, 2 * n * 4 + 4);
  const Text text = info.explain();
  const std::string total =
      "moves " + std::to_string(3 * n * 4 + 8) + " bytes; the least possible is " + std::to_string(2 * n * 4);
  for (const char* part : {"2 kernels", "into a temporary of 4 bytes", "too long", total.c_str(), "1.50 times"})
    EXPECT_TRUE(text.contains(part)) << part << " in: " << text.c_str();
}

// Rule: rows that are read again count again where the rows in flight are more than the L2 cache holds.
TEST_F(Explain, RowsThatNoCacheKeepsCountAgain) {
  constexpr std::int64_t rows = 4096, length = 1 << 22, once = rows * length * 4;
  const Inspection info = inspected(softmax, large({rows, length}));
  ASSERT_EQ(info.kernels.size(), 1u) << info.explain().c_str();
  EXPECT_EQ(info.kernels[0].bytes_moved, 2 * once);
  const Text text = info.explain();
  const std::string range = std::to_string(2 * once) + " to " + std::to_string(3 * once) + " bytes";
  EXPECT_TRUE(text.contains(("  moves " + range + ": ").c_str())) << text.c_str();
  EXPECT_TRUE(text.contains(
      ("\nmoves " + range + "; the least possible is " + std::to_string(2 * once) + " (1.00 to 1.50 times)\n").c_str()))
      << text.c_str();
}

// Rule: the same of columns, and of a chain of three passes: two of them read again.
TEST_F(Explain, ColumnsThatNoCacheKeepsCountAgain) {
  constexpr std::int64_t rows = 16384, columns = 65536, once = rows * columns * 4;
  const auto along_columns = jit([](auto v) {
    auto e = exp(v - max(v, 0, keepdims));
    return e / sum(e, 0, keepdims);
  });
  const Inspection info = inspected(along_columns, large({rows, columns}));
  ASSERT_EQ(info.kernels.size(), 1u) << info.explain().c_str();
  const std::string range = std::to_string(2 * once) + " to " + std::to_string(4 * once) + " bytes";
  EXPECT_TRUE(info.explain().contains(range.c_str())) << info.explain().c_str();
}

// Rule: rows that the L2 cache keeps until they are read again count once: 108 rows of 256 KB, of 40 MB on an A100.
TEST_F(Explain, RowsThatTheCacheKeepsCountOnce) {
  const Inspection fits = softmax.inspect_for("sm_80", large({4096, 65536}));
  const Text kept = fits.explain();
  EXPECT_TRUE(kept.contains("goes over each row 2 times; ")) << kept.c_str();
  EXPECT_TRUE(kept.contains("\nmoves 2147483648 bytes; the least possible is 2147483648\n")) << kept.c_str();
  const Inspection exceeds = softmax.inspect_for("sm_80", large({4096, 131072}));
  const Text lost = exceeds.explain();
  EXPECT_TRUE(lost.contains("\nmoves 4294967296 to 6442450944 bytes; the least possible is 4294967296 "))
      << lost.c_str();
}

/// Values per row are read and written once per row, however long the rows are.
TEST_F(Explain, RowValuesCountOncePerRow) {
  const auto sums = jit([](auto v) { return sum(v, -1); });
  const Inspection info = inspected(sums, large({4096, 1000}));
  ASSERT_EQ(info.kernels.size(), 1u);
  EXPECT_EQ(info.kernels[0].bytes_moved, 4096 * 1000 * 4 + 4096 * 4);
}

TEST(ExplainOnTheCpu, RowsAndAssemblyAreShown) {
  KILN_NEEDS_CPU_COMPILER();
  const DeviceGuard guard{Device::cpu()};
  const auto sums = jit([](auto v) { return sum(v, -1); });
  const Inspection info = sums.inspect(large({4096, 1000}));
  ASSERT_EQ(info.kernels.size(), 1u);
  EXPECT_TRUE(info.explain().contains("4096 rows of 1000 elements"));
  EXPECT_FALSE(info.kernels[0].sass.empty());
}

/// The occupancy calculator of CUDA 13 for compute capability 9.0.
TEST(Occupancy, RegistersSharedMemoryAndBlocksLimit) {
  const codegen::DeviceTraits h200;
  EXPECT_DOUBLE_EQ(dsl::occupancy(32, 256, 0, h200), 1.0);
  EXPECT_DOUBLE_EQ(dsl::occupancy(64, 256, 0, h200), 0.5);
  EXPECT_DOUBLE_EQ(dsl::occupancy(255, 256, 0, h200), 0.125) << "one block of 8 warps of 8192 registers each";
  EXPECT_DOUBLE_EQ(dsl::occupancy(32, 1024, 150 << 10, h200), 0.5) << "one block's shared memory";
  EXPECT_DOUBLE_EQ(dsl::occupancy(32, 32, 0, h200), 0.5) << "32 blocks of one warp";
  EXPECT_DOUBLE_EQ(dsl::occupancy(-1, 256, 0, h200), -1);
}

}  // namespace
}  // namespace kiln
