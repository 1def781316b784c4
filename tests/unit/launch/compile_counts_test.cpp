// tests/unit/launch/compile_counts_test.cpp -- numbers of a call are arguments of its kernels: a thousand values of
// each compile nothing after the first of each layout class, on the CPU and on a fake GPU (case C13).
#include "runtime/runtime.h"
#include "tests/support/cpu_compiler.h"
#include "tests/unit/launch/fake_gpu.h"

#include <cmath>
#include <functional>
#include <optional>

namespace kiln {
namespace {

constexpr std::int64_t n = 4096;
constexpr int values = 1000;
constexpr int alignments = 17;  ///< the first so many offsets, in elements, have met every alignment

constexpr int length_classes = 65;  ///< and so many lengths every class of short ones, without reductions

/// Kernels that this process lacked.
std::uint64_t compiles() {
  const runtime::CacheCounters counters = runtime::cache_counters();
  return counters.compiles + counters.disk_hits;
}

/// Bodies run on both devices; the fake GPU computes nothing, so results are looked at on the CPU only.
class CompileCounts : public testing::TestWithParam<const char*> {
 protected:
  bool on_cpu() const { return GetParam()[1] == 'p'; }
  void SetUp() override {
    if (on_cpu()) {
      KILN_NEEDS_CPU_COMPILER();
    } else {
      try {
        const DeviceGuard gpu(Device::cuda(0));
        Array<float> y({4});
        y = y + 1;
      } catch (const CompileError& error) {
        GTEST_SKIP() << error.what();
      }
    }
    guard_.emplace(on_cpu() ? Device::cpu() : Device::cuda(0));
  }
  void TearDown() override { fake_driver().calls.clear(); }

  /// Calls with 0 to 999; only the first `warm` may compile, and they at most `most` kernels.
  void expect_compiles(const char* what, std::uint64_t most, int warm, const std::function<void(int)>& call) {
    const std::uint64_t before = compiles();
    for (int i = 0; i < values && !HasFatalFailure(); ++i) {
      const std::uint64_t now = compiles();
      call(i);
      ASSERT_TRUE(i < warm || compiles() == now) << what << ": value " << i << " compiled";
      if (i % 100 == 0) fake_driver().calls.clear();
    }
    EXPECT_LE(compiles() - before, most) << what;
  }
  template <class T>
  void expect_value(const Array<T>& got, std::int64_t at, double want) {
    if (!on_cpu()) return;
    ASSERT_EQ(static_cast<double>(got.data()[at]), want) << "element " << at;
  }

  std::optional<DeviceGuard> guard_;
};

INSTANTIATE_TEST_SUITE_P(Device, CompileCounts, testing::Values("cpu", "fake_gpu"),
                         [](const auto& each) { return std::string(each.param); });

// Rule: a C++ number in an expression is a run-time parameter, so changing it never recompiles; 0, 1 and 2 neither.
TEST_P(CompileCounts, NumbersOfElementwiseOperations) {
  const Array<float> x = arange<float>(0.0f, static_cast<float>(n));
  const Array<int> k = arange<int>(0, static_cast<int>(n));
  expect_compiles("clip", 1, 1, [&](int i) { expect_value(eval(clip(x, i, 2 * i)), n - 1, 2 * i); });
  expect_compiles("pow of floats", 1, 1, [&](int i) {
    const Array<float> y = pow(x, static_cast<float>(i) * 0.5f);
    expect_value(y, 1, 1);
  });
  expect_compiles("pow of integers", 1, 1, [&](int i) { expect_value(eval(pow(k, i)), 1, 1); });
  expect_compiles("x * i + i", 1, 1, [&](int i) { expect_value(eval(x * i + i), 3, 4.0 * i); });
  const auto clamp = jit([](auto v, auto low, auto high) { return clip(v, low, high); });
  expect_compiles("clip in a compiled function", 1, 1, [&](int i) { expect_value(clamp(x, i, 2 * i), 0, i); });
}

// Rule: a kernel is what it computes; its name, lambda, line and file are not part of it (Numba's caches stand and fall
// with the file).
TEST_P(CompileCounts, PlacesAreNotPartOfKernels) {
  const Array<float> x = arange<float>(0.0f, static_cast<float>(n));
  const auto first = jit("first", [](auto v, auto k) { return k * v - 7.0f / v; });
  const auto second = jit("second", [](auto u, auto factor) {
    auto scaled = factor * u;
    return scaled - 7.0f / u;
  });
  expect_compiles("one function at three places", 1, 1, [&](int i) {
    const Array<float> y = i % 3 == 0 ? first(x, 2.0f) : i % 3 == 1 ? second(x, 2.0f) : eval(2.0f * x - lit(7.0f) / x);
    expect_value(y, 1, 2.0 - 7.0);
  });
}

TEST_P(CompileCounts, NumbersOfCreatedArrays) {
  expect_compiles("full, of any value", 1, 1, [&](int i) { expect_value(full({n}, static_cast<float>(i)), n - 1, i); });
  expect_compiles("full, of any length", 8, length_classes, [&](int i) { expect_value(full({i + 1}, 2.0), i, 2); });
  expect_compiles("arange", 8, length_classes,
                  [&](int i) { expect_value(arange<std::int64_t>(i, 3 * i + 1), i, 2 * i); });
  expect_compiles("uniform", 1, 1, [&](int i) { random::uniform<float>({n}, static_cast<std::uint64_t>(i)); });
}

// Offsets and steps are strides and pointers: only the alignment of the first element and contiguity make classes.
TEST_P(CompileCounts, BoundsOfSlices) {
  const Array<float> x = arange<float>(0.0f, static_cast<float>(n));
  expect_compiles("where a slice begins", 4, alignments,
                  [&](int i) { expect_value(eval(x(range(i, i + 500)) + 1.0f), 499, i + 500); });
  expect_compiles("where a slice ends", 8, length_classes,
                  [&](int i) { expect_value(eval(x(range(64, 65 + i)) * 3.0f), i, 3.0 * (64 + i)); });
  expect_compiles("the step of a slice", 4, alignments, [&](int i) {
    const Array<float> y = x(range(none, none, i + 1)) - 1.0f;
    expect_value(y, 0, -1);
  });
  expect_compiles("a slice that is written", 4, alignments, [&](int i) {
    Array<float> y({n});
    y(range(i, i + 700)) = 5.0f;
    expect_value(y, i + 699, 5);
  });
  const Array<float> plane = x.reshape({4, 1024});
  expect_compiles("columns of a plane", 8, alignments, [&](int i) {
    const Array<float> y = plane(all, range(i, i + 20)) + 1.0f;
    expect_value(y, 20, 1025 + i);
  });
}

// Rule: row counts and lengths are run-time values; length buckets, not exact lengths, are in the key.
TEST_P(CompileCounts, LengthsOfReductionsAndScans) {
  const Array<float> ones = kiln::ones<float>({n});
  expect_compiles("sum of 1000 + i elements", 8, values, [&](int i) {
    const Array<float> y = sum(ones(range(0, 1000 + i)));
    expect_value(y, 0, 1000 + i);
  });
  expect_compiles("sum(x * i)", 1, 1, [&](int i) { expect_value(eval(sum(ones * i)), 0, static_cast<double>(n) * i); });
  const Array<float> plane = kiln::ones<float>({values + 7, 64});
  expect_compiles("sums of 7 + i rows", 4, values, [&](int i) {
    const Array<float> y = sum(plane(range(0, 7 + i), all), 1);
    expect_value(y, 6 + i, 64);
  });
  expect_compiles("sums of columns of 7 + i elements", 8, values, [&](int i) {
    const Array<float> y = sum(plane(range(0, 7 + i), all), 0);
    expect_value(y, 63, 7 + i);
  });
  expect_compiles("cumsum of 1000 + i elements", 8, values, [&](int i) {
    const Array<float> y = cumsum(ones(range(0, 1000 + i)));
    expect_value(y, 999 + i, 1000 + i);
  });
  expect_compiles("cumsum(x * i)", 4, 1, [&](int i) { expect_value(eval(cumsum(ones * i)), 9, 10.0 * i); });
}

TEST_P(CompileCounts, IndicesOfTakesAndScatters) {
  const Array<float> x = arange<float>(0.0f, static_cast<float>(n)), table = x.reshape({64, 64});
  const Array<std::int64_t> ids = arange<std::int64_t>(0, values + 1);
  expect_compiles("take of a number", 1, 1, [&](int i) { expect_value(eval(take(x, i)), 0, i); });
  expect_compiles("take of indices + i", 1, 1, [&](int i) { expect_value(eval(take(x, ids + i)), 10, 10 + i); });
  expect_compiles("take of i + 1 rows", 4, values, [&](int i) {
    const Array<float> y = take(table, ids(range(0, i + 1)) % 64, 0);
    expect_value(y, i * 64, i % 64 * 64);
  });
  expect_compiles("scatter_add of a number", 4, 2, [&](int i) {
    Array<float> y = zeros<float>({2000});
    scatter_add(y, ids, static_cast<float>(i));
    expect_value(y, 1000, i);
  });
  expect_compiles("scatter_add into 1001 + i places", 8, alignments, [&](int i) {
    Array<int> y = zeros<int>({values + 1 + i});
    scatter_add(y, ids + i, ids);
    expect_value(y, values + i, values);
  });
  expect_compiles("scatter_max of i + 1 updates", 8, values, [&](int i) {
    Array<float> y = zeros<float>({2000});
    scatter_max(y, ids(range(0, i + 1)), ids(range(0, i + 1)));
    expect_value(y, i, i);
  });
  expect_compiles("bincount", 6, alignments, [&](int i) { expect_value(bincount(ids, 2000 + i), values, 1); });
}

}  // namespace
}  // namespace kiln
