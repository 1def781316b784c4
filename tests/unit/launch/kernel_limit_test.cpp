// tests/unit/launch/kernel_limit_test.cpp -- kernels of a fake GPU are unloaded when nobody holds them, and never
// before.
#include <kiln/kernel_limit.h>

#include "tests/unit/launch/fake_gpu.h"

namespace kiln {
namespace {

auto make_function(int number) {
  return jit([number](auto v) { return v + lit(static_cast<float>(number)); });
}

class KernelLimitOnGpu : public FakeGpuTest {
 protected:
  void SetUp() override {
    FakeGpuTest::SetUp();
    set_kernel_limit(0);  // those of other tests
    clear();
  }
  void TearDown() override {
    set_kernel_limit(default_kernel_limit);
    FakeGpuTest::TearDown();
  }
  static std::size_t libraries() {
    const std::lock_guard lock(fake_driver().mutex);
    return fake_driver().libraries.size();
  }
  Array<float> x{{1000}};
};

TEST_F(KernelLimitOnGpu, TheOldestThatNobodyHoldsAreUnloaded) {
  const std::size_t before = libraries();
  set_kernel_limit(static_cast<unsigned>(before) + 4);
  for (int number = 0; number < 12; ++number) make_function(number)(x);
  EXPECT_EQ(count("cuLibraryLoadData"), 12);
  // The newest one is in use while room is made, and goes with the next; those of other tests may go as well.
  EXPECT_LE(libraries(), before + 5);
  EXPECT_GE(libraries(), 5u);
  clear();
  make_function(11)(x);
  EXPECT_EQ(count("cuLibraryLoadData"), 0) << "the latest are kept";
  make_function(0)(x);
  EXPECT_EQ(count("cuLibraryLoadData"), 1) << "loaded again";
}

TEST_F(KernelLimitOnGpu, FunctionsGraphsAndRawKernelsHoldTheirs) {
  const auto kept = make_function(100);
  kept(x);
  Array<float> y({1000});
  const auto raw = raw_kernel("twice", "extern \"C\" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }");
  raw[{.grid = 1, .block = 32}](x);
  const Stream stream(Device::cuda(0));
  const Graph graph = [&] {
    const auto short_lived = make_function(101);
    const auto raw_too = raw_kernel("half", "extern \"C\" __global__ void half(float* x) { x[threadIdx.x] /= 2; }");
    return capture(stream, [&] {
      short_lived.into(y)(x);
      raw_too[{.grid = 1, .block = 32}](y);
    });
  }();
  for (int number = 102; number < 110; ++number) make_function(number)(x);
  set_kernel_limit(0);
  EXPECT_GE(count("cuLibraryUnload"), 8);
  kept(x);
  raw[{.grid = 1, .block = 32}](x);
  graph.launch();  // the fake driver refuses to run code that was unloaded
}

// Rule: a graph that another library captured names the code of its kernels and does not hold it, so it stays.
TEST_F(KernelLimitOnGpu, AKernelInAGraphOfTheHostStays) {
  Array<float> y({1000});
  const Stream stream(Device::cuda(0));
  const StreamGuard on_stream(stream);
  const auto call_once = [&](int number, bool captured) {
    const auto f = make_function(number);
    fake_driver().captured = captured ? stream.native_handle() : nullptr;
    f.into(y)(x);
    fake_driver().captured = nullptr;
  };
  set_kernel_limit(0);
  const std::size_t before = libraries();
  call_once(300, false);
  set_kernel_limit(0);
  EXPECT_EQ(libraries(), before) << "nobody holds it";
  call_once(301, true);
  call_once(302, false);
  set_kernel_limit(0);
  EXPECT_EQ(libraries(), before + 1);
  EXPECT_EQ(count("cuLibraryUnload"), 2);
  clear();
  call_once(301, false);
  EXPECT_EQ(count("cuLibraryLoadData"), 0) << "it was never unloaded";
}

TEST_F(KernelLimitOnGpu, AKernelOfADestroyedGraphGoes) {
  Array<float> y({1000});
  const Stream stream(Device::cuda(0));
  std::size_t with_graph = 0;
  {
    const Graph graph = capture(stream, [&] { make_function(200).into(y)(x); });
    set_kernel_limit(0);
    with_graph = libraries();
  }
  set_kernel_limit(0);
  EXPECT_EQ(libraries() + 1, with_graph);
}

}  // namespace
}  // namespace kiln
