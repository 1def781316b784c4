// tests/device/graph_test.cpp -- captured work replays with the values of the moment, on each device.
#include <string>
#include <vector>

#include "tests/support/devices.h"

namespace {

class Graph : public OnEachDevice {};
KILN_ON_EACH_DEVICE(Graph);

using Floats = std::vector<float>;

TEST_P(Graph, RunsNothingBeforeItIsLaunchedAndThenReadsWhatIsThere) {
  kl::Array<float> x = kl::from_host(Floats{1, 2, 3}), y = kl::zeros<float>({3});
  kl::synchronize();
  const kl::Graph g = kl::capture([&] { y = 2 * x + 1; });
  EXPECT_EQ(y.to_host(), (Floats{0, 0, 0})) << "recorded, not run";
  g.launch();
  EXPECT_EQ(y.to_host(), (Floats{3, 5, 7}));
  x = x * 10;
  g.launch();
  EXPECT_EQ(y.to_host(), (Floats{21, 41, 61}));
  EXPECT_EQ(g.kernels(), 1u);
}

TEST_P(Graph, ReductionsChainsAndArraysMadeInsideAreReplayed) {
  constexpr std::int64_t n = 1 << 20;
  kl::Array<float> x = kl::ones<float>({n});
  kl::Array<float> total, share, copy;
  kl::synchronize();
  const kl::Graph g = kl::capture([&] {
    total = kl::sum(x);
    kl::Array<float> shifted = x + 1;
    share = shifted / kl::sum(shifted) * static_cast<float>(n);
    copy = share.clone();
  });
  for (const float value : {1.0f, 3.0f, 0.5f}) {
    x = value;
    g.launch();
    EXPECT_EQ(total.item(), value * n);
    EXPECT_FLOAT_EQ(share(n - 1).item(), 1.0f);
    EXPECT_FLOAT_EQ(copy(7).item(), 1.0f);
  }
}

TEST_P(Graph, ReplaceChangesOperandsResultsAndViews) {
  kl::Array<float> x = kl::from_host(Floats{1, 2, 3, 4}), y = kl::zeros<float>({4});
  kl::Array<float> other = kl::from_host(Floats{10, 20, 30, 40}), z = kl::zeros<float>({4});
  kl::synchronize();
  kl::Graph g = kl::capture([&] {
    y(kl::range(0, 2)) = x(kl::range(2, 4)) + 1;
    y(kl::range(2, 4)) = x(kl::range(0, 2)) * 2;
  });
  g.launch();
  EXPECT_EQ(y.to_host(), (Floats{4, 5, 2, 4}));
  g.replace(x, other);
  g.launch();
  EXPECT_EQ(y.to_host(), (Floats{31, 41, 20, 40}));
  g.replace(y, z);
  y = 0;
  g.launch();
  EXPECT_EQ(z.to_host(), (Floats{31, 41, 20, 40}));
  EXPECT_EQ(y.to_host(), (Floats{0, 0, 0, 0})) << "no longer written";
  EXPECT_THROW(g.replace(x, y), kl::ShapeError) << "x is not used any more";
}

TEST_P(Graph, UpdateTakesOtherWork) {
  kl::Array<float> x = kl::from_host(Floats{1, 2}), y = kl::zeros<float>({2});
  kl::synchronize();
  kl::Graph g = kl::capture([&] { y = x + 1; });
  g.update([&] { y = x + 5; });
  g.launch();
  EXPECT_EQ(y.to_host(), (Floats{6, 7}));
  g.update([&] {
    y = x * 3;
    y = y * y;
  });
  g.launch();
  EXPECT_EQ(y.to_host(), (Floats{9, 36}));
}

TEST_P(Graph, KeepsWhatItUses) {
  kl::Array<float> y = kl::zeros<float>({1000});
  kl::Graph g;
  {
    const kl::Array<float> x = kl::full({1000}, 4.0f);
    kl::synchronize();
    g = kl::capture([&] { y = kl::sqrt(x); });
  }
  const kl::Array<float> reused = kl::full({1000}, 9.0f);  // where x was, had it been freed
  g.launch();
  EXPECT_EQ(y(999).item(), 2.0f);
  EXPECT_EQ(reused(0).item(), 9.0f);
}

TEST_P(Graph, WhatCannotBeRecordedSaysSoAndLeavesTheDeviceUsable) {
  kl::Array<float> x = kl::from_host(Floats{1, 2});
  EXPECT_THROW(kl::capture([&] { (void)x.to_host(); }), kl::DeviceError);
  EXPECT_THROW(kl::capture([&] { (void)kl::sum(x).item(); }), kl::DeviceError);
  EXPECT_THROW(kl::capture([&] { (void)kl::from_host(Floats{1}); }), kl::DeviceError);
  EXPECT_THROW(kl::capture([] { kl::synchronize(); }), kl::DeviceError);
  EXPECT_THROW(kl::capture([] { (void)kl::capture([] {}); }), kl::DeviceError);
  EXPECT_EQ(kl::eval(x + 1).to_host(), (Floats{2, 3}));
}

TEST_P(Graph, RawKernelsAndGivenStreams) {
  if (!on_gpu()) GTEST_SKIP() << "raw kernels are CUDA text";
  kl::Array<float> x = kl::full({1000}, 3.0f), y = kl::zeros<float>({1000});
  const auto twice =
      kl::raw_kernel("twice",
                     "extern \"C\" __global__ void twice(float* y, const float* x, int n) {\n"
                     "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = 2 * x[i];\n}");
  kl::Stream stream(device);
  kl::synchronize();
  kl::Graph g = kl::capture(stream, [&] {
    twice.over(1000)(y, x, 1000);
    y = y + 1;
  });
  g.launch(stream);
  stream.synchronize();
  EXPECT_EQ(y(999).item(), 7.0f);
  kl::Array<float> other = kl::full({1000}, 5.0f);
  kl::synchronize();
  g.replace(x, other);
  g.launch(stream);
  stream.synchronize();
  EXPECT_EQ(y(0).item(), 11.0f);
}

}  // namespace
