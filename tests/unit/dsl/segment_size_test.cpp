// tests/unit/dsl/segment_size_test.cpp -- large traces: linear work, bounded kernels, no stack.
#include <gtest/gtest.h>

#include "tests/unit/dsl/segment_support.h"

namespace kiln::dsl {
namespace {

using test::NodeId;
using test::NodeKind;
using test::Traced;

std::size_t nodes_of(const Segmentation& segmentation) {
  std::size_t count = 0;
  for (const Segment& segment : segmentation.segments) count += segment.body.graph.size();
  return count;
}

/// Reductions that need one another, on the longest path.
int passes_of(const Segment& segment) {
  std::vector<int> depth;
  for (const codegen::Node& node : segment.body.graph.nodes()) {
    int own = 0;
    for (const NodeId operand : node.inputs()) own = std::max(own, depth[operand]);
    depth.push_back(own + (node.kind == NodeKind::reduce ? 1 : 0));
  }
  return depth.empty() ? 0 : *std::max_element(depth.begin(), depth.end());
}

TEST(SegmentSize, DeepOperands) {
  Traced t;
  const NodeId x = t.input({4, 8});
  NodeId y = x;
  for (int i = 0; i < 100000; ++i) y = t.add(y, x);
  const Segmentation s = t.segmented({t.softmax(y, {1})});
  ASSERT_EQ(s.segments.size(), 2u) << "the operand is computed once, and not in each pass over a row";
  EXPECT_LT(nodes_of(s), 100020u);
}

TEST(SegmentSize, ManyPaths) {
  Traced t;
  NodeId y = t.input({4, 8});
  for (int i = 0; i < 60; ++i) y = t.sub(t.add(y, y), t.sum(y, {1}, true));
  const Segmentation s = t.segmented({y});
  EXPECT_LE(s.segments.size(), 60u);
  EXPECT_LT(nodes_of(s), 2000u);
}

TEST(SegmentSize, AThousandSoftmaxes) {
  Traced t;
  NodeId y = t.input({4, 8});
  for (int i = 0; i < 1000; ++i) y = t.softmax(y, {1});
  const Segmentation s = t.segmented({y});
  EXPECT_EQ(s.segments.size(), 250u) << "2000 reductions, eight to a kernel";
  EXPECT_LT(nodes_of(s), 10000u);
  for (const Segment& segment : s.segments) EXPECT_LE(passes_of(segment), max_passes);
  expect_agreement(t, s);
  const Segmentation split = t.split({y});
  EXPECT_LE(split.segments.size(), 2300u);
  EXPECT_LT(nodes_of(split), 50000u);
  expect_agreement(t, split);
}

TEST(SegmentSize, AThousandOutputs) {
  Traced t;
  const NodeId x = t.input({4, 8});
  std::vector<NodeId> outputs;
  NodeId y = x;
  for (int i = 0; i < 1000; ++i) {
    y = t.mul(y, x);
    outputs.push_back(t.sum(y, {1}));
  }
  const Segmentation s = t.segmented(outputs);
  EXPECT_LE(s.segments.size(), 33u) << "32 sums to a kernel, and one value that later sums start from";
  expect_agreement(t, s);
}

}  // namespace
}  // namespace kiln::dsl
