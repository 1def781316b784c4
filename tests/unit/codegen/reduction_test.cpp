// tests/unit/codegen/reduction_test.cpp -- monoids of reductions, levels and passes of kernels, their identity as text.
#include <cmath>
#include <limits>

#include "codegen/ir/kernel.h"
#include "codegen/ir/stages.h"
#include "tests/unit/codegen/reduction_interpreter.h"

namespace kiln::codegen::testing {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

NodeId only_joining(const Graph& body) {
  NodeId found = no_node;
  for (NodeId id = 0; id < body.size(); ++id) {
    if (!joins_elements(body[id].kind)) continue;
    EXPECT_EQ(found, no_node) << "one reduction expected";
    found = id;
  }
  return found;
}

Monoid lowered_monoid(Reduction kind, DType type) {
  Graph graph;
  const NodeId x = graph.load(0, type);
  const bool positions = kind == Reduction::argmax || kind == Reduction::argmin;
  if (positions) {
    graph.outputs = {graph.reduce(reduction(kind), DType::i64, {x, graph.iota(1)})};
  } else if (kind == Reduction::squared_deviations) {
    graph.outputs = {graph.reduce(reduction(kind), type, {x, graph.literal_value(type, 1)})};
  } else {
    graph.outputs = {graph.reduce(reduction(kind), type, {x})};
  }
  const Graph body = run_pipeline(graph, {});
  return monoid_of(body, only_joining(body));
}

std::vector<Value> identity_of(const Monoid& monoid) {
  std::vector<Value> identity;
  for (const StateComponent& component : monoid.components) {
    EXPECT_EQ(component.identity, no_node) << "lowered identities are literals";
    identity.push_back({component.type, component.identity_bits, 0});
  }
  return identity;
}

/// Joined with the identity on either side, a state keeps every bit (any NaN stays some NaN).
void check_neutral(const Monoid& monoid, const std::vector<Value>& state) {
  const std::vector<Value> identity = identity_of(monoid);
  for (const bool on_the_left : {false, true}) {
    std::vector<Value> inputs = on_the_left ? identity : state;
    const std::vector<Value>& right = on_the_left ? state : identity;
    inputs.insert(inputs.end(), right.begin(), right.end());
    const std::vector<Value> joined = interpret(monoid.combine, inputs);
    ASSERT_EQ(joined.size(), state.size());
    for (std::size_t c = 0; c < joined.size(); ++c) {
      ASSERT_EQ(joined[c].type, state[c].type);
      if (state[c].type == DType::f64) {
        EXPECT_TRUE(same(from_value<double>(joined[c]), from_value<double>(state[c]))) << c;
      } else {
        EXPECT_EQ(joined[c].bits, state[c].bits) << c;
      }
    }
  }
}

TEST(Monoid, IdentitiesOfPlainKindsAreNeutralToTheBit) {
  for (const Reduction kind : {Reduction::sum, Reduction::prod, Reduction::max, Reduction::min}) {
    SCOPED_TRACE(static_cast<int>(kind));
    for (const double x : {0.0, -0.0, 1.5, -inf, inf, std::nan(""), 5e-324, 1.7e308})
      check_neutral(lowered_monoid(kind, DType::f64), {to_value(x)});
    for (const std::int64_t x : {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()})
      check_neutral(lowered_monoid(kind, DType::i64), {to_value(x)});
  }
  for (const Reduction kind : {Reduction::max, Reduction::min}) {
    for (const std::int8_t x : {std::int8_t{-128}, std::int8_t{127}})
      check_neutral(lowered_monoid(kind, DType::i8), {to_value(x)});
    for (const std::uint16_t x : {std::uint16_t{0}, std::uint16_t{65535}})
      check_neutral(lowered_monoid(kind, DType::u16), {to_value(x)});
  }
  for (const Reduction kind : {Reduction::any, Reduction::all})
    for (const bool x : {false, true}) check_neutral(lowered_monoid(kind, DType::b1), {to_value(x)});
}

TEST(Monoid, IdentitiesOfStatesAreNeutralToTheBit) {
  for (const double x : {0.0, 3.5, -1e300, inf, -inf, std::nan("")}) {
    check_neutral(lowered_monoid(Reduction::argmax, DType::f64), {to_value(x), to_value(std::int64_t{7})});
    check_neutral(lowered_monoid(Reduction::argmin, DType::f64), {to_value(x), to_value(std::int64_t{0})});
    const double sum = std::isnan(x) ? x : 1.25;
    check_neutral(lowered_monoid(Reduction::logsumexp, DType::f64), {to_value(x), to_value(sum)});
  }
  for (const double mean : {0.0, -2.5, 1e200})
    check_neutral(lowered_monoid(Reduction::squared_deviations, DType::f64),
                  {to_value(9.0), to_value(mean), to_value(0.125)});
}

// A user's identity may be any value of the row; the monoid then names its node.
TEST(Monoid, NamesNodesOfValuesAndIdentities) {
  Graph graph;
  const ReductionSpec spec = combination({DType::f32, DType::i32}, [](Graph& g, const std::vector<NodeId>& x) {
    Builder b(g);
    return std::vector{b.add(x[0], x[2]), b.op(Op::maximum, x[1], x[3])};
  });
  const NodeId x = graph.load(0, DType::f32), n = graph.load(1, DType::i32), start = graph.parameter(0, DType::f32);
  const NodeId state = graph.primitive(NodeKind::tuple, DType::f32, {x, n});
  const NodeId identity = graph.primitive(NodeKind::tuple, DType::f32, {start, graph.literal_value(DType::i32, -9)});
  const NodeId joined = graph.reduce(spec, DType::f32, {state, identity});
  const Monoid monoid = monoid_of(graph, joined);
  ASSERT_EQ(monoid.components.size(), 2u);
  EXPECT_EQ(monoid.components[0].value, x);
  EXPECT_EQ(monoid.components[0].identity, start);
  EXPECT_EQ(monoid.components[1].value, n);
  EXPECT_EQ(monoid.components[1].type, DType::i32);
  EXPECT_EQ(monoid.components[1].identity, no_node);
  EXPECT_EQ(monoid.components[1].identity_bits, 0xfffffff7u);
  EXPECT_EQ(to_text(monoid.combine), to_text(*spec.combiner));
}

Access access(std::vector<AxisClass> axes, bool store = false) {
  Access result;
  result.axes = std::move(axes);
  result.store = store;
  return result;
}

/// exp(x - max(x)) / sum(exp(x - max(x))) * weight of the row, and the sum: a chain of two reductions.
Kernel softmax() {
  constexpr AxisClass c = AxisClass::contiguous, s = AxisClass::strided, none = AxisClass::broadcast;
  Kernel kernel;
  kernel.rank = 2;
  kernel.reduced = 1;
  kernel.accesses = {access({s, c}), access({c, none}), access({s, c}, true), access({c, none}, true)};
  Builder b(kernel.body);
  const NodeId x = kernel.body.load(0, DType::f32), weight = kernel.body.load(1, DType::f32);
  const NodeId largest = kernel.body.reduce(reduction(Reduction::max), DType::f32, {x});
  const NodeId exponential = b.op(Op::exp, b.sub(x, largest));
  const NodeId sum = kernel.body.reduce(reduction(Reduction::sum), DType::f32, {exponential});
  kernel.body.outputs = {b.mul(b.div(exponential, sum), weight), sum};
  return kernel;
}

TEST(Stages, LevelsAndPassesOfAChain) {
  const Kernel kernel = softmax();
  const Stages stages = stages_of(kernel);
  ASSERT_EQ(stages.passes.size(), 2u);
  ASSERT_EQ(stages.passes[0].size(), 1u);
  ASSERT_EQ(stages.passes[1].size(), 1u);
  const NodeId largest = stages.passes[0][0], sum = stages.passes[1][0];
  EXPECT_EQ(kernel.body.reduction(kernel.body[largest]).kind, Reduction::max);
  EXPECT_EQ(kernel.body.outputs[1], sum);
  EXPECT_FALSE(stages.per_element[largest]);
  EXPECT_FALSE(stages.per_element[sum]);
  EXPECT_TRUE(stages.per_element[kernel.body[sum].operands[0]]);
  EXPECT_EQ(stages.depth[kernel.body[sum].operands[0]], 1);
  EXPECT_EQ(stages.depth[sum], 2);
  EXPECT_EQ(stages.depth[kernel.body.outputs[0]], 2);
  EXPECT_TRUE(stages.per_element[kernel.body.outputs[0]]);
  EXPECT_TRUE(stages.has_element_outputs);
  EXPECT_TRUE(stages.scans.empty());
}

TEST(Stages, ScansAreValuesOfElements) {
  Kernel kernel = softmax();
  kernel.body = {};
  const NodeId weight = kernel.body.load(1, DType::f32);
  const NodeId running = kernel.body.scan(reduction(Reduction::sum), DType::f32, {weight});
  kernel.body.outputs = {running};
  kernel.accesses = {access({AxisClass::strided, AxisClass::contiguous}, false),
                     access({AxisClass::contiguous, AxisClass::broadcast}),
                     access({AxisClass::contiguous, AxisClass::broadcast}, true)};
  const Stages stages = stages_of(kernel);
  EXPECT_EQ(stages.scans, std::vector<NodeId>{running});
  EXPECT_FALSE(stages.per_element[weight]);
  EXPECT_TRUE(stages.per_element[running]) << "it counts the elements before, even of equal values";
  EXPECT_TRUE(stages.passes.empty());
  EXPECT_FALSE(stages.has_element_outputs);
}

/// A kernel that joins by `build`.
Kernel combining(const std::function<std::vector<NodeId>(Graph&, const std::vector<NodeId>&)>& build) {
  Kernel kernel = softmax();
  const ReductionSpec spec = combination({DType::f32}, build);
  const NodeId zero = kernel.body.literal_value(DType::f32, 0);
  kernel.body.outputs[1] = kernel.body.reduce(spec, DType::f32, {kernel.body.load(0, DType::f32), zero});
  return kernel;
}

TEST(KernelKey, HoldsCombinersAndTheNumberOfReducedAxes) {
  const auto product = [](Graph& g, const std::vector<NodeId>& x) { return std::vector{Builder(g).mul(x[0], x[1])}; };
  const auto same_product = [](Graph& g, const std::vector<NodeId>& x) {
    Builder b(g);
    b.add(x[1], x[0]);  // dead
    return std::vector{b.mul(x[0], x[1])};
  };
  const auto sum = [](Graph& g, const std::vector<NodeId>& x) { return std::vector{Builder(g).add(x[0], x[1])}; };
  EXPECT_EQ(kernel_key(combining(product)), kernel_key(combining(same_product)));
  EXPECT_NE(kernel_key(combining(product)), kernel_key(combining(sum)));
  Kernel two = softmax();
  two.reduced = 2;
  EXPECT_NE(kernel_key(two), kernel_key(softmax()));
  Kernel another_kind = softmax();
  const NodeId x = another_kind.body.load(0, DType::f32);
  another_kind.body.outputs[1] = another_kind.body.reduce(reduction(Reduction::prod), DType::f32, {x});
  EXPECT_NE(kernel_key(another_kind), kernel_key(softmax()));
}

TEST(ArgumentLayout, KernelsWithReducedAxesHaveScratchMemoryAndDivisors) {
  Kernel kernel = softmax();
  const auto count = [&](ArgumentKind kind) {
    const ArgumentLayout layout = argument_layout(kernel);
    return std::count_if(layout.arguments.begin(), layout.arguments.end(),
                         [&](const Argument& argument) { return argument.kind == kind; });
  };
  EXPECT_EQ(count(ArgumentKind::workspace), 1);
  EXPECT_EQ(count(ArgumentKind::counters), 1);
  EXPECT_EQ(count(ArgumentKind::divisor), 1) << "rank 2 divides by the inner extent";
  kernel.reduced = 0;
  EXPECT_EQ(count(ArgumentKind::workspace) + count(ArgumentKind::counters) + count(ArgumentKind::divisor), 0);
}

}  // namespace
}  // namespace kiln::codegen::testing
