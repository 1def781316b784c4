// tests/unit/dsl/segment_test.cpp -- how many kernels known expressions take, over which loops, and what they compute.
#include "dsl/segment.h"

#include <gtest/gtest.h>
#include <kiln/error.h>

#include "tests/unit/dsl/segment_support.h"

namespace kiln::dsl {
namespace {

using test::NodeId;
using test::Reduction;
using test::shape;
using test::Traced;

TEST(Segment, RowSumIsOneKernelOverRowsThenReducedAxis) {
  Traced t;
  const Segmentation s = t.segmented({t.sum(t.input({5, 7}), {1})});
  ASSERT_EQ(s.segments.size(), 1u);
  EXPECT_EQ(s.segments[0].loop, shape({5, 7}));
  EXPECT_EQ(s.segments[0].reduced, 1);
  EXPECT_EQ(s.segments[0].outputs[0].axes[0], 0);
  EXPECT_TRUE(s.temporaries.empty());
  EXPECT_TRUE(s.notes.empty());
  expect_agreement(t, s);
}

TEST(Segment, ColumnSumPutsTheReducedAxisLast) {
  Traced t;
  const Segmentation s = t.segmented({t.sum(t.input({5, 7}), {0})});
  ASSERT_EQ(s.segments.size(), 1u);
  EXPECT_EQ(s.segments[0].loop, shape({7, 5}));
  ASSERT_EQ(s.segments[0].body.leaves.size(), 1u);
  EXPECT_EQ(s.segments[0].body.leaves[0].view, test::strided({7, 5}, {1, 7}));
  expect_agreement(t, s);
}

TEST(Segment, SoftmaxIsOneKernelForRowsThatFit) {
  for (const int axis : {0, 1, 2}) {
    Traced t;
    const NodeId y = t.softmax(t.input({4, 5, 6}), {axis});
    const Segmentation s = t.segmented({y});
    ASSERT_EQ(s.segments.size(), 1u) << "axis " << axis;
    EXPECT_EQ(s.segments[0].reduced, 1);
    EXPECT_EQ(s.segments[0].loop.extents[2], 4 + axis);
    EXPECT_EQ(s.segments[0].outputs[0].axes[axis], 2);
    EXPECT_EQ(s.segments[0].body.leaves.size(), 1u);
    expect_agreement(t, s);
    const Segmentation cut = t.split({y});
    EXPECT_EQ(cut.segments.size(), 3u) << "max, sum, quotient";
    EXPECT_EQ(cut.segments.back().reduced, 0);
    expect_agreement(t, cut);
  }
}

}  // namespace
}  // namespace kiln::dsl
