// tests/device/kernel_limit_test.cpp -- kernels are unloaded while their work runs, and loaded again.
#include <kiln/kernel_limit.h>

#include <vector>

#include "tests/support/devices.h"

namespace {

class KernelLimit : public OnEachDevice {
 protected:
  void TearDown() override {
    kl::set_kernel_limit(kl::default_kernel_limit);
    OnEachDevice::TearDown();
  }
};
KILN_ON_EACH_DEVICE(KernelLimit);

auto make_function(int number) {
  return kl::jit([number](auto v) { return v * 2.0f + kl::lit(static_cast<float>(number)); });
}

// Nothing waits between the launches and the unloading: work that was enqueued keeps its code.
TEST_P(KernelLimit, WorkThatRunsKeepsItsCode) {
  constexpr std::int64_t n = 1 << 26;
  kl::Array<float> x = kl::full({n}, 1.0f);
  for (int number = 0; number < (on_gpu() ? 10 : 2); ++number) {
    {
      const auto f = make_function(number);
      for (int i = 0; i < 4; ++i) f.into(x)(x);
    }
    kl::set_kernel_limit(0);
    const std::vector<float> end = kl::Array<float>(x(kl::range(n - 2, n))).to_host();
    const float expected = 16.0f + 15.0f * static_cast<float>(number);
    ASSERT_EQ(end, (std::vector<float>{expected, expected})) << number;
    x = 1.0f;
    kl::set_kernel_limit(1);
  }
}

TEST_P(KernelLimit, AGraphKeepsTheKernelsOfFunctionsThatAreGone) {
  kl::Array<float> x = kl::full({1000}, 1.0f), y({1000});
  const kl::Graph graph = kl::capture([&] { make_function(3).into(y)(x); });
  kl::set_kernel_limit(0);
  for (int number = 10; number < 20; ++number) make_function(number)(x);
  kl::set_kernel_limit(0);
  y = 0.0f;
  graph.launch();
  EXPECT_EQ(y.to_host().at(999), 5.0f);
}

}  // namespace
