// tests/unit/launch/process_size_test.cpp -- a process that calls functions with ever new shapes and texts stays small
// (case C15).
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include <kiln/kiln.h>

#include "tests/support/cpu_compiler.h"

namespace kiln {
namespace {

double resident_megabytes() {
  std::ifstream file("/proc/self/statm");
  long all = 0, resident = 0;
  file >> all >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized = true;
#elif defined(__has_feature)
constexpr bool is_sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool is_sanitized = false;
#endif

// Rule: plans of a function start over at 4,096, and a shape that was met once costs its layout, 240 bytes, for good.
TEST(ProcessSize, AHundredThousandShapesCostFortyMegabytesAtMost) {
  KILN_NEEDS_CPU_COMPILER();
  if (is_sanitized) GTEST_SKIP() << "sanitizers keep what is freed";
  const DeviceGuard guard(Device::cpu());
  const auto f = jit([](auto x, auto y) { return x * 2.0f + y; });
  const auto call = [&](std::int64_t rows, std::int64_t columns) {
    const auto x = ones<float>({rows, columns});
    const Array<float> z = f(x, x);
    ASSERT_EQ(z.data()[rows * columns - 1], 3.0f);
  };
  call(3, 5);
  const double before = resident_megabytes();
  constexpr int shapes = 100'000, columns = 400;
  double half = 0;
  for (int i = 0; i < shapes; ++i) {
    call(1 + i / columns, 1 + i % columns);
    if (i == shapes / 2) half = resident_megabytes();
  }
  const double after = resident_megabytes();
  EXPECT_LT(after - before, 40);
  EXPECT_LT(after - half, 25) << "bytes for each shape of the second half: " << (after - half) * 1e6 / (shapes / 2);
}

// Rule: a name and text that a function was made of once cost 500 bytes for good; a raw kernel that is gone, nothing.
TEST(ProcessSize, FunctionsAndRawKernelsOfEverNewTexts) {
  if (is_sanitized) GTEST_SKIP() << "sanitizers keep what is freed";
  const DeviceGuard guard(Device::cpu());
  const double before = resident_megabytes();
  constexpr int texts = 20'000;
  for (int i = 0; i < texts; ++i) {
    const std::string number = std::to_string(i), text = "return a + " + number + ".f;";
    const auto f = function<float(float)>("f", {"a"}, text.c_str(), [](float a) { return a; });
  }
  EXPECT_LT(resident_megabytes() - before, 10);
  const double with_functions = resident_megabytes();
  for (int i = 0; i < texts; ++i) {
    const std::string name = "k" + std::to_string(i);
    const auto k = raw_kernel(name.c_str(), ("extern \"C\" __global__ void " + name + "(float* x) {}").c_str());
  }
  EXPECT_LT(resident_megabytes() - with_functions, 2);
}

}  // namespace
}  // namespace kiln
