// tests/unit/launch/long_expressions_test.cpp -- calls of many kernels on a fake GPU: memory between them, arguments,
// faults.
#include "tests/support/long_expressions.h"
#include "tests/unit/launch/fake_gpu.h"

#include <vector>

namespace kiln {
namespace {

class LongExpressions : public FakeGpuTest {};

constexpr std::int64_t elements = 1 << 16;

/// Several kernels, of which each passes values on to the next.
const auto waiting = jit([](auto v) {
  const std::vector values{v};
  return long_expressions::waiting(values, 2400, [](int i) { return lit(static_cast<float>(i) + 0.5f); });
});

/// Four kernels, of which each passes one value on to the next.
const auto chain = jit([](auto v) {
  const std::vector values{v, v * lit(3.0f)};
  return long_expressions::chain(values, 30000, [](int i) { return lit(static_cast<float>(i) + 0.5f); });
});

TEST_F(LongExpressions, ValuesBetweenKernelsShareMemoryAndAreFreed) {
  Array<float> x({elements}), y({elements});
  chain.into(y)(x);
  clear();
  const std::uint64_t before = used();
  chain.into(y)(x);
  EXPECT_GE(count("cuLaunchKernel"), 4);
  EXPECT_EQ(count("cuMemAllocAsync"), 2) << "two buffers, in turn";
  EXPECT_EQ(count("cuMemFreeAsync"), 2);
  EXPECT_EQ(used(), before);
  EXPECT_EQ(count("cuStreamSynchronize"), 0);
}

/// D10: inputs are intact and outputs unassigned when memory ends in the middle.
TEST_F(LongExpressions, NoMemoryBetweenKernelsLeavesEverythingAsItWas) {
  Array<float> x({elements}), y({elements});
  waiting.into(y)(x);
  const std::uint64_t before = used();
  clear();
  fake_driver().faults["cuMemAllocAsync"] = {2 /* out of memory */, 3, 1000};
  const std::string message = message_of<OutOfMemory>([&] { waiting.into(y)(x); });
  fake_driver().faults.clear();
  EXPECT_NE(message.find("values between the kernels"), std::string::npos) << message;
  EXPECT_EQ(count("cuLaunchKernel"), 0) << "nothing was started";
  EXPECT_EQ(used(), before);
  waiting.into(y)(x);
  EXPECT_EQ(used(), before) << "and the next call works";
}

/// Thousands of shapes: the plans of one function are bounded, its kernels are a few.
TEST_F(LongExpressions, OneFunctionOfManyShapes) {
  const auto scaled = jit([](auto v) { return v * lit(2.0f) + lit(1.0f); });
  Array<float> first({7}), result({7});
  scaled.into(result)(first);
  clear();
  for (std::int64_t n = 1; n <= 5000; ++n) {
    Array<float> x({n}), y({n});
    scaled.into(y)(x);
  }
  EXPECT_EQ(count("cuLaunchKernel"), 5000);
  EXPECT_LE(count("cuLibraryLoadData"), 4) << "shapes are arguments";
}

}  // namespace
}  // namespace kiln
