// tests/unit/dsl/segment_support.h -- traces with reductions, evaluated node by node and kernel by kernel in float64.
#pragma once

#include <vector>

#include "dsl/infer.h"
#include "dsl/segment.h"
#include "dsl/segment_planner.h"
#include "tests/unit/dsl/brute_force.h"

namespace kiln::dsl::test {

using codegen::Graph;
using codegen::NodeId;
using codegen::NodeKind;
using codegen::Reduction;

using Numbers = std::vector<double>;

/// A trace in the making: what the recorder would build from kl::sum, kl::mean, ...
class Traced {
 public:
  Graph graph;
  std::vector<Operand> operands;
  std::vector<Numbers> memory;  ///< per operand

  NodeId input(const Strided& view, DType type = DType::f32);
  NodeId input(std::initializer_list<std::int64_t> extents, DType type = DType::f32) {
    return input(contiguous("input", shape(extents), {}), type);
  }
  NodeId operation(Op op, std::initializer_list<NodeId> inputs);
  NodeId add(NodeId a, NodeId b) { return operation(Op::add, {a, b}); }
  NodeId sub(NodeId a, NodeId b) { return operation(Op::sub, {a, b}); }
  NodeId mul(NodeId a, NodeId b) { return operation(Op::mul, {a, b}); }
  NodeId div(NodeId a, NodeId b) { return operation(Op::div, {a, b}); }
  NodeId exp(NodeId a) { return operation(Op::exp, {a}); }
  NodeId sqrt(NodeId a) { return operation(Op::sqrt, {a}); }
  NodeId number(double value, DType type = DType::f32) { return graph.literal_value(type, value); }
  NodeId view(NodeId value, ViewSpec::Kind kind, std::vector<std::int64_t> numbers) {
    return graph.view(value, {kind, std::move(numbers), {}});
  }
  NodeId slice(NodeId value, std::vector<ViewSpec::Item> items) {
    return graph.view(value, {ViewSpec::Kind::slice, {}, std::move(items)});
  }
  /// Axes in order; `keepdims` keeps their extents at 1.
  NodeId reduce(Reduction kind, NodeId value, const std::vector<int>& axes, bool keepdims = false);
  NodeId sum(NodeId value, const std::vector<int>& axes, bool keepdims = false) {
    return reduce(Reduction::sum, value, axes, keepdims);
  }
  NodeId max(NodeId value, const std::vector<int>& axes, bool keepdims = false) {
    return reduce(Reduction::max, value, axes, keepdims);
  }
  NodeId mean(NodeId value, const std::vector<int>& axes, bool keepdims = false);
  NodeId var(NodeId value, const std::vector<int>& axes, bool keepdims = false);
  NodeId softmax(NodeId value, const std::vector<int>& axes);
  NodeId cumsum(NodeId value, int axis);
  /// The sum and the largest of `value`, as a reduction of pairs.
  std::array<NodeId, 2> sum_and_max(NodeId value, const std::vector<int>& axes, bool keepdims = false);

  std::vector<Shape> shapes() const;
  Shape shape_of(NodeId node) const { return shapes()[node]; }
  /// Segments for `outputs`, each over a loop of its own shape, or the one given.
  Segmentation segmented(std::vector<NodeId> outputs, std::vector<Shape> loops = {});
  /// The same where no chain fits a kernel.
  Segmentation split(std::vector<NodeId> outputs);

 private:
  std::vector<Shape> prepare(std::vector<NodeId> outputs, std::vector<Shape>& loops);
};

/// Every node of the trace by its definition.
std::vector<Numbers> evaluate(const Traced& trace);
/// `value` of `from` seen with a larger shape.
Numbers broadcasted(const Numbers& value, const Shape& from, const Shape& to);
/// Runs the segments in order: elements of each target, in C order. Fails the test where a segment reads what is not
/// computed yet, writes an element twice or not at all, or gives two values for one row.
std::vector<Numbers> run(const Segmentation& segmentation, const Traced& trace, std::span<const Shape> loops);

/// Loops, leaves, bodies and outputs, for messages.
std::string to_text(const Segmentation& segmentation);

/// Both ways agree for these outputs.
void expect_agreement(Traced& trace, const Segmentation& segmentation, std::vector<Shape> loops = {});

}  // namespace kiln::dsl::test
