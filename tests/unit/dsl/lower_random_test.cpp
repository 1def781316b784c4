// tests/unit/dsl/lower_random_test.cpp -- random expressions with views: pushing views down gives the values that
// applying each view to computed values gives.
#include <gtest/gtest.h>
#include <kiln/error.h>

#include "dsl/infer.h"
#include "dsl/lower.h"
#include "tests/unit/dsl/brute_force.h"
#include "tests/unit/dsl/random_view.h"

namespace kiln::dsl {
namespace {

using codegen::NodeId;
using codegen::NodeKind;

/// A computed value: C order.
struct Value {
  Shape shape;
  std::vector<std::int64_t> elements;
};

std::vector<std::int64_t> gathered(const Value& value, const Strided& view) {
  std::vector<std::int64_t> result;
  for (const std::int64_t address : test::addresses(view)) result.push_back(value.elements[address]);
  return result;
}

/// The reference: every view is applied to the materialised value of its operand.
class Eager {
 public:
  Value add(const Value& a, const Value& b) {
    const Shape both[] = {a.shape, b.shape};
    const Shape shape = broadcast("add", both, {});
    Value result{shape, gathered(a, broadcast_to("a", contiguous("a", a.shape, {}), shape, {}))};
    const std::vector<std::int64_t> other = gathered(b, broadcast_to("b", contiguous("b", b.shape, {}), shape, {}));
    for (std::size_t i = 0; i < other.size(); ++i) result.elements[i] = 3 * result.elements[i] + other[i];
    return result;
  }
  Value view(const Value& value, const ViewSpec& spec) {
    const Strided seen = *apply_view(contiguous("value", value.shape, {}), spec, {});
    return {seen.shape, gathered(value, seen)};
  }
};

/// The lowered body, interpreted at every index of the loop: fma(a, 3, b) stands for `add` above.
std::vector<std::int64_t> interpret(const Body& body, const Shape& loop, const std::vector<Value>& inputs) {
  std::vector<std::int64_t> result;
  test::for_each_index(loop, [&](const Extents& index) {
    std::vector<std::int64_t> values;
    for (const codegen::Node& node : body.graph.nodes()) {
      if (node.arity == 2) {
        values.push_back(3 * values[node.operands[0]] + values[node.operands[1]]);
        continue;
      }
      const Leaf& leaf = body.leaves[node.payload];
      const std::int64_t address = test::address_at(leaf.view.strides, leaf.view.offset, index);
      values.push_back(leaf.iota ? address : inputs[leaf.slot].elements.at(static_cast<std::size_t>(address)));
    }
    result.push_back(values[body.graph.outputs[0]]);
  });
  return result;
}

TEST(LowerRandom, AgreesWithViewsOfComputedValues) {
  std::mt19937 random(11);
  Eager eager;
  int compared = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    codegen::Graph graph;
    std::vector<Operand> operands;
    std::vector<Value> inputs, values;
    std::vector<NodeId> nodes;
    for (int i = 0; i < 2; ++i) {
      Value input;
      input.shape.rank = 2;
      for (int axis = 0; axis < 2; ++axis) input.shape.extents[axis] = axis == i && random() % 3 == 0 ? 1 : 3;
      for (int e = 0; e < 9; ++e) input.elements.push_back(static_cast<std::int64_t>(random() % 1000));
      const Strided c = contiguous("input", input.shape, {});
      input.elements.resize(static_cast<std::size_t>(element_count("input", input.shape, {})));
      operands.push_back({c, DType::f32, false, i});
      inputs.push_back(input);
      values.push_back(input);
      nodes.push_back(graph.input(static_cast<std::uint64_t>(i), DType::f32));
    }
    try {
      for (int step = 0; step < 6; ++step) {
        const std::size_t a = random() % nodes.size(), b = random() % nodes.size();
        if (random() % 2) {
          const ViewSpec spec = test::random_view(values[a].shape, random);
          values.push_back(eager.view(values[a], spec));
          nodes.push_back(graph.view(nodes[a], spec));
        } else {
          values.push_back(eager.add(values[a], values[b]));
          const NodeId both[] = {nodes[a], nodes[b]};
          nodes.push_back(graph.operation(Op::add, DType::f32, both));
        }
      }
    } catch (const ShapeError&) {
      continue;  // shapes that do not broadcast: not this test's subject
    }
    std::vector<Shape> shapes;
    for (const Operand& operand : operands) shapes.push_back(operand.view.shape);
    const std::vector<Shape> inferred = infer_shapes(graph, shapes);
    const NodeId output = nodes.back();
    ASSERT_EQ(inferred[output], values.back().shape);
    try {
      const Body body = lower(graph, inferred, operands, std::span(&output, 1), inferred[output]);
      ASSERT_EQ(interpret(body, inferred[output], inputs), values.back().elements) << "round " << round;
      ++compared;
    } catch (const ShapeError& error) {
      ASSERT_NE(std::string(error.what()).find("kl::eval"), std::string::npos) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(compared, 1000);
  EXPECT_LT(refused, compared / 4);
}

}  // namespace
}  // namespace kiln::dsl
