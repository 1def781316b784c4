// tests/unit/dsl/kernel_limit_test.cpp -- a process that makes new kernels without end keeps a bounded number of them.
#include <gtest/gtest.h>
#include <kiln/kernel_limit.h>
#include <kiln/kiln.h>
#include <malloc.h>

#include <limits>
#include <thread>

#include "runtime/binary_cache.h"
#include "runtime/compile_mode.h"
#include "runtime/runtime.h"
#include "tests/support/cpu_compiler.h"
#include "tests/unit/temporary.h"

// g++ and clang tell of sanitizers in different ways.
#if defined(__has_feature)
#define KILN_HAS_FEATURE(name) __has_feature(name)
#else
#define KILN_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || KILN_HAS_FEATURE(address_sanitizer) || \
    KILN_HAS_FEATURE(thread_sanitizer)
#define KILN_MEASURES_MEMORY 0  // a sanitizer frees late, and takes its time
#else
#define KILN_MEASURES_MEMORY 1
#endif

namespace kiln {
namespace {

constexpr int graphs = KILN_MEASURES_MEMORY ? 20000 : 2000;
constexpr float infinite = std::numeric_limits<float>::infinity();

/// x + 1, and `number` in place of infinity: kernels of different numbers give the same values for finite elements.
auto make_function(int number) {
  return jit([number](auto v) { return where(v < infinite, v + 1.0f, lit(static_cast<float>(number))); });
}

runtime::Binary& template_binary() {
  static runtime::Binary binary;
  return binary;
}

/// The machine code of another number, which suits finite elements: 20,000 real compiles take a minute.
runtime::Binary take_template(const KernelSource& source, const CompileOptions& options) {
  runtime::Binary binary = template_binary();
  binary.entry = source.entry;
  binary.options = options;
  return binary;
}

runtime::Binary keep_template(const KernelSource& source, const CompileOptions& options) {
  return template_binary() = runtime::compile(source, options);
}

std::int64_t resident_kib() {
  malloc_trim(0);
  const std::string text = test::read_text("/proc/self/status");
  return std::stoll(text.substr(text.find("VmRSS:") + 6));
}

class KernelLimit : public testing::Test {
 protected:
  void SetUp() override {
    KILN_NEEDS_CPU_COMPILER();
    runtime::reset_binary_cache();
  }
  void TearDown() override {
    runtime::use_compiler_for_tests(nullptr);
    runtime::set_compile_mode(runtime::CompileMode::automatic);
    set_kernel_limit(default_kernel_limit);
    runtime::reset_binary_cache();
  }
  /// Functions number `first` up to `last`, each called once and destroyed.
  void run(int first, int last) {
    for (int number = first; number < last; ++number) {
      const Array<float> result = make_function(number)(x);
      ASSERT_EQ(static_cast<const float*>(result.data())[1], 3.0f) << number;
    }
  }

  const DeviceGuard guard{Device::cpu()};
  const test::TemporaryDirectory directory;
  const test::Variable place{"KILN_CACHE_DIR", directory.path.c_str()};
  const test::Variable mode{"KILN_CACHE", "on"};
  const Array<float> x = from_host(std::vector<float>{1, 2, infinite});
};

TEST_F(KernelLimit, TwentyThousandGraphsStayBelowFiftyMegabytes) {
  const std::vector<float> right = {2, 3, 7};
  EXPECT_EQ(make_function(7)(x).to_host(), right);  // compiled, and on the disk
  runtime::use_compiler_for_tests(keep_template);
  run(100, 101);
  runtime::set_compile_mode(runtime::CompileMode::jit_only);  // the others are not
  runtime::use_compiler_for_tests(take_template);
  run(1000, 1100);
  [[maybe_unused]] const std::int64_t before = resident_kib();
  run(2000, 2000 + graphs);
  EXPECT_LE(loaded_kernels(), default_kernel_limit + 64);
  EXPECT_GE(loaded_kernels(), default_kernel_limit) << "more than needed was unloaded";
  if (KILN_MEASURES_MEMORY) {
    EXPECT_LT(resident_kib() - before, 50 * 1024);
  }

  runtime::use_compiler_for_tests(nullptr);
  runtime::set_compile_mode(runtime::CompileMode::cache_only);
  const runtime::CacheCounters counters = runtime::cache_counters();
  EXPECT_EQ(make_function(7)(x).to_host(), right) << "the oldest one";
  EXPECT_EQ(runtime::cache_counters().disk_hits, counters.disk_hits + 1) << "it was forgotten";
}

TEST_F(KernelLimit, LiteralsOfOneExpressionAreBounded) {
  runtime::use_compiler_for_tests(keep_template);
  run(100, 101);
  runtime::set_compile_mode(runtime::CompileMode::jit_only);
  runtime::use_compiler_for_tests(take_template);
  set_kernel_limit(300);
  const unsigned others = loaded_kernels();
  std::int64_t before = 0;
  Array<float> y({3});
  for (int number = 0; number < graphs / 4; ++number) {
    y = where(x < infinite, x + 1.0f, lit(static_cast<float>(number)));
    ASSERT_EQ(static_cast<const float*>(y.data())[1], 3.0f) << number;
    if (number == 1000) before = resident_kib();
  }
  EXPECT_LE(loaded_kernels(), others + 300 + 64) << "the expression keeps the plans of its last calls";
  if (KILN_MEASURES_MEMORY) {
    EXPECT_LT(resident_kib() - before, 10 * 1024);
  }
}

TEST_F(KernelLimit, KernelsInUseStay) {
  const auto kept = make_function(-1);
  EXPECT_EQ(kept(x).to_host().at(2), -1.0f);
  Array<float> y = from_host(std::vector<float>{1, 2, infinite});
  const Graph graph = [&] {
    const auto short_lived = make_function(-2);
    short_lived.into(y)(x);
    return capture([&] { short_lived.into(y)(x); });
  }();
  const runtime::CacheCounters counters = runtime::cache_counters();
  set_kernel_limit(0);
  run(-20, -10);
  EXPECT_EQ(kept(x).to_host().at(2), -1.0f);
  y = 0.0f;
  graph.launch();
  EXPECT_EQ(y.to_host(), (std::vector<float>{2, 3, -2})) << "the graph holds what its function does no longer";
  EXPECT_EQ(kept(x).to_host().at(2), -1.0f);
  EXPECT_LE(runtime::cache_counters().compiles, counters.compiles + 11) << "kept(x) is one kernel";
}

TEST_F(KernelLimit, ALowerLimitTakesEffectAtOnce) {
  set_kernel_limit(0);
  const unsigned in_use = loaded_kernels();
  set_kernel_limit(no_kernel_limit);
  run(-40, -30);
  EXPECT_EQ(loaded_kernels(), in_use + 10);
  set_kernel_limit(kernel_limit());
  EXPECT_EQ(loaded_kernels(), in_use + 10);
  set_kernel_limit(0);
  EXPECT_EQ(loaded_kernels(), in_use);
}

TEST_F(KernelLimit, ThreadsThatMakeAndCallKernelsWhileOthersAreUnloaded) {
  set_kernel_limit(2);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const DeviceGuard cpu(Device::cpu());
      for (int i = 0; i < 60; ++i) {
        const int number = -50 - i % 6;
        const std::vector<float> result = make_function(number)(x).to_host();
        wrong += result != std::vector<float>{2, 3, static_cast<float>(number)};
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace kiln
