// tests/unit/launch/graph_test.cpp -- captured graphs on a fake GPU: what is recorded, which memory it keeps, what is
// patched.
#include "tests/unit/launch/fake_gpu.h"

#include <cstring>
#include <stdexcept>

namespace kiln {
namespace {

const auto affine = jit([](auto v, auto k) { return v * k + 1; });
const auto total = jit([](auto v) { return sum(v); });

class Graphs : public FakeGpuTest {
 protected:
  void SetUp() override {
    FakeGpuTest::SetUp();
    if (IsSkipped()) return;
    affine.into(y)(x, 2.0f);  // warm
    total.into(s)(large);
    clear();
  }
  /// The first `count` pointers of the last argument block.
  static std::vector<const void*> pointers(std::size_t count) {
    std::vector<const void*> list(count);
    std::memcpy(list.data(), fake_driver().arguments.data(), count * sizeof(void*));
    return list;
  }
  static int order(const std::string& prefix) {
    const auto& calls = fake_driver().calls;
    for (std::size_t i = 0; i < calls.size(); ++i)
      if (calls[i].starts_with(prefix)) return static_cast<int>(i);
    return -1;
  }

  Array<float> x{{1000}}, y{{1000}}, s{Shape()};
  Array<float> large{{1 << 24}};  ///< so long that blocks share its sum
  Stream stream{Device::cuda(0)};
};

TEST_F(Graphs, LaunchesAreRecordedOnTheStreamAndRunByOneLaunch) {
  const Graph g = capture(stream, [&] {
    affine.into(y)(x, 2.0f);
    x = y * y;
  });
  EXPECT_EQ(g.kernels(), 2u);
  EXPECT_LT(order("cuStreamBeginCapture"), order("cuLaunchKernel"));
  EXPECT_GT(order("cuStreamEndCapture"), order("cuLaunchKernel"));
  EXPECT_EQ(count("cuLaunchKernel"), 2);
  EXPECT_EQ(count("cuGraphInstantiate"), 1);
  clear();
  g.launch();
  g.launch(stream);
  EXPECT_EQ(count("cuLaunchKernel"), 0);
  EXPECT_EQ(count("cuGraphLaunch"), 2);
  EXPECT_EQ(count("cuGraphLaunch stream=0"), 1) << "the current stream";
}

TEST_F(Graphs, MemoryLivesAsLongAsTheGraphAndNoNodeAllocates) {
  const std::uint64_t before = used();
  {
    Graph g = capture(stream, [&] {
      Array<float> doubled = large * 2;
      total.into(s)(doubled);
    });
    const std::string captured = last("cuStreamBeginCapture").substr(21);
    for (const char* call : {"cuMemAllocAsync", "cuMemFreeAsync", "cuMemsetD8Async", "cuStreamSynchronize"})
      for (const std::string& made : fake_driver().calls)
        EXPECT_FALSE(made.starts_with(call) && made.ends_with(captured)) << made;
    EXPECT_GE(used(), before + large.size() * sizeof(float)) << "the temporary array, partial results, counters";
    const std::uint64_t kept = used();
    g.launch();
    g.launch();
    EXPECT_EQ(used(), kept);
  }
  EXPECT_EQ(used(), before);
}

TEST_F(Graphs, LaterTemporariesTakeTheMemoryOfEarlierOnes) {
  const std::uint64_t before = used();
  const Graph g = capture(stream, [&] {
    for (int i = 0; i < 8; ++i) {
      const Array<float> doubled = large * 2;
      total.into(s)(doubled);
    }
  });
  EXPECT_EQ(g.kernels(), 16u);
  EXPECT_LT(used(), before + 2 * static_cast<std::uint64_t>(large.size()) * sizeof(float));
}

TEST_F(Graphs, ArraysMayGoBeforeTheGraph) {
  Graph g;
  {
    Array<float> short_lived({1000});
    g = capture(stream, [&] { affine.into(y)(short_lived, 2.0f); });
    clear();
  }
  EXPECT_EQ(count("cuMemFreeAsync"), 0) << "the graph reads it";
  g = Graph();
  EXPECT_EQ(count("cuMemFreeAsync"), 1);
}

TEST_F(Graphs, ReplacePatchesEveryKernelThatUsesTheArray) {
  Graph g = capture(stream, [&] {
    affine.into(y)(x, 2.0f);
    affine.into(y(range(0, 500)))(x(range(500, none)), 3.0f);
  });
  const Array<float> other({1000});
  fake_driver().argument_bytes = 16;  // x, y
  clear();
  g.replace(x, other);
  EXPECT_EQ(count("cuGraphExecKernelNodeSetParams"), 2);
  EXPECT_EQ(pointers(2), (std::vector<const void*>{other.data() + 500, y.data()})) << "views move along";
  g.replace(y, x);
  EXPECT_EQ(pointers(2), (std::vector<const void*>{other.data() + 500, x.data()}));
  EXPECT_EQ(count("cuGraphExecKernelNodeSetParams"), 4);
  EXPECT_EQ(count("cuGraphInstantiate"), 0);
}

TEST_F(Graphs, ReplacementsThatTheKernelsWereNotMadeForAreRefused) {
  Graph g = capture(stream, [&] { affine.into(y)(x, 2.0f); });
  Array<float> longer({1001}), host({1000}, Device::cpu()), unused({1000});
  clear();
  EXPECT_NE(message_of<ShapeError>([&] { g.replace(x, longer); }).find("(1000,) by shape (1001,)"), std::string::npos);
  EXPECT_THROW(g.replace(x, host), ShapeError);
  EXPECT_NE(message_of<ShapeError>([&] { g.replace(x, y); }).find("overlaps"), std::string::npos);
  EXPECT_NE(message_of<ShapeError>([&] { g.replace(unused, unused.clone()); }).find("uses no element"),
            std::string::npos);
  const Array<float> wide({1004});
  EXPECT_NE(message_of<ShapeError>([&] { g.replace(x, wide(range(1, 1001))); }).find("less aligned"),
            std::string::npos);
  EXPECT_EQ(count("cuGraphExecKernelNodeSetParams"), 0);
}

TEST_F(Graphs, UpdateChangesTheInstanceWhereTheStructureIsTheSame) {
  Graph g = capture(stream, [&] { affine.into(y)(x, 2.0f); });
  const Array<float> other({1000});
  g.replace(x, other);
  const std::string of_the_node = last("cuGraphExecKernelNodeSetParams");
  clear();
  g.update([&] { affine.into(y)(x, 5.0f); });
  EXPECT_EQ(count("cuGraphExecUpdate"), 1);
  EXPECT_EQ(count("cuGraphInstantiate"), 0);
  g.replace(x, other);
  EXPECT_EQ(last("cuGraphExecKernelNodeSetParams"), of_the_node) << "a node of the graph that was instantiated";
  clear();
  g.update([&] {
    affine.into(y)(x, 5.0f);
    affine.into(x)(y, 5.0f);
  });
  EXPECT_EQ(g.kernels(), 2u);
  EXPECT_EQ(count("cuGraphInstantiate"), 1) << "another number of kernels";
  EXPECT_EQ(count("cuGraphExecDestroy"), 1);
}

TEST_F(Graphs, WhatWaitsInsideACaptureSaysSo) {
  const auto inside = [&](auto work) {
    return message_of<DeviceError>([&] { const Graph g = capture(stream, work); });
  };
  EXPECT_NE(inside([&] { x.to_host(); }).find("graph_test.cpp"), std::string::npos);
  EXPECT_NE(inside([&] { sum(x).item(); }).find("captured into a graph"), std::string::npos);
  EXPECT_NE(inside([&] { from_host(std::vector<float>{1}); }).find("captured into a graph"), std::string::npos);
  EXPECT_NE(inside([&] { synchronize(); }).find("inside kl::capture"), std::string::npos);
  EXPECT_NE(inside([&] { capture(stream, [] {}); }).find("do not nest"), std::string::npos);
  EXPECT_EQ(count("cuStreamBeginCapture"), count("cuStreamEndCapture")) << "each capture was ended";
  EXPECT_EQ(fake_driver().captured, nullptr);
  EXPECT_NO_THROW(affine.into(y)(x, 2.0f));
}

TEST_F(Graphs, AssignedResultsAreCopiedIntoTheArrayThatIsThere) {
  const float* const before = y.data();
  Array<float> made;
  const Graph g = capture(stream, [&] {
    y = affine(x, 2.0f);
    made = affine(y, 2.0f);
  });
  EXPECT_EQ(y.data(), before) << "the graph goes on writing there";
  EXPECT_EQ(g.kernels(), 3u) << "one copy; what was never there is handed over";
  EXPECT_EQ(count("cuMemcpyDtoDAsync"), 0) << "a copy is a kernel, whose pointers can be replaced";
  fake_driver().argument_bytes = 16;
  clear();
  Graph copy = capture(stream, [&] { y = affine(x, 2.0f); });
  const Array<float> other({1000});
  copy.replace(y, other);
  EXPECT_EQ(count("cuGraphExecKernelNodeSetParams"), 1);
}

TEST_F(Graphs, AnArrayThatTheGraphUsesKeepsItsMemoryOrTheCaptureFails) {
  const std::uint64_t before = used();
  const float* const data = x.data();
  const auto shorter = [&] {
    affine.into(y)(x, 2.0f);
    x = affine(y(range(0, 500)), 2.0f);
  };
  const std::string message = message_of<ShapeError>([&] { const Graph g = capture(stream, shorter); });
  EXPECT_NE(message.find("graph_test.cpp"), std::string::npos) << message;
  EXPECT_NE(message.find("(1000,)"), std::string::npos) << message;
  EXPECT_NE(message.find("(500,)"), std::string::npos) << message;
  EXPECT_EQ(x.data(), data);
  EXPECT_EQ(count("cuGraphInstantiate"), 0);
  EXPECT_EQ(count("cuGraphDestroy"), 1);
  EXPECT_EQ(used(), before);
  Graph g = capture(stream, [&] { affine.into(y)(x, 2.0f); });
  EXPECT_THROW(g.update(shorter), ShapeError);
  EXPECT_EQ(g.kernels(), 1u) << "the graph stays as it was";
}

TEST_F(Graphs, AnErrorInTheCapturedWorkEndsTheCapture) {
  const std::uint64_t before = used();
  EXPECT_THROW(capture(stream,
                       [&] {
                         const Array<float> z = x + y;
                         throw std::runtime_error("the user's");
                       }),
               std::runtime_error);
  EXPECT_EQ(count("cuStreamEndCapture"), 1);
  EXPECT_EQ(used(), before);
  Graph g = capture(stream, [&] { affine.into(y)(x, 2.0f); });
  EXPECT_THROW(g.update([&] { throw std::runtime_error("the user's"); }), std::runtime_error);
  EXPECT_EQ(g.kernels(), 1u) << "the graph stays as it was";
  EXPECT_NE(message_of<DeviceError>([] { Graph().launch(); }).find("not made by kl::capture"), std::string::npos);
}

/// D05: a cold kernel is loaded without ending the capture.
TEST_F(Graphs, KernelsThatAreNotThereYetAreMadeDuringTheCapture) {
  const auto cold = jit([](auto v) { return sqrt(v) * 3 - 7; });
  const RawKernel raw = raw_kernel("cold_raw", "extern \"C\" __global__ void cold_raw(float* x, int n) {}");
  const Graph g = capture([&] {
    cold.into(y)(x);
    raw.over(1000)(y, 1000);
  });
  EXPECT_EQ(g.kernels(), 2u);
  EXPECT_EQ(count("cuLibraryLoadData"), 2);
  g.launch();
  EXPECT_EQ(count("cuGraphLaunch"), 1);
}

}  // namespace
}  // namespace kiln
