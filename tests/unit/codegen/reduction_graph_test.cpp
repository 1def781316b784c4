// tests/unit/codegen/reduction_graph_test.cpp -- printing, canonical form and type rules of reductions and scans.
#include <memory>

#include <kiln/error.h>

#include "tests/unit/codegen/reduction_interpreter.h"

namespace kiln::codegen::testing {
namespace {

ReductionSpec product_spec(DType type = DType::f32) {
  return combination(
      {type}, [](Graph& c, const std::vector<NodeId>& x) { return std::vector{record(c, Op::mul, {x[0], x[1]})}; });
}

TEST(Graph, EqualReductionsHaveEqualIds) {
  Graph graph;
  const NodeId x = graph.input(0, DType::f32);
  ReductionSpec rows = reduction(Reduction::sum), kept = rows;
  rows.axes = kept.axes = 2;
  kept.keepdims = true;
  EXPECT_EQ(graph.reduce(rows, DType::f32, {x}), graph.reduce(rows, DType::f32, {x}));
  EXPECT_NE(graph.reduce(rows, DType::f32, {x}), graph.reduce(kept, DType::f32, {x}));
  EXPECT_NE(graph.reduce(rows, DType::f32, {x}), graph.scan(rows, DType::f32, {x}));
  EXPECT_NE(graph.extent(x, DType::f32, rows), graph.extent(x, DType::f64, rows));
}

TEST(Print, ReductionsShowKindAxesAndCombiner) {
  Graph graph;
  const NodeId x = graph.input(0, DType::f32);
  ReductionSpec spec = reduction(Reduction::sum), join = product_spec(), less = spec;
  spec.axes = 5;
  spec.keepdims = true;
  less.axes = join.axes = 1;
  less.subtract = 1;
  const NodeId one = graph.literal_value(DType::f32, 1);
  graph.outputs = {graph.reduce(spec, DType::f32, {x}), graph.extent(x, DType::f32, less),
                   graph.scan(join, DType::f32, {x, one})};
  EXPECT_EQ(to_text(graph),
            "%0 = f32 input 0\n%1 = f32 reduce sum axis 0 axis 2 keepdims %0\n%2 = f32 extent sum axis 0 less 1 %0\n"
            "%3 = f32 literal 0x3f800000 (1)\n%4 = f32 scan combine axis 0 {\n%0 = f32 input 0\n%1 = f32 input 1\n"
            "%2 = f32 mul %0, %1\nreturn %2\n} %0, %3\nreturn %1, %2, %4\n");
  const std::string dot = to_dot(graph);
  EXPECT_NE(dot.find("n1 [label=\"%1 f32\\nreduce sum axis 0 axis 2 keepdims\"]"), std::string::npos) << dot;
  EXPECT_NE(dot.find("scan combine axis 0 {\\l%0 = f32 input 0\\l"), std::string::npos) << dot;
  EXPECT_NE(dot.find("n3 -> n4 [label=\"1\"]"), std::string::npos) << dot;
}

TEST(CanonicalOrder, SpecificationsMoveWithTheirNodes) {
  Graph graph;
  const NodeId x = graph.load(0, DType::f32), one = graph.literal_value(DType::f32, 1);
  graph.reduce(reduction(Reduction::max), DType::f32, {x});  // dead: specification 0
  graph.outputs = {graph.reduce(product_spec(), DType::f32, {x, one})};
  const Graph copy = canonical(graph);
  ASSERT_EQ(copy.size(), 3u);
  EXPECT_EQ(copy[copy.outputs[0]].payload, 0u);
  EXPECT_EQ(copy.reduction(copy[copy.outputs[0]]), product_spec());
  EXPECT_EQ(to_text(copy), to_text(graph));
}

/// What verify() says about a graph, without the words around it.
std::string problem(const Graph& graph, bool kernel_body = true) {
  try {
    verify(graph, kernel_body);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

void expect_problem(const Graph& graph, const char* words, bool kernel_body = true) {
  const std::string text = problem(graph, kernel_body);
  EXPECT_NE(text.find(words), std::string::npos) << words << " expected, got: " << text;
}

/// A graph with loads of f32, i64, b1, c64 and f16.
struct Loads {
  Graph graph;
  NodeId f = graph.load(0, DType::f32), i = graph.load(1, DType::i64), b = graph.load(2, DType::b1);
  NodeId z = graph.load(3, DType::c64), h = graph.load(4, DType::f16);
  void reduce(Reduction kind, DType type, std::initializer_list<NodeId> operands) {
    graph.reduce(reduction(kind), type, operands);
  }
};

TEST(Verify, AcceptsEveryKind) {
  Loads g;
  for (const Reduction kind : {Reduction::sum, Reduction::prod}) {
    g.reduce(kind, DType::c64, {g.z});
    g.reduce(kind, DType::f16, {g.h});
  }
  for (const Reduction kind : {Reduction::max, Reduction::min}) g.reduce(kind, DType::i64, {g.i});
  for (const Reduction kind : {Reduction::any, Reduction::all}) g.reduce(kind, DType::b1, {g.b});
  for (const Reduction kind : {Reduction::argmax, Reduction::argmin}) g.reduce(kind, DType::i64, {g.f, g.i});
  g.reduce(Reduction::logsumexp, DType::f32, {g.f});
  g.reduce(Reduction::squared_deviations, DType::f16, {g.h, g.f});
  g.graph.reduce(product_spec(), DType::f32, {g.f, g.f});
  g.graph.scan(reduction(Reduction::max), DType::i64, {g.i});
  EXPECT_EQ(problem(g.graph), "");
}

TEST(Verify, TypeRulesOfReductions) {
  const auto check = [](Reduction kind, DType type, const std::function<NodeId(Loads&)>& operand, const char* words) {
    Loads g;
    g.reduce(kind, type, {operand(g)});
    expect_problem(g.graph, words);
  };
  const auto f = [](Loads& g) { return g.f; };
  const auto z = [](Loads& g) { return g.z; };
  check(Reduction::sum, DType::f64, f, "another type than its operand");
  check(Reduction::max, DType::c64, z, "no order");
  check(Reduction::any, DType::f32, f, "truth values");
  check(Reduction::logsumexp, DType::c64, z, "floating");
  check(Reduction::combine, DType::f32, f, "no combiner");
  check(Reduction::argmax, DType::i64, f, "has 1 operands, its reduction takes 2");
  Loads positions;
  positions.reduce(Reduction::argmin, DType::i64, {positions.i, positions.f});
  expect_problem(positions.graph, "positions are i64");
  Loads count;
  count.reduce(Reduction::squared_deviations, DType::f32, {count.f, count.i});
  expect_problem(count.graph, "counts elements in i64");
  Loads running;
  running.graph.scan(reduction(Reduction::logsumexp), DType::f32, {running.f});
  expect_problem(running.graph, "no running reductions");
}

TEST(Verify, BodiesNameNoAxesAndTracedScansOne) {
  ReductionSpec spec = reduction(Reduction::sum);
  Graph traced;
  const NodeId x = traced.input(0, DType::f32);
  traced.scan(spec, DType::f32, {x});
  expect_problem(traced, "does not run along one axis", false);
  spec.axes = 1;
  Graph body;
  body.reduce(spec, DType::f32, {body.load(0, DType::f32)});
  expect_problem(body, "names axes");
  Graph extent;
  extent.extent(extent.load(0, DType::f32), DType::f32, spec);
  expect_problem(extent, "not allowed in a kernel body");
}

TEST(Verify, TuplesAreForReductionsOnly) {
  Loads used;
  const NodeId tuple = used.graph.primitive(NodeKind::tuple, DType::f32, {used.f, used.i});
  EXPECT_EQ(problem(used.graph), "");
  used.graph.primitive(NodeKind::cast, DType::f64, {tuple});
  expect_problem(used.graph, "takes a tuple");
  Loads output;
  output.graph.outputs = {output.graph.primitive(NodeKind::tuple, DType::f32, {output.f, output.i})};
  expect_problem(output.graph, "is a tuple");
  Loads mistyped;
  mistyped.graph.primitive(NodeKind::tuple, DType::i64, {mistyped.f, mistyped.i});
  expect_problem(mistyped.graph, "type of its first component");
  Loads no_tuple;
  no_tuple.graph.primitive(NodeKind::element, DType::f32, {no_tuple.f}, 0);
  expect_problem(no_tuple.graph, "no reduction of tuples");
}

TEST(Verify, CombinersFitTheirStates) {
  const auto with = [](const ReductionSpec& spec, const std::function<void(Loads&, NodeId)>& use) {
    Loads g;
    const NodeId state = g.graph.primitive(NodeKind::tuple, DType::f32, {g.f, g.i});
    use(g, g.graph.reduce(spec, DType::f32, {state, state}));
    return g.graph;
  };
  const ReductionSpec good = combination({DType::f32, DType::i64},
                                         [](Graph&, const std::vector<NodeId>& x) { return std::vector{x[0], x[3]}; });
  const auto nothing = [](Loads&, NodeId) {};
  EXPECT_EQ(problem(with(good,
                         [](Loads& g, NodeId joined) {
                           g.graph.outputs = {g.graph.primitive(NodeKind::element, DType::i64, {joined}, 1)};
                         })),
            "");
  const auto element = [&](DType type, std::uint64_t number) {
    return with(good, [=](Loads& g, NodeId joined) { g.graph.primitive(NodeKind::element, type, {joined}, number); });
  };
  expect_problem(element(DType::f32, 1), "type of its component");
  expect_problem(element(DType::f32, 2), "names component 2 of 2");
  expect_problem(with(good, [](Loads& g, NodeId joined) { g.graph.primitive(NodeKind::cast, DType::f64, {joined}); }),
                 "whole joined tuple");
  expect_problem(with(product_spec(), nothing), "joins 1 components");
  ReductionSpec swapped = combination({DType::f32, DType::i64},
                                      [](Graph&, const std::vector<NodeId>& x) { return std::vector{x[1], x[0]}; });
  expect_problem(with(swapped, nothing), "joined to another type");
  ReductionSpec mistyped = combination({DType::f32, DType::i32},
                                       [](Graph&, const std::vector<NodeId>& x) { return std::vector{x[0], x[1]}; });
  expect_problem(with(mistyped, nothing), "another type than its component");
}

TEST(Verify, CombinersHaveInputsAndLiteralsOnly) {
  Loads g;
  Graph combiner;
  const NodeId x = combiner.input(0, DType::f32);
  combiner.outputs = {record(combiner, Op::add, {x, combiner.parameter(0, DType::f32)})};
  ReductionSpec spec = reduction(Reduction::combine);
  spec.combiner = std::make_shared<const Graph>(std::move(combiner));
  g.graph.reduce(spec, DType::f32, {g.f, g.f});
  expect_problem(g.graph, "not allowed in a combiner");
}

TEST(VerifyLegal, NoReductionIsLeftToLower) {
  const auto legal_problem = [](const Graph& graph) -> std::string {
    try {
      verify_legal(graph);
    } catch (const InternalError& error) {
      return error.what();
    }
    return "";
  };
  Loads unlowered;
  unlowered.reduce(Reduction::logsumexp, DType::f32, {unlowered.f});
  EXPECT_NE(legal_problem(unlowered.graph).find("must have been lowered"), std::string::npos);
  Graph narrow;
  narrow.reduce(reduction(Reduction::sum), DType::i8, {narrow.load(0, DType::i8)});
  EXPECT_NE(legal_problem(narrow).find("must have been lowered"), std::string::npos);
  Graph composite;
  const NodeId x = composite.load(0, DType::i32);
  const ReductionSpec spec = combination({DType::i32}, [](Graph& c, const std::vector<NodeId>& y) {
    return std::vector{record(c, Op::floor_divide, {y[0], y[1]})};
  });
  composite.reduce(spec, DType::i32, {x, x});
  EXPECT_NE(legal_problem(composite).find("in its combiner"), std::string::npos);
  Graph both;
  const NodeId y = both.load(0, DType::f32);
  both.reduce(reduction(Reduction::sum), DType::f32, {y});
  EXPECT_EQ(legal_problem(both), "");
  both.scan(reduction(Reduction::sum), DType::f32, {y});
  EXPECT_NE(legal_problem(both).find("one kernel"), std::string::npos);
}

}  // namespace
}  // namespace kiln::codegen::testing
