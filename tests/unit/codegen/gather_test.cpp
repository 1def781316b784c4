// tests/unit/codegen/gather_test.cpp -- elements by index in graphs: type rules, passes that must leave them alone,
// along which axes their values change, and when blocks keep sums of their own.
#include <gtest/gtest.h>

#include <kiln/error.h>

#include "codegen/ir/stages.h"
#include "codegen/pass/passes.h"
#include "codegen/schedule/scatter.h"
#include "codegen/schedule/schedule.h"

namespace kiln::codegen {
namespace {

NodeId number(Graph& graph, double value) { return graph.literal_value(DType::i64, value); }

/// A gather of memory `access` by load 0 (an index) and iota 1.
NodeId gather(Graph& graph, DType type, std::uint64_t access) {
  const NodeId index = graph.load(0, DType::i64);
  return graph.primitive(NodeKind::gather, type, {index, graph.iota(1), number(graph, 100)}, access);
}

TEST(Gather, GrammarOfBodiesAndTraces) {
  Graph body;
  body.outputs = {gather(body, DType::f32, 2)};
  EXPECT_NO_THROW(verify(body, true));
  EXPECT_THROW(verify(body, false), InternalError) << "traces take, bodies gather";
  Graph narrow;
  const NodeId index = narrow.load(0, DType::i32);
  narrow.outputs = {narrow.primitive(NodeKind::gather, DType::f32, {index, index, index}, 1)};
  EXPECT_THROW(verify(narrow, true), InternalError) << "places are i64";

  Graph trace;
  const NodeId x = trace.input(0, DType::f16), i = trace.input(1, DType::u8);
  TakeSpec spec;
  spec.axis = 3;
  spec.along = true;
  spec.mode = TakeSpec::wrap;
  trace.outputs = {trace.primitive(NodeKind::take, DType::f16, {x, i}, spec.payload())};
  EXPECT_NO_THROW(verify(trace, false));
  EXPECT_EQ(to_text(trace), "%0 = f16 input 0\n%1 = u8 input 1\n%2 = f16 take along axis 3 wrap %0, %1\nreturn %2\n");
  trace.outputs = {trace.primitive(NodeKind::take, DType::f16, {x, x}, 0)};
  EXPECT_THROW(verify(trace, false), InternalError) << "indices are integers";
}

TEST(Gather, HalvesAndComplexNumbersComeFromMemoryAsLoadsDo) {
  Graph copied;
  copied.outputs = {gather(copied, DType::bf16, 2)};
  const Graph as_is = run_pipeline(copied, {});
  EXPECT_EQ(as_is[as_is.outputs[0]].kind, NodeKind::gather) << "a copy keeps every bit: nothing is converted";

  Graph doubled;
  const NodeId value = gather(doubled, DType::bf16, 2);
  doubled.outputs = {doubled.operation(Op::add, DType::bf16, std::array{value, value})};
  EXPECT_NO_THROW(verify_legal(run_pipeline(doubled, {})));

  Graph conjugated;
  conjugated.outputs = {conjugated.operation(Op::conj, DType::c64, std::array{gather(conjugated, DType::c64, 2)})};
  const Graph legal = run_pipeline(conjugated, {});
  EXPECT_NO_THROW(verify_legal(legal));
  std::size_t gathers = 0;
  for (const Node& node : legal.nodes()) gathers += node.kind == NodeKind::gather ? 1 : 0;
  EXPECT_EQ(gathers, 1u) << "both parts come from one element";
}

Access access_of(DType type, std::initializer_list<AxisClass> axes) {
  Access access;
  access.type = type;
  access.axes = axes;
  return access;
}

TEST(Gather, ChangesWhereItsIndexOrItsPlaceDoes) {
  constexpr AxisClass c = AxisClass::contiguous, b = AxisClass::broadcast, s = AxisClass::strided;
  Kernel kernel;
  kernel.rank = 3;
  kernel.accesses = {access_of(DType::i64, {s, b, b}), access_of(DType::i64, {b, b, c}),
                     access_of(DType::f32, {b, b, b})};
  kernel.body.outputs = {gather(kernel.body, DType::f32, 2)};
  const NodeId value = kernel.body.outputs[0];
  EXPECT_TRUE(changes_along(kernel, 0)[value]);
  EXPECT_FALSE(changes_along(kernel, 1)[value]);
  EXPECT_TRUE(changes_along(kernel, 2)[value]);
  EXPECT_FALSE(changes_along(kernel, 2)[kernel.body[value].operands[gather_displacement]]);
}

/// value joins counts[place of load 0].
Kernel scatter(DType type, bool uniform) {
  Kernel kernel;
  kernel.rank = 1;
  kernel.accesses = {access_of(DType::i64, {AxisClass::contiguous}), access_of(type, {AxisClass::contiguous}),
                     access_of(type, {AxisClass::broadcast}), access_of(DType::i64, {AxisClass::broadcast})};
  kernel.accesses[2].store = kernel.accesses[3].store = kernel.accesses[3].places = true;
  kernel.accesses[2].scatter = Scatter::add;
  kernel.parameters = {type};
  const NodeId value = uniform ? kernel.body.parameter(0, type) : kernel.body.load(1, type);
  kernel.body.outputs = {value, kernel.body.load(0, DType::i64)};
  return kernel;
}

TEST(Scatter, BlocksKeepSumsOfTheirOwnForFewBins) {
  const Kernel counting = scatter(DType::i64, true), adding = scatter(DType::i64, false);
  EXPECT_TRUE(counts_hits(counting));
  EXPECT_EQ(bin_bytes(counting), 4) << "hits are counted in 32 bits, whatever is counted";
  EXPECT_FALSE(counts_hits(adding));
  EXPECT_EQ(bin_bytes(adding), 8);
  EXPECT_FALSE(counts_hits(scatter(DType::f32, true))) << "a product of floats is not their sum";
  constexpr std::int64_t many = 1 << 20;
  EXPECT_TRUE(wants_bins(counting, many, 256));
  EXPECT_TRUE(wants_bins(counting, many, most_bin_bytes / 4));
  EXPECT_FALSE(wants_bins(counting, many, most_bin_bytes / 4 + 1)) << "more than the shared memory of a block";
  EXPECT_FALSE(wants_bins(counting, 1000, 256)) << "clearing and joining would cost more";
  EXPECT_GE(bin_capacity(counting, 256), 8 * 256) << "room for a copy of each warp";
  EXPECT_EQ(bin_capacity(counting, most_bin_bytes / 4), most_bin_bytes / 4);
}

}  // namespace
}  // namespace kiln::codegen
