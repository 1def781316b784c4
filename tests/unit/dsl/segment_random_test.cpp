// tests/unit/dsl/segment_random_test.cpp -- random traces with reductions, scans and views: running the segments gives
// what evaluating the trace node by node gives, in no more kernels than segment.h allows.
#include <gtest/gtest.h>
#include <kiln/error.h>

#include "tests/unit/dsl/random_view.h"
#include "tests/unit/dsl/segment_support.h"

namespace kiln::dsl {
namespace {

using test::NodeId;
using test::NodeKind;
using test::Reduction;
using test::Traced;

class RandomTrace {
 public:
  explicit RandomTrace(std::uint32_t seed) : random_(seed), square_(any(2) == 0) {
    for (int i = 0; i < 2; ++i) add_input();
    for (int step = 0; step < 10; ++step) add_step();
  }
  Traced trace;

  std::vector<NodeId> outputs() {
    std::vector<NodeId> result{nodes_.back()};
    while (any(2)) result.push_back(nodes_[nodes_.size() - 1 - any(6)]);
    return result;
  }
  /// The shapes of the outputs; some are broadcast into larger targets.
  std::vector<Shape> loops(const std::vector<NodeId>& outputs) {
    std::vector<Shape> result;
    for (const NodeId output : outputs) {
      Shape shape = trace.shape_of(output);
      if (any(4) == 0) {
        for (int axis = 0; axis < shape.rank; ++axis)
          if (shape.extents[axis] == 1) shape.extents[axis] = 3;
        if (shape.rank < 3) {
          std::copy_backward(shape.extents.begin(), shape.extents.begin() + shape.rank,
                             shape.extents.begin() + shape.rank + 1);
          shape.extents[0] = 3;
          ++shape.rank;
        }
      }
      result.push_back(shape);
    }
    return result;
  }

 private:
  std::uint32_t any(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  NodeId pick() { return any(2) ? nodes_.back() : nodes_[any(static_cast<std::uint32_t>(nodes_.size()))]; }
  void add_input() {
    Shape shape;
    shape.rank = static_cast<int>(1 + any(3));
    for (int axis = 0; axis < shape.rank; ++axis) shape.extents[axis] = any(6) == 0 ? 1 : square_ ? 3 : 2 + any(2);
    Strided view = contiguous("input", shape, {});
    if (any(4) == 0) view = transpose(view, {}, {});
    nodes_.push_back(trace.input(view, any(4) ? DType::f32 : DType::f16));
  }
  void add_step();
  /// Some axes of `shape`, at least one.
  std::vector<int> some_axes(const Shape& shape) {
    std::vector<int> axes;
    while (axes.empty())
      for (int axis = 0; axis < shape.rank; ++axis)
        if (any(3) == 0) axes.push_back(axis);
    return axes;
  }
  NodeId reduction(NodeId value, const std::vector<int>& axes);
  NodeId cast(NodeId value, DType type) { return trace.graph.cast(value, type); }

  std::mt19937 random_;
  bool square_;
  std::vector<NodeId> nodes_;
};

NodeId RandomTrace::reduction(NodeId value, const std::vector<int>& axes) {
  const bool keepdims = any(2) == 0;
  const DType type = trace.graph[value].type;
  switch (any(9)) {
    case 0:
      return trace.mean(value, axes, keepdims);
    case 1:
      return trace.var(value, axes, keepdims);
    case 2:
      return trace.max(value, axes, keepdims);
    case 3:
      return trace.reduce(Reduction::logsumexp, value, axes, keepdims);
    case 4:
      return trace.softmax(value, axes);
    case 5:
      return trace.sum_and_max(value, axes, keepdims)[any(2)];
    case 6:
      return cast(trace.reduce(Reduction::argmax, nodes_[0], {0}, keepdims), type);
    case 7: {
      const auto [sum, largest] = trace.sum_and_max(value, axes, keepdims);
      return trace.sub(sum, largest);
    }
    default:
      return trace.sum(value, axes, keepdims);
  }
}

void RandomTrace::add_step() {
  const NodeId value = pick();
  const Shape shape = trace.shape_of(value);
  switch (any(8)) {
    case 0:
      nodes_.push_back(trace.graph.view(value, test::random_view(shape, random_)));
      break;
    case 1:
      if (shape.rank > 0 && any(2))
        nodes_.push_back(trace.cumsum(value, static_cast<int>(any(static_cast<std::uint32_t>(shape.rank)))));
      break;
    case 2:
    case 3:
      nodes_.push_back(trace.operation(Op::tanh, {value}));
      break;
    case 4:
    case 5: {
      NodeId other = pick();
      const Shape both[] = {shape, trace.shape_of(other)};
      try {
        broadcast("test", both, {});
      } catch (const ShapeError&) {
        other = trace.number(0.5, trace.graph[value].type);
      }
      const Op op = any(2) ? Op::mul : any(2) ? Op::add : Op::sub;
      nodes_.push_back(trace.operation(op, {value, cast(other, trace.graph[value].type)}));
      break;
    }
    default:
      if (shape.rank > 0) nodes_.push_back(reduction(value, some_axes(shape)));
  }
}

/// The bound of segment.h: reductions, scans, reshapes and stored values apart, one kernel per output shape.
std::size_t most_kernels(const Traced& trace) {
  std::size_t count = trace.graph.outputs.size();
  for (const NodeId id : codegen::canonical_order(trace.graph)) {
    const codegen::Node& node = trace.graph[id];
    const bool reshapes = node.kind == NodeKind::view && trace.graph.view_spec(node).kind == ViewSpec::Kind::reshape;
    if (node.kind == NodeKind::reduce || node.kind == NodeKind::scan || reshapes) ++count;
  }
  return count;
}

TEST(SegmentRandom, SegmentsComputeWhatTheTraceMeans) {
  int fused = 0, cut = 0, refused = 0;
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    RandomTrace random(seed);
    const std::vector<NodeId> outputs = random.outputs();
    const std::vector<Shape> loops = random.loops(outputs);
    try {
      const Segmentation together = random.trace.segmented(outputs, loops);
      expect_agreement(random.trace, together, loops);
      EXPECT_LE(together.segments.size(), most_kernels(random.trace));
      if (HasFailure()) FAIL() << codegen::to_text(random.trace.graph) << test::to_text(together);
      const Segmentation apart = random.trace.split(outputs);
      expect_agreement(random.trace, apart);
      EXPECT_LE(apart.segments.size(), most_kernels(random.trace));
      if (HasFailure()) FAIL() << codegen::to_text(random.trace.graph) << test::to_text(apart);
      for (const Segment& segment : together.segments) fused += segment.reduced > 0 ? 1 : 0;
      cut += static_cast<int>(together.temporaries.size());
    } catch (const ShapeError& error) {
      ASSERT_NE(std::string(error.what()).find("kl::eval"), std::string::npos) << error.what();
      ++refused;
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    if (HasFailure()) FAIL() << codegen::to_text(random.trace.graph);
  }
  EXPECT_GT(fused, 1000);
  EXPECT_GT(cut, 500);
  EXPECT_LT(refused, 300);
}

}  // namespace
}  // namespace kiln::dsl
