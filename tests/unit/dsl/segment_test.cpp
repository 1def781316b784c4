// tests/unit/dsl/segment_test.cpp -- how many kernels known expressions take, over which loops, and what they compute.
#include "dsl/segment.h"

#include <gtest/gtest.h>
#include <kiln/error.h>

#include "tests/unit/dsl/segment_support.h"

namespace kiln::dsl {
namespace {

using test::NodeId;
using test::NodeKind;
using test::Reduction;
using test::shape;
using test::Traced;

/// Segments the outputs, compares what they compute with the trace, and returns how many there are.
std::size_t kernels(Traced& trace, const std::vector<NodeId>& outputs) {
  const Segmentation segmentation = trace.segmented(outputs);
  expect_agreement(trace, segmentation);
  return segmentation.segments.size();
}
std::size_t split_kernels(Traced& trace, const std::vector<NodeId>& outputs) {
  const Segmentation segmentation = trace.split(outputs);
  expect_agreement(trace, segmentation);
  return segmentation.segments.size();
}

struct LayerNorm {
  NodeId y, mean, rstd;
};
LayerNorm layer_norm(Traced& t, NodeId x, int axis) {
  const NodeId mean = t.mean(x, {axis}, true);
  const NodeId rstd = t.div(t.number(1), t.sqrt(t.add(t.var(x, {axis}, true), t.number(1e-3f))));
  return {t.mul(t.sub(x, mean), rstd), mean, rstd};
}

TEST(Segment, RowSumIsOneKernelOverRowsThenReducedAxis) {
  Traced t;
  const Segmentation s = t.segmented({t.sum(t.input({5, 7}), {1})});
  ASSERT_EQ(s.segments.size(), 1u);
  EXPECT_EQ(s.segments[0].loop, shape({5, 7}));
  EXPECT_EQ(s.segments[0].reduced, 1);
  EXPECT_EQ(s.segments[0].outputs[0].axes[0], 0);
  const codegen::ChainFacts rows{5, 7, 4, false};
  EXPECT_EQ(s.segments[0].holds_rows, codegen::holds_rows(rows, {}));
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
  const codegen::ChainFacts columns{7, 5, 4, true};
  EXPECT_EQ(s.segments[0].holds_rows, codegen::holds_rows(columns, {}));
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
    EXPECT_EQ(cut.segments.size(), 2u) << "max and sum, quotient";
    EXPECT_EQ(cut.segments.back().reduced, 0);
    expect_agreement(t, cut);
  }
}

TEST(Segment, NormalisationsAreOneKernel) {
  Traced t;
  const NodeId x = t.input({6, 8}), weight = t.input({8});
  EXPECT_EQ(kernels(t, {t.mul(layer_norm(t, x, 1).y, weight)}), 1u) << "layernorm";
  const NodeId square = t.mean(t.mul(x, x), {1}, true);
  EXPECT_EQ(kernels(t, {t.mul(t.div(x, t.sqrt(square)), weight)}), 1u) << "RMSNorm";
  EXPECT_EQ(kernels(t, {t.sub(x, t.reduce(Reduction::logsumexp, x, {1}, true))}), 1u) << "log_softmax";
  const NodeId loss = t.sum(t.mul(x, t.sub(x, t.reduce(Reduction::logsumexp, x, {1}, true))), {1});
  EXPECT_EQ(kernels(t, {loss}), 1u) << "cross entropy";
  EXPECT_EQ(kernels(t, {layer_norm(t, x, 0).y}), 1u) << "standardise";
}

TEST(Segment, BatchNormReducesOuterAndInnerAxes) {
  Traced t;
  const NodeId x = t.input({2, 3, 2, 3});
  const NodeId y = t.sub(x, t.mean(x, {0, 2, 3}, true));
  const Segmentation s = t.segmented({y});
  ASSERT_EQ(s.segments.size(), 1u);
  EXPECT_EQ(s.segments[0].loop, shape({3, 2, 2, 3}));
  EXPECT_EQ(s.segments[0].reduced, 3);
  expect_agreement(t, s);
  EXPECT_EQ(split_kernels(t, {y}), 2u);
}

TEST(Segment, OutputsPerElementAndPerRowShareAKernel) {
  Traced t;
  const LayerNorm norm = layer_norm(t, t.input({6, 8}), 1);
  const Segmentation s = t.segmented({norm.y, norm.mean, norm.rstd});
  ASSERT_EQ(s.segments.size(), 1u);
  ASSERT_EQ(s.segments[0].outputs.size(), 3u);
  EXPECT_EQ(s.segments[0].outputs[1].axes[0], 0);
  EXPECT_EQ(s.segments[0].outputs[1].axes[1], -1);
  expect_agreement(t, s);
  EXPECT_EQ(split_kernels(t, {norm.y, norm.mean, norm.rstd}), 2u) << "both moments and what follows from them; y";
}

TEST(Segment, AnElementwiseOutputJoinsTheKernelThatReadsItsOperands) {
  Traced t;
  const NodeId h = t.add(t.input({6, 8}), t.input({6, 8}));
  const NodeId y = t.div(h, t.sqrt(t.mean(t.mul(h, h), {1}, true)));
  EXPECT_EQ(kernels(t, {h, y}), 1u) << "residual sum and its RMSNorm";
  EXPECT_EQ(kernels(t, {t.sum(h, {1}), h}), 1u);
  EXPECT_EQ(kernels(t, {t.sum(h, {1}), t.input({6, 8})}), 2u) << "nothing shared";
}

TEST(Segment, SiblingsShareAPass) {
  Traced t;
  const NodeId x = t.input({40});
  EXPECT_EQ(kernels(t, {t.sum(x, {0}), t.sum(t.mul(x, x), {0})}), 1u);
  EXPECT_EQ(kernels(t, {t.mean(x, {0}), t.var(x, {0})}), 1u);
  EXPECT_EQ(split_kernels(t, {t.mean(x, {0}), t.var(x, {0})}), 1u);
  EXPECT_EQ(kernels(t, {t.sqrt(t.sum(t.mul(x, x), {0}))}), 1u) << "epilogue per row";
  EXPECT_EQ(split_kernels(t, {t.sqrt(t.sum(t.mul(x, x), {0}))}), 1u);
  const NodeId normalised = t.div(t.sub(x, t.mean(x, {0})), t.var(x, {0}));
  EXPECT_EQ(split_kernels(t, {normalised}), 2u) << "both moments in one pass, then the elements";
}

TEST(Segment, RowsAndColumnsOfASquareAreTwoPasses) {
  Traced t;
  const NodeId x = t.input({4, 4});
  EXPECT_EQ(kernels(t, {t.sum(x, {0}), t.sum(x, {1})}), 2u);
  EXPECT_EQ(kernels(t, {t.add(t.sum(x, {0}), t.sum(x, {1}))}), 2u) << "each in its own direction";
  const NodeId row = t.sum(x, {1}, true), column = t.sum(x, {0}, true);
  EXPECT_EQ(kernels(t, {t.sub(t.sub(x, row), column)}), 2u) << "one of them runs with the elements";
}

TEST(Segment, OneValueUsedPerRowAndAcrossRowsIsComputedFirst) {
  Traced t;
  const NodeId x = t.input({4, 4});
  const NodeId s = t.sum(x, {1});
  const NodeId across = t.view(s, ViewSpec::Kind::unsqueeze, {1});
  const Segmentation both = t.segmented({t.add(t.sub(x, across), s)});
  EXPECT_EQ(both.segments.size(), 2u);
  EXPECT_EQ(both.temporaries.size(), 1u);
  expect_agreement(t, both);
  const NodeId turned = t.view(s, ViewSpec::Kind::flip, {0});
  EXPECT_EQ(kernels(t, {t.add(s, turned)}), 2u);
}

TEST(Segment, BigVectorOverItsNormTakesTwoKernelsAndSaysWhy) {
  Traced t;
  const NodeId x = t.input({1 << 22});
  const Segmentation s = t.segmented({t.div(x, t.sqrt(t.sum(t.mul(x, x), {0})))});
  ASSERT_EQ(s.segments.size(), 2u);
  EXPECT_EQ(s.segments[0].reduced, 1);
  EXPECT_EQ(s.segments[1].reduced, 0);
  ASSERT_EQ(s.temporaries.size(), 1u);
  EXPECT_EQ(s.temporaries[0].shape, Shape{});
  ASSERT_EQ(s.notes.size(), 1u);
  for (const char* part : {"sum over axis 0 of (4194304,)", "4 bytes", "4194304 elements", "16777216 bytes"})
    EXPECT_NE(s.notes[0].find(part), std::string::npos) << s.notes[0];
}

TEST(Segment, ReductionsOfReductions) {
  Traced t;
  const NodeId x = t.input({4, 5});
  EXPECT_EQ(kernels(t, {t.mean(t.reduce(Reduction::logsumexp, x, {1}), {0})}), 2u) << "mean of losses per row";
  const NodeId weights = t.softmax(x, {1});
  EXPECT_EQ(kernels(t, {t.sum(t.mul(weights, t.input({5})), {1})}), 1u) << "weighted mean: one pass of rows";
  // Scores reduce over the last axis, their softmax over the one before.
  const NodeId scores = t.sum(t.mul(t.input({4, 1, 3}), t.input({1, 5, 3})), {2});
  EXPECT_EQ(kernels(t, {t.softmax(scores, {1})}), 2u);
}

TEST(Segment, GradientOfLayerNormIsOneKernel) {
  Traced t;
  const NodeId x = t.input({6, 8}), dy = t.mul(t.input({6, 8}), t.input({8}));
  const LayerNorm norm = layer_norm(t, x, 1);
  const NodeId first = t.mean(dy, {1}, true), second = t.mean(t.mul(dy, norm.y), {1}, true);
  EXPECT_EQ(kernels(t, {t.mul(norm.rstd, t.sub(t.sub(dy, first), t.mul(norm.y, second)))}), 1u);
}

TEST(Segment, ScansRunAloneAlongTheirAxis) {
  Traced t;
  const NodeId x = t.input({4, 5});
  const Segmentation s = t.segmented({t.mul(t.cumsum(t.mul(x, x), 0), x)});
  ASSERT_EQ(s.segments.size(), 1u);
  EXPECT_EQ(s.segments[0].loop, shape({5, 4}));
  EXPECT_EQ(s.segments[0].reduced, 1);
  expect_agreement(t, s);
  EXPECT_EQ(kernels(t, {t.div(t.cumsum(x, 1), t.sum(x, {1}, true))}), 2u) << "the sum is computed first";
  EXPECT_EQ(kernels(t, {t.cumsum(t.cumsum(x, 1), 1)}), 2u) << "a scan of a scan";
  EXPECT_EQ(kernels(t, {t.cumsum(x, 1), t.cumsum(t.mul(x, x), 1)}), 1u);
  EXPECT_EQ(kernels(t, {t.cumsum(t.softmax(x, {1}), 1)}), 2u) << "both reductions of the softmax in one pass";
  EXPECT_EQ(kernels(t, {t.view(t.cumsum(x, 1), ViewSpec::Kind::flip, {1})}), 2u) << "not in order";
  EXPECT_EQ(kernels(t, {t.view(t.cumsum(x, 1), ViewSpec::Kind::transpose, {})}), 1u);
}

TEST(Segment, ExtentsAreConstantParameters) {
  Traced t;
  const Segmentation s = t.segmented({t.mean(t.input({4, 5, 3}), {0, 2})});
  ASSERT_EQ(s.segments.size(), 1u);
  ASSERT_EQ(s.segments[0].body.parameters.size(), 1u);
  EXPECT_TRUE(s.segments[0].body.parameters[0].constant);
  EXPECT_EQ(s.segments[0].body.parameters[0].value, 12);
  EXPECT_EQ(s.segments[0].body.parameters[0].type, DType::f32);
}

TEST(Segment, HalfValuesPassBetweenKernelsUnrounded) {
  Traced t;
  const NodeId x = t.input({4, 4}, DType::f16);
  const Segmentation s = t.split({t.sub(x, t.max(x, {1}, true))});
  ASSERT_EQ(s.temporaries.size(), 1u);
  EXPECT_EQ(s.temporaries[0].type, DType::f32);
  bool unrounded = false;
  for (const codegen::Node& node : s.segments[1].body.graph.nodes())
    unrounded = unrounded ||
                (node.kind == NodeKind::cast && node.type == DType::f16 && node.payload == codegen::unrounded_cast);
  EXPECT_TRUE(unrounded);
  const codegen::Graph& first = s.segments[0].body.graph;
  EXPECT_EQ(first[first.outputs[0]].type, DType::f32);
}

TEST(Segment, AxesOfExtentOneAreNoLoopAxes) {
  Traced t;
  const NodeId x = t.input({1, 5, 1, 3});
  const Segmentation s = t.segmented({t.sum(x, {0, 3}, true)});
  ASSERT_EQ(s.segments.size(), 1u);
  EXPECT_EQ(s.segments[0].loop, shape({5, 3}));
  EXPECT_EQ(s.segments[0].outputs[0].axes[0], -1);
  EXPECT_EQ(s.segments[0].outputs[0].axes[1], 0);
  expect_agreement(t, s);
  const Segmentation none = t.segmented({t.sum(t.exp(x), {0, 2})});
  ASSERT_EQ(none.segments.size(), 1u);
  EXPECT_EQ(none.segments[0].reduced, 0) << "a reduction of single elements is none";
  expect_agreement(t, none);
}

TEST(Segment, NoElementsGiveTheIdentityOrAnError) {
  Traced t;
  const NodeId x = t.input({3, 0});
  const Segmentation s = t.segmented({t.sum(x, {1})});
  ASSERT_EQ(s.segments.size(), 1u);
  EXPECT_EQ(s.segments[0].reduced, 0);
  EXPECT_EQ(s.segments[0].loop, shape({3}));
  expect_agreement(t, s);
  codegen::ReductionSpec spec;
  spec.kind = Reduction::max;
  spec.axes = 2;
  const NodeId largest = t.graph.reduce(spec, DType::f32, {x}, {"work/loss.cpp", 41});
  try {
    t.segmented({t.exp(largest)});
    FAIL() << "max of nothing";
  } catch (const ShapeError& error) {
    for (const char* part : {"kl::max", "axis 1", "(3, 0)", "loss.cpp:41"})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
  EXPECT_TRUE(t.segmented({t.max(x, {0})}).segments.empty()) << "no result, no error";
}

TEST(Segment, ASumOverABroadcastCountsEveryElement) {
  Traced t;
  const NodeId wide = t.view(t.input({1, 3}), ViewSpec::Kind::broadcast_to, {4, 3});
  EXPECT_EQ(kernels(t, {t.sum(wide, {0})}), 1u);
  EXPECT_EQ(kernels(t, {t.sum(wide, {0, 1})}), 1u);
}

TEST(Segment, AResultIsBroadcastIntoALargerTarget) {
  Traced t;
  const NodeId s = t.sum(t.input({5}), {0});
  const std::vector<Shape> loops{shape({3, 2})};
  const Segmentation cut = t.segmented({s}, loops);
  expect_agreement(t, cut, loops);
  EXPECT_EQ(cut.segments.size(), 2u);
  const std::vector<Shape> rows{shape({5})};
  expect_agreement(t, t.segmented({s}, rows), rows);
}

TEST(Segment, PairsAreReducedAsOne) {
  Traced t;
  const NodeId x = t.input({4, 5});
  const auto [sum, largest] = t.sum_and_max(x, {1}, true);
  EXPECT_EQ(kernels(t, {sum, largest}), 1u);
  EXPECT_EQ(kernels(t, {t.mul(t.sub(x, largest), sum)}), 1u);
  EXPECT_EQ(split_kernels(t, {t.mul(t.sub(x, largest), sum)}), 2u) << "both components in one pass";
}

TEST(Segment, ViewsAroundReductions) {
  Traced t;
  const NodeId x = t.input({4, 6});
  const NodeId turned = t.view(x, ViewSpec::Kind::transpose, {});
  EXPECT_EQ(kernels(t, {t.softmax(turned, {0})}), 1u);
  const NodeId every_second = t.slice(t.sum(x, {1}), {{false, false, false, 0, 0, 2}});
  EXPECT_EQ(kernels(t, {every_second}), 1u) << "only the rows that are wanted";
  const NodeId mirrored = t.view(t.softmax(x, {1}), ViewSpec::Kind::flip, {1});
  EXPECT_EQ(kernels(t, {mirrored}), 1u);
  EXPECT_EQ(kernels(t, {t.sum(t.view(t.mul(x, x), ViewSpec::Kind::reshape, {4, 2, 3}), {2})}), 1u);
}

TEST(Segment, ReshapesOfReductionsSplitTheLoop) {
  Traced t;
  const NodeId x = t.input({2, 3, 5});
  const NodeId flat = t.view(t.sum(x, {2}), ViewSpec::Kind::reshape, {6});
  const Segmentation s = t.segmented({flat});
  ASSERT_EQ(s.segments.size(), 1u);
  EXPECT_EQ(s.segments[0].loop, shape({2, 3, 5}));
  EXPECT_EQ(s.segments[0].outputs[0].shape, shape({2, 3}));
  expect_agreement(t, s);
  EXPECT_EQ(kernels(t, {t.view(t.softmax(x, {2}), ViewSpec::Kind::reshape, {30})}), 1u);
  EXPECT_EQ(kernels(t, {t.view(t.softmax(x, {1}), ViewSpec::Kind::reshape, {2, 15})}), 1u);
  // Borders that do not divide one another: no loop has both.
  EXPECT_EQ(kernels(t, {t.view(t.softmax(x, {2}), ViewSpec::Kind::reshape, {15, 2})}), 2u);
}

TEST(Segment, GroupNormIsOneKernel) {
  Traced t;
  const NodeId x = t.input({2, 4, 3, 2}), weight = t.input({4, 1, 1});
  const NodeId grouped = t.view(x, ViewSpec::Kind::reshape, {2, 2, 12});
  const NodeId y = t.view(layer_norm(t, grouped, 2).y, ViewSpec::Kind::reshape, {2, 4, 3, 2});
  const Segmentation s = t.segmented({t.mul(y, weight)});
  ASSERT_EQ(s.segments.size(), 1u);
  EXPECT_EQ(s.segments[0].loop, shape({2, 2, 2, 3, 2}));
  EXPECT_EQ(s.segments[0].reduced, 3);
  expect_agreement(t, s);
}

}  // namespace
}  // namespace kiln::dsl
