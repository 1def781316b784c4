// tests/unit/dsl/kernel_classes_test.cpp -- lengths and row counts are arguments: many shapes share few kernels.
#include <set>

#include <gtest/gtest.h>
#include <kiln/kiln.h>

#include "dsl/drafting.h"
#include "runtime/runtime.h"
#include "tests/support/cpu_compiler.h"
#include "tests/unit/dsl/traced.h"

namespace kiln::dsl {
namespace {

std::uint64_t compiles() {
  const runtime::CacheCounters counters = runtime::cache_counters();
  return counters.compiles + counters.disk_hits;  // a kernel found on disk is a kernel that this process lacked
}

const auto row_sums = [](auto x) { return sum(x, 1); };
const auto softmax = [](auto x) {
  auto e = exp(x - max(x, -1, keepdims));
  return e / sum(e, -1, keepdims);
};

const auto column_sums = [](auto x) { return sum(x, 0); };
const auto column_softmax = [](auto x) {
  auto e = exp(x - max(x, 0, keepdims));
  return e / sum(e, 0, keepdims);
};

using Shapes = std::vector<std::array<std::int64_t, 2>>;

/// 100 row counts, 100 neighbouring lengths, and 100 shapes with short and long rows, few and many of them.
Shapes row_counts() {
  Shapes result;
  for (int i = 1; i <= 100; ++i) result.push_back({i * i, 4096});
  return result;
}
Shapes lengths() {
  Shapes result;
  for (int i = 0; i < 100; ++i) result.push_back({512, 2000 + i});
  return result;
}
Shapes mixture() {
  Shapes result;
  for (int i = 0; i < 100; ++i) result.push_back({1 + i * 37 % 211, 2 + i * i * 13 % 9001});
  return result;
}

/// Texts of the kernels that `function` becomes on `arch`.
template <class F>
std::set<std::string> texts(F function, const Shapes& shapes, const char* arch) {
  const Machine machine = machine_of_arch(arch);
  const DeviceGuard guard{Device::cpu()};
  Trace trace;
  trace.graph = test::traced_graph<float>(2, function);
  std::set<std::string> result;
  for (const auto& [rows, columns] : shapes) {
    Array<float> x({rows, columns}), y;
    const detail::Handle input = x.handle();
    detail::Target target = y.target();
    detail::Call call;
    call.inputs = &input;
    call.input_count = 1;
    call.targets = &target;
    call.target_count = 1;
    const Draft draft = dsl::draft(trace, call, {}, machine);
    for (const DraftKernel& kernel : draft.kernels)
      result.insert(emit(kernel.kernel, kernel.schedule, machine, {}).text);
  }
  return result;
}

TEST(KernelClasses, RowCountsAndNeighbouringLengthsShareCudaKernels) {
  for (const char* arch : {"sm_80", "sm_90"}) {
    EXPECT_LE(texts(row_sums, row_counts(), arch).size(), 3u) << arch << ": few rows may be split";
    EXPECT_LE(texts(softmax, row_counts(), arch).size(), 3u) << arch;
    EXPECT_LE(texts(row_sums, lengths(), arch).size(), 12u) << arch << ": alignments and buckets";
    EXPECT_LE(texts(softmax, lengths(), arch).size(), 12u) << arch;
    EXPECT_LE(texts(row_sums, mixture(), arch).size(), 44u) << arch << ": every bucket of every alignment";
    EXPECT_LE(texts(softmax, mixture(), arch).size(), 32u) << arch;
  }
}

// Rule: so do columns; what counts is how many are read at a time, and whether blocks share them.
TEST(KernelClasses, ColumnsShareCudaKernels) {
  for (const char* arch : {"sm_80", "sm_90"}) {
    EXPECT_LE(texts(column_sums, row_counts(), arch).size(), 5u) << arch;
    EXPECT_LE(texts(column_softmax, row_counts(), arch).size(), 7u) << arch;
    EXPECT_LE(texts(column_sums, lengths(), arch).size(), 4u) << arch;
    EXPECT_LE(texts(column_softmax, lengths(), arch).size(), 4u) << arch;
    EXPECT_LE(texts(column_sums, mixture(), arch).size(), 8u) << arch;
    EXPECT_LE(texts(column_softmax, mixture(), arch).size(), 9u) << arch;
  }
}

TEST(KernelClasses, AHundredShapesCompileAFewKernelsOnTheCpu) {
  KILN_NEEDS_CPU_COMPILER();
  const DeviceGuard guard{Device::cpu()};
  const auto sums = jit(row_sums);
  const auto normalise = jit(softmax);
  const std::uint64_t before = compiles();
  for (const auto& [rows, columns] : mixture()) {
    const Array<float> x = ones<float>({rows, columns});
    const auto got = sums(x).to_host();
    ASSERT_EQ(got.back(), static_cast<float>(columns));
    const auto row = normalise(x).to_host();
    ASSERT_NEAR(row.back(), 1.0 / static_cast<double>(columns), 1e-6);
  }
  EXPECT_LE(compiles() - before, 12u) << "two functions, classes of alignment and of rows of one element";
}

}  // namespace
}  // namespace kiln::dsl
