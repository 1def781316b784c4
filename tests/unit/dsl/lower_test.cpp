// tests/unit/dsl/lower_test.cpp -- views pushed down to operands read the elements that NumPy's semantics name.
#include "dsl/lower.h"

#include <gtest/gtest.h>
#include <kiln/error.h>

#include "dsl/infer.h"
#include "tests/unit/dsl/brute_force.h"

namespace kiln::dsl {
namespace {

using codegen::Graph;
using codegen::NodeId;
using test::shape;
using test::strided;
using Kind = ViewSpec::Kind;

ViewSpec numbers(Kind kind, std::vector<std::int64_t> values) { return {kind, std::move(values), {}}; }
ViewSpec slices(std::vector<ViewSpec::Item> items) { return {Kind::slice, {}, std::move(items)}; }

struct Traced {
  Graph graph;
  std::vector<Operand> operands;
  NodeId input(const Strided& view, DType type = DType::f32) {
    operands.push_back({view, type, false, static_cast<int>(operands.size())});
    return graph.input(operands.size() - 1, type);
  }
  NodeId add(NodeId a, NodeId b) {
    const NodeId both[] = {a, b};
    return graph.operation(Op::add, DType::f32, both);
  }
  std::vector<Shape> shapes() const {
    std::vector<Shape> inputs;
    for (const Operand& operand : operands) inputs.push_back(operand.view.shape);
    return infer_shapes(graph, inputs);
  }
  Body lowered(NodeId output) {
    const std::vector<Shape> all = shapes();
    return lower(graph, all, operands, std::span(&output, 1), all[output]);
  }
};

TEST(Lower, TransposeOfASum) {
  Traced t;
  const NodeId sum = t.add(t.input(strided({3, 4}, {4, 1})), t.input(strided({4}, {1})));
  const Body body = t.lowered(t.graph.view(sum, numbers(Kind::transpose, {})));
  ASSERT_EQ(body.leaves.size(), 2u);
  EXPECT_EQ(body.leaves[0].view, strided({4, 3}, {1, 4}));
  EXPECT_EQ(body.leaves[1].view, strided({4, 3}, {1, 0}));
}

TEST(Lower, SliceOfASumSharesTheUnslicedOperand) {
  Traced t;
  const NodeId x = t.input(strided({10}, {1}));
  const NodeId twice = t.add(x, x);
  ViewSpec::Item from{false, true, false, 3, 0, 2};
  const Body body = t.lowered(t.graph.view(twice, slices({from})));
  ASSERT_EQ(body.leaves.size(), 1u) << "both uses read the same elements";
  EXPECT_EQ(body.leaves[0].view, strided({4}, {2}, 3));
}

TEST(Lower, ViewsOfViewsCompose) {
  // (flip(x[2:8]) + y[None, :])[..., 1] against enumeration.
  Traced t;
  const NodeId x = t.input(strided({8, 5}, {5, 1}));
  const NodeId y = t.input(strided({5}, {1}));
  const NodeId part = t.graph.view(x, slices({{false, true, true, 2, 8, 1}}));
  const NodeId turned = t.graph.view(part, numbers(Kind::flip, {0}));
  const NodeId sum = t.add(turned, y);
  const NodeId column = t.graph.view(sum, slices({{false, false, false, 0, 0, 1}, {true, true, false, 1, 0, 1}}));
  const Body body = t.lowered(column);
  ASSERT_EQ(body.leaves.size(), 2u);
  std::vector<std::int64_t> expected_x, expected_y;
  for (int row = 7; row >= 2; --row) {
    expected_x.push_back(row * 5 + 1);
    expected_y.push_back(1);
  }
  EXPECT_EQ(test::addresses(body.leaves[0].view), expected_x);
  EXPECT_EQ(test::addresses(body.leaves[1].view), expected_y);
}

TEST(Lower, IndexIsAnAffineOperand) {
  Traced t;
  const NodeId x = t.input(strided({3, 4}, {4, 1}));
  codegen::Node index{.kind = codegen::NodeKind::index, .type = DType::i64, .arity = 1};
  index.operands[0] = x;
  index.payload = 1;
  const NodeId i = t.graph.add(index);
  const Body body = t.lowered(t.graph.view(i, numbers(Kind::flip, {1})));
  ASSERT_EQ(body.leaves.size(), 1u);
  EXPECT_TRUE(body.leaves[0].iota);
  EXPECT_EQ(test::addresses(body.leaves[0].view), (std::vector<std::int64_t>{3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0}));
}

TEST(Lower, ReshapeThatSplitsAnAxisIsAffine) {
  Traced t;
  const NodeId sum = t.add(t.input(strided({12}, {1})), t.input(strided({12}, {2})));
  const Body body = t.lowered(t.graph.view(sum, numbers(Kind::reshape, {3, -1})));
  EXPECT_EQ(body.leaves[0].view, strided({3, 4}, {4, 1}));
  EXPECT_EQ(body.leaves[1].view, strided({3, 4}, {8, 2}));
}

TEST(Lower, ReshapeThatMergesAxesWorksWhereTheOperandAllows) {
  Traced t;
  const NodeId a = t.input(strided({3, 4}, {4, 1}));
  const NodeId sum = t.add(a, a);
  const NodeId flat = t.graph.view(sum, numbers(Kind::reshape, {12}));
  const Body body = t.lowered(t.graph.view(flat, slices({{false, true, false, 5, 0, 1}})));
  EXPECT_EQ(body.leaves[0].view, strided({7}, {1}, 5));
}

TEST(Lower, ReshapeThatNeedsACopySaysSo) {
  Traced t;
  const NodeId sum = t.add(t.input(strided({3, 4}, {4, 1})), t.input(strided({4}, {1})));
  const NodeId flat = t.graph.view(sum, numbers(Kind::reshape, {12}), {"user.cpp", 41});
  try {
    t.lowered(flat);
    FAIL() << "a broadcast operand cannot be flattened";
  } catch (const ShapeError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("(3, 4)"), std::string::npos) << text;
    EXPECT_NE(text.find("(12,)"), std::string::npos) << text;
    EXPECT_NE(text.find("user.cpp:41"), std::string::npos) << text;
    EXPECT_NE(text.find("kl::eval"), std::string::npos) << text;
  }
}

TEST(Lower, SharedViewsDoNotMultiply) {
  // e = e + flip(e), 60 times: 2^60 paths, two maps.
  Traced t;
  NodeId e = t.input(strided({16}, {1}));
  for (int i = 0; i < 60; ++i) e = t.add(e, t.graph.view(e, numbers(Kind::flip, {0})));
  const Body body = t.lowered(e);
  EXPECT_EQ(body.leaves.size(), 2u);
  EXPECT_LE(body.graph.size(), 130u);
}

TEST(Lower, DeepChainsNeedNoStack) {
  Traced t;
  NodeId e = t.input(strided({16}, {1}));
  for (int i = 0; i < 100'000; ++i) e = t.add(e, t.graph.literal(DType::f32, 0x3f800000u + i));
  EXPECT_EQ(t.lowered(e).graph.size(), 200'001u);
}

TEST(Lower, WorkGrowsWithTheGraphAndNotWithItsPaths) {
  // e = e + e[1:] with e[:-1], 100 times: one map per level and shift, so the body has 100 * 101 / 2 sums, not 2^100.
  Traced t;
  NodeId e = t.input(strided({200}, {1}));
  for (int i = 0; i < 100; ++i) {
    const NodeId head = t.graph.view(e, slices({{false, false, true, 0, -1, 1}}));
    const NodeId tail = t.graph.view(e, slices({{false, true, false, 1, 0, 1}}));
    e = t.add(head, tail);
  }
  const Body body = t.lowered(e);
  EXPECT_EQ(body.leaves.size(), 101u);
  EXPECT_EQ(body.graph.size(), 101u + 100u * 101u / 2u);
}

TEST(Lower, ErrorNamesBothShapesTypesAndPlace) {
  Traced t;
  const NodeId a = t.input(strided({4, 3}, {3, 1})), b = t.input(strided({4, 5}, {5, 1}));
  const NodeId both[] = {a, b};
  t.graph.operation(Op::mul, DType::f32, both, {"model.cpp", 7});
  try {
    t.shapes();
    FAIL() << "3 and 5 do not broadcast";
  } catch (const ShapeError& error) {
    const std::string text = error.what();
    for (const char* part : {"mul", "(4, 3)", "(4, 5)", "f32", "model.cpp:7", "reshape"})
      EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }
}

TEST(Lower, UnusedLeavesAreDroppedAndNumberedByUse) {
  Body body;
  body.leaves.resize(3);
  for (int i = 0; i < 3; ++i) body.leaves[i].slot = i;
  const NodeId b = body.graph.load(2, DType::f32), a = body.graph.load(0, DType::f32);
  const NodeId both[] = {a, b};
  body.graph.outputs = {body.graph.operation(Op::sub, DType::f32, both)};
  const Body result = renumbered(body);
  ASSERT_EQ(result.leaves.size(), 2u);
  EXPECT_EQ(result.leaves[0].slot, 0);
  EXPECT_EQ(result.leaves[1].slot, 2);
}

}  // namespace
}  // namespace kiln::dsl
