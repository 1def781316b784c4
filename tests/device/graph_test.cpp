// tests/device/graph_test.cpp -- captured work replays with the values of the moment, on each device.
#include <string>
#include <tuple>
#include <utility>
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

const auto twice_plus_one = kl::jit([](auto v) { return 2 * v + 1; });

// Rule: inside a capture `=` writes into an array that is there, whatever stands on the right; so a launch goes on from
// where the last one stopped.
TEST_P(Graph, AssignmentsWriteIntoTheArraysThatAreThere) {
  kl::Array<float> a = kl::from_host(Floats{1, 2}), b = kl::zeros<float>({2});
  const kl::View<float> seen = a;
  kl::synchronize();
  const kl::Graph g = kl::capture([&] {
    b = twice_plus_one(a);
    a = twice_plus_one(b);
  });
  EXPECT_EQ(a.to_host(), (Floats{1, 2})) << "recorded, not run";
  float first = 1, second = 2;
  for (int launch = 0; launch < 3; ++launch) {
    g.launch();
    for (int step = 0; step < 2; ++step) first = 2 * first + 1, second = 2 * second + 1;
    EXPECT_EQ(a.to_host(), (Floats{first, second})) << "launch " << launch;
  }
  EXPECT_EQ(seen.to_host(), a.to_host()) << "views of the array see it";
}

TEST_P(Graph, SoDoTuplesClonesAndWhatIsMoved) {
  kl::Array<float> a = kl::from_host(Floats{1, 2}), b = kl::from_host(Floats{3, 4}), c = kl::zeros<float>({2});
  kl::Array<float> d = kl::zeros<float>({2}), source = kl::from_host(Floats{10, 20});
  const auto turn = kl::jit([](auto x, auto y) { return std::tuple(y + 1, x); });
  kl::synchronize();
  const kl::Graph g = kl::capture([&] {
    std::tie(a, b) = turn(a, b);
    c = a.clone();
    c = kl::eval(c * 10);
    d = std::move(source);
  });
  g.launch();
  g.launch();
  EXPECT_EQ(a.to_host(), (Floats{2, 3})) << "(1 3) -> (4 1) -> (2 4)";
  EXPECT_EQ(b.to_host(), (Floats{4, 5}));
  EXPECT_EQ(c.to_host(), (Floats{20, 30}));
  EXPECT_EQ(d.to_host(), (Floats{10, 20}));
}

// Rule: what a capture makes itself is handed over without a copy.
TEST_P(Graph, ArraysMadeInsideAreNotCopied) {
  kl::Array<float> x = kl::from_host(Floats{1, 2}), last;
  kl::synchronize();
  const kl::Graph g = kl::capture([&] {
    kl::Array<float> local = twice_plus_one(x);
    for (int i = 0; i < 2; ++i) local = twice_plus_one(local);
    last = twice_plus_one(local);
  });
  EXPECT_EQ(g.kernels(), 4u);
  g.launch();
  EXPECT_EQ(last.to_host(), (Floats{31, 47}));
  x = 0;
  g.launch();
  EXPECT_EQ(last.to_host(), (Floats{15, 15}));
}

// Rule: an array whose memory the graph uses cannot get other memory inside the capture; others can.
TEST_P(Graph, OtherShapesAreRefusedWhereTheGraphUsesTheFormerMemory) {
  kl::Array<float> a = kl::from_host(Floats{1, 2, 3}), b = kl::zeros<float>({3}), unused = kl::zeros<float>({7});
  kl::synchronize();
  const auto message = [&](const auto& work) -> std::string {
    try {
      (void)kl::capture(work);
    } catch (const kl::ShapeError& error) {
      return error.what();
    }
    return "";
  };
  const auto shorter = [&] {
    b = a + 1;
    a = twice_plus_one(b(kl::range(2)));
  };
  const auto by_expression = [&] { a = a(kl::range(2)) + 1; };
  for (const std::string& text : {message(shorter), message(by_expression)}) {
    EXPECT_NE(text.find("graph_test.cpp:"), std::string::npos) << text;
    EXPECT_NE(text.find("shape (3,)"), std::string::npos) << text;
    EXPECT_NE(text.find("shape (2,)"), std::string::npos) << text;
  }
  EXPECT_EQ(a.to_host(), (Floats{1, 2, 3}));
  const kl::Graph g = kl::capture([&] { unused = twice_plus_one(a); });
  g.launch();
  EXPECT_EQ(unused.to_host(), (Floats{3, 5, 7}));
}

// Rule: the graph keeps the memory of what its launches write, also of results that nobody has any more.
TEST_P(Graph, ResultsThatDieAreWrittenToMemoryOfTheGraph) {
  constexpr std::int64_t n = 1000;
  const kl::Array<float> x = kl::full({n}, 3.0f);
  kl::Graph g;
  {
    kl::Array<float> outlived;
    kl::synchronize();
    g = kl::capture([&] {
      kl::Array<float> dies = twice_plus_one(x);
      kl::eval(x * 5);
      outlived = x * 7;
    });
  }
  std::vector<kl::Array<float>> others;
  for (int i = 0; i < 8; ++i) others.push_back(kl::full({n}, -1.0f));  // where the results were, had they been freed
  g.launch();
  for (const kl::Array<float>& other : others) EXPECT_EQ(other.to_host(), Floats(n, -1.0f));
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

// Rule: a graph of a GPU holds writes by index; one of the CPU refuses them, and changes nothing.
TEST_P(Graph, WritesByIndexAreRecordedOrRefused) {
  const kl::Array<int> ids = kl::from_host({0, 0, 2});
  const kl::Array<float> updates = kl::from_host(Floats{1, 2, 5});
  kl::Array<float> sums = kl::zeros<float>({3});
  const auto plus = kl::ufunc([](auto a, auto b) { return a + b; });
  kl::synchronize();
  if (!on_gpu()) {
    EXPECT_THROW(kl::capture([&] { kl::scatter_add(sums, ids, updates); }), kl::DeviceError);
    EXPECT_THROW(kl::capture([&] { plus.at(sums, ids, updates); }), kl::DeviceError);
    EXPECT_EQ(sums.to_host(), (Floats{0, 0, 0}));
    return;
  }
  const kl::Graph g = kl::capture([&] { kl::scatter_add(sums, ids, updates); });
  EXPECT_EQ(sums.to_host(), (Floats{0, 0, 0}));
  g.launch();
  EXPECT_EQ(sums.to_host(), (Floats{3, 0, 5}));
  g.launch();
  EXPECT_EQ(sums.to_host(), (Floats{6, 0, 10}));
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
