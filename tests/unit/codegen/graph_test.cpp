// tests/unit/codegen/graph_test.cpp -- hash-consing, canonical order, printing, verification, size without recursion.
#include <bit>
#include <limits>

#include <gtest/gtest.h>

#include <kiln/error.h>

#include "codegen/ir/graph.h"
#include "codegen/pass/builder.h"
#include "codegen/pass/passes.h"

namespace kiln::codegen {
namespace {

Graph saxpy(bool parameter_first) {
  Graph graph;
  NodeId a = no_node, x = no_node;
  if (parameter_first) a = graph.parameter(0, DType::f32);
  x = graph.load(0, DType::f32);
  const NodeId y = graph.load(1, DType::f32);
  if (!parameter_first) a = graph.parameter(0, DType::f32);
  Builder b(graph);
  graph.outputs = {b.add(b.mul(a, x), y)};
  return graph;
}

TEST(Graph, EqualNodesHaveEqualIds) {
  Graph graph;
  Builder b(graph);
  const NodeId x = graph.load(0, DType::f32), y = graph.load(1, DType::f32);
  EXPECT_EQ(b.add(x, y), b.add(x, y));
  EXPECT_NE(b.add(x, y), b.add(y, x));
  EXPECT_NE(b.add(x, y), b.sub(x, y));
  EXPECT_NE(graph.load(0, DType::f32), graph.load(0, DType::f64));
  EXPECT_NE(graph.load(0, DType::f32), graph.parameter(0, DType::f32));
}

TEST(Graph, LiteralsAreComparedByBitsNotValues) {
  Graph graph;
  const NodeId plus = graph.literal_value(DType::f64, 0.0), minus = graph.literal_value(DType::f64, -0.0);
  EXPECT_NE(plus, minus);
  const NodeId nan1 = graph.literal(DType::f64, 0x7ff8000000000001ull),
               nan2 = graph.literal(DType::f64, 0x7ff8000000000002ull);
  EXPECT_NE(nan1, nan2);
  EXPECT_EQ(nan1, graph.literal(DType::f64, 0x7ff8000000000001ull));
  EXPECT_EQ(graph[nan1].payload, 0x7ff8000000000001ull);
  EXPECT_NE(graph.literal_value(DType::i8, 0), graph.literal_value(DType::u8, 0));
}

TEST(Graph, IntegerLiteralsThatDoNotFitAreDefects) {
  Graph graph;
  EXPECT_EQ(graph[graph.literal_value(DType::i8, -128)].payload, 0x80u);
  EXPECT_EQ(graph[graph.literal_value(DType::i64, -1)].payload, ~std::uint64_t{0});
  EXPECT_THROW(graph.literal_value(DType::i8, 128), InternalError);
  EXPECT_THROW(graph.literal_value(DType::u8, -1), InternalError);
  EXPECT_THROW(graph.literal_value(DType::i32, 0.5), InternalError);
  EXPECT_THROW(graph.literal(DType::u8, 256), InternalError);
}

TEST(Graph, EqualViewSpecsAreShared) {
  Graph graph;
  const NodeId x = graph.input(0, DType::f32);
  const ViewSpec flip{ViewSpec::Kind::flip, {0}, {}}, flip1{ViewSpec::Kind::flip, {1}, {}};
  EXPECT_EQ(graph.view(x, flip), graph.view(x, flip));
  EXPECT_NE(graph.view(x, flip), graph.view(x, flip1));
  graph.outputs = {graph.view(graph.view(x, flip1), flip)};
  const Graph copy = canonical(graph);
  EXPECT_EQ(copy.view_spec(copy[copy.outputs[0]]), flip);
  EXPECT_EQ(to_text(copy), "%0 = f32 input 0\n%1 = f32 view flip(1) %0\n%2 = f32 view flip(0) %1\nreturn %2\n");
}

TEST(Graph, TheFirstLocationOfANodeIsKept) {
  Graph graph;
  const NodeId x = graph.load(0, DType::f32);
  const NodeId operands[] = {x};
  const NodeId first = graph.operation(Op::exp, DType::f32, operands, {"a.cpp", 3});
  EXPECT_EQ(graph.operation(Op::exp, DType::f32, operands, {"b.cpp", 9}), first);
  EXPECT_STREQ(graph.location(first).file, "a.cpp");
  graph.outputs = {first};
  const Graph copy = canonical(graph);
  EXPECT_EQ(copy.location(copy.outputs[0]).line, 3u);
}

TEST(CanonicalOrder, DoesNotDependOnCreationOrder) {
  EXPECT_EQ(to_text(saxpy(true)), to_text(saxpy(false)));
  EXPECT_EQ(
      to_text(saxpy(true)),
      "%0 = f32 parameter 0\n%1 = f32 load 0\n%2 = f32 mul %0, %1\n%3 = f32 load 1\n%4 = f32 add %2, %3\nreturn %4\n");
}

TEST(CanonicalOrder, DropsWhatNoOutputNeedsAndKeepsOutputOrder) {
  Graph graph;
  Builder b(graph);
  const NodeId x = graph.load(0, DType::f32);
  b.op(Op::exp, x);
  const NodeId y = b.neg(x);
  graph.outputs = {y, x, y};
  const Graph result = canonical(graph);
  EXPECT_EQ(result.size(), 2u);
  EXPECT_EQ(result.outputs, (std::vector<NodeId>{1, 0, 1}));
}

TEST(Print, LiteralsShowTypeBitsAndValue) {
  Graph graph;
  Builder b(graph);
  graph.outputs = {graph.literal_value(DType::f32, -0.0), graph.literal_value(DType::i8, -1), b.truth(true),
                   graph.literal_value(DType::f16, 1.0)};
  EXPECT_EQ(to_text(graph),
            "%0 = f32 literal 0x80000000 (-0)\n%1 = i8 literal 0xff (-1)\n%2 = b1 literal 0x01 (true)\n"
            "%3 = f16 literal 0x3c00 (1)\nreturn %0, %1, %2, %3\n");
}

TEST(Print, DotNamesEveryNodeAndEdge) {
  const std::string dot = to_dot(saxpy(true));
  EXPECT_NE(dot.find("n2 [label=\"%2 f32\\nmul\"]"), std::string::npos) << dot;
  EXPECT_NE(dot.find("n0 -> n2 [label=\"0\"]"), std::string::npos) << dot;
  EXPECT_NE(dot.find("n4 -> out0"), std::string::npos) << dot;
  EXPECT_EQ(dot.rfind("}\n"), dot.size() - 2);
}

TEST(Size, AChainOfAHundredThousandNodesPassesThroughEverything) {
  Graph graph;
  Builder b(graph);
  NodeId x = graph.load(0, DType::f32);
  const NodeId one = graph.load(1, DType::f32);
  for (int i = 0; i < 100000; ++i) x = b.add(x, one);
  graph.outputs = {x};
  verify(graph, true);
  const Graph result = run_pipeline(graph, {});
  EXPECT_EQ(result.size(), 100002u);
  EXPECT_GT(to_text(result).size(), 100000u);
  EXPECT_GT(to_dot(result).size(), 100000u);
}

TEST(Size, ADagOfTwoToTheSixtyPathsIsLinear) {
  Graph graph;
  Builder b(graph);
  NodeId x = graph.load(0, DType::f64);
  for (int i = 0; i < 60; ++i) x = b.add(x, x);
  graph.outputs = {x};
  EXPECT_EQ(canonical_order(graph).size(), 61u);
  EXPECT_EQ(run_pipeline(graph, {}).size(), 61u);
}

/// The message of the InternalError that verify() throws.
std::string verify_message(const Graph& graph, bool kernel_body) {
  try {
    verify(graph, kernel_body);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

Node operation_node(Op op, DType type, std::initializer_list<NodeId> operands) {
  Node node;
  node.kind = NodeKind::operation;
  node.op = op;
  node.type = type;
  for (const NodeId operand : operands) node.operands[node.arity++] = operand;
  return node;
}

TEST(Verify, NamesTheNodeAndTheBrokenTypeRule) {
  Graph graph;
  const NodeId x = graph.load(0, DType::f32), n = graph.load(1, DType::i32);
  graph.add(operation_node(Op::add, DType::f32, {x, n}));
  const std::string message = verify_message(graph, true);
  EXPECT_NE(message.find("%2"), std::string::npos) << message;
  EXPECT_NE(message.find("asks for f64"), std::string::npos) << message;
}

TEST(Verify, ChecksResultTypesAndArity) {
  Graph wrong_type;
  const NodeId x = wrong_type.load(0, DType::f32);
  wrong_type.add(operation_node(Op::lt, DType::f32, {x, x}));
  EXPECT_NE(verify_message(wrong_type, true).find("gives b1"), std::string::npos);
  Graph wrong_arity;
  const NodeId y = wrong_arity.load(0, DType::f32);
  wrong_arity.add(operation_node(Op::add, DType::f32, {y}));
  EXPECT_NE(verify_message(wrong_arity, true).find("1 operands"), std::string::npos);
}

TEST(Verify, SeparatesTracedGraphsFromKernelBodies) {
  Graph traced;
  traced.input(0, DType::f32);
  EXPECT_EQ(verify_message(traced, false), "");
  EXPECT_NE(verify_message(traced, true).find("not allowed in a kernel body"), std::string::npos);
  Graph body;
  body.load(0, DType::f32);
  EXPECT_EQ(verify_message(body, true), "");
  EXPECT_NE(verify_message(body, false).find("kernel body only"), std::string::npos);
}

TEST(Verify, ChecksPrimitives) {
  Graph graph;
  const NodeId x = graph.load(0, DType::f32);
  graph.primitive(NodeKind::bitcast, DType::u64, {x});
  EXPECT_NE(verify_message(graph, true).find("keep the size"), std::string::npos);
  Graph random;
  const NodeId counter = random.load(0, DType::i64);
  random.primitive(NodeKind::random, DType::f32, {counter, counter});
  EXPECT_NE(verify_message(random, true).find("u64 counter"), std::string::npos);
  Graph dangling;
  dangling.outputs = {7};
  EXPECT_NE(verify_message(dangling, true).find("output 0 is %7"), std::string::npos);
}

TEST(Verify, ExactMixedComparisonsKeepTheirOperandTypes) {
  Graph graph;
  const NodeId s = graph.load(0, DType::i64), u = graph.load(1, DType::u64);
  graph.add(operation_node(Op::lt, DType::b1, {s, u}));
  EXPECT_EQ(verify_message(graph, true), "");
}

}  // namespace
}  // namespace kiln::codegen
