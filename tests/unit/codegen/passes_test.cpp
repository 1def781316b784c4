// tests/unit/codegen/passes_test.cpp -- the whole operation table and every conversion through the pipeline.
#include "interpreter.h"

namespace kiln::codegen::testing {
namespace {

std::vector<DType> all_types() {
  std::vector<DType> types;
  for (int t = 0; t < dtype_count; ++t) types.push_back(static_cast<DType>(t));
  return types;
}

/// Every operand tuple of one operation with all operands of type `type` (a bool condition for where).
std::vector<DType> operands_of(Op op, DType type) {
  std::vector<DType> types(detail::op_info(op).arity, type);
  if (op == Op::where) types[0] = DType::b1;
  return types;
}

TEST(Pipeline, EveryOperationOfTheTableLegalisesForEveryAcceptedType) {
  int combinations = 0;
  for (int o = 0; o < op_count; ++o) {
    const Op op = static_cast<Op>(o);
    for (const DType type : all_types()) {
      const std::vector<DType> types = operands_of(op, type);
      if (!type_rule(op, types).error.empty()) continue;
      SCOPED_TRACE(std::string(detail::op_info(op).name) + " " + name_of(type));
      const Compiled compiled(op, types);  // verifies the grammar
      EXPECT_EQ(compiled.body()[compiled.body().outputs[0]].type, type_rule(op, types).result);
      ++combinations;
    }
  }
  EXPECT_GT(combinations, 700);
}

TEST(Pipeline, EveryMixOfTwoTypesLegalises) {
  for (const Op op : {Op::add, Op::lt, Op::eq, Op::pow, Op::true_divide, Op::maximum, Op::logical_and}) {
    for (const DType a : all_types()) {
      for (const DType b : all_types()) {
        const DType types[] = {a, b};
        if (type_rule(op, types).error.empty()) Compiled(op, {a, b});
      }
    }
  }
}

TEST(Pipeline, EveryConversionLegalises) {
  for (const DType from : all_types()) {
    for (const DType to : all_types()) {
      SCOPED_TRACE(std::string(name_of(from)) + " to " + name_of(to));
      const Compiled compiled({from}, [to](Graph& g, const std::vector<NodeId>& in) { return g.user_cast(in[0], to); });
      EXPECT_EQ(compiled.body()[compiled.body().outputs[0]].type, to);
    }
  }
}

TEST(Pipeline, LeavesItsInputAloneAndIsRepeatable) {
  Graph graph;
  Builder b(graph);
  graph.outputs = {b.op(Op::floor_divide, graph.load(0, DType::i32), graph.load(1, DType::i32))};
  const std::string before = to_text(graph);
  const Graph first = run_pipeline(graph, {});
  EXPECT_EQ(to_text(graph), before);
  EXPECT_EQ(to_text(first), to_text(run_pipeline(graph, {})));
  EXPECT_EQ(first.size(), canonical_order(first).size()) << "no dead nodes";
}

TEST(Pipeline, GuardsOfLiteralOperandsDisappear) {
  Graph graph;
  Builder b(graph);
  graph.outputs = {b.op(Op::remainder, graph.load(0, DType::u32), b.constant(DType::u32, 10))};
  EXPECT_EQ(to_text(run_pipeline(graph, {})),
            "%0 = u32 load 0\n%1 = u32 literal 0x0000000a (10)\n%2 = u32 mod %0, %1\nreturn %2\n");
}

TEST(Simplify, IntegerWideningStepsFuse) {
  const Compiled wide({DType::u8}, [](Graph& g, const std::vector<NodeId>& in) {
    return g.cast(g.cast(in[0], DType::i64), DType::f32);
  });
  EXPECT_EQ(to_text(wide.body()), "%0 = u8 load 0\n%1 = f32 cast %0\nreturn %1\n");
  const Compiled narrow({DType::i32}, [](Graph& g, const std::vector<NodeId>& in) {
    return g.cast(g.cast(in[0], DType::i8), DType::i32);
  });
  EXPECT_EQ(narrow.call<std::int32_t>(std::int32_t{0x1ff}), -1) << "a narrowing step is kept";
}

}  // namespace
}  // namespace kiln::codegen::testing
