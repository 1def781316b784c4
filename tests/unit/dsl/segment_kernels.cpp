// tests/unit/dsl/segment_kernels.cpp -- runs segments at every point of their loops, in float64.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/dsl/segment_reference.h"

namespace kiln::dsl::test {
namespace {

using codegen::Node;

class Kernels {
 public:
  Kernels(const Segmentation& segmentation, const Traced& trace, std::span<const Shape> loops)
      : segmentation_(segmentation), trace_(trace), loops_(loops), temporaries_(segmentation.temporaries.size()) {
    targets_.resize(loops.size());
  }
  std::vector<Numbers> run() {
    for (const Segment& segment : segmentation_.segments) run_segment(segment);
    return targets_;
  }

 private:
  void run_segment(const Segment& segment);
  std::vector<Columns> row_values(const Segment& segment, const Extents& row, const std::vector<Extents>& points) const;
  double load(const Leaf& leaf, const Extents& at) const;
  void store(const Segment& segment, std::size_t k, const Extents& row, const std::vector<Extents>& points,
             const Numbers& values);

  const Segmentation& segmentation_;
  const Traced& trace_;
  std::span<const Shape> loops_;
  std::vector<Numbers> temporaries_, targets_;
};

double Kernels::load(const Leaf& leaf, const Extents& at) const {
  const std::int64_t address = address_at(leaf.view.strides, leaf.view.offset, at);
  if (leaf.iota) return static_cast<double>(address);
  const Numbers& from = leaf.temporary >= 0 ? temporaries_[static_cast<std::size_t>(leaf.temporary)]
                                            : trace_.memory[static_cast<std::size_t>(leaf.slot)];
  const bool inside = address >= 0 && address < static_cast<std::int64_t>(from.size());
  EXPECT_TRUE(inside) << (leaf.temporary >= 0 ? "a temporary is read before it is computed" : "out of bounds");
  const double value = inside ? from[static_cast<std::size_t>(address)] : NAN;
  EXPECT_FALSE(std::isnan(value));
  return value;
}

std::vector<Columns> Kernels::row_values(const Segment& segment, const Extents& row,
                                         const std::vector<Extents>& points) const {
  std::vector<Columns> values;
  const Graph& body = segment.body.graph;
  for (const Node& node : body.nodes()) {
    Columns value(1, Numbers(points.size()));
    std::vector<Columns> operands;
    for (const NodeId operand : node.inputs()) operands.push_back(values[operand]);
    for (std::size_t p = 0; p < points.size(); ++p) {
      Extents at = row;
      for (int axis = 0; axis < max_rank; ++axis) at[axis] += points[p][axis];
      double& result = value[0][p];
      double a[3] = {};
      for (std::size_t i = 0; i < operands.size(); ++i) a[i] = operands[i][0][p];
      switch (node.kind) {
        case NodeKind::load:
        case NodeKind::iota:
          result = load(segment.body.leaves.at(node.payload), at);
          break;
        case NodeKind::parameter:
          EXPECT_TRUE(segment.body.parameters[node.payload].constant);
          result = static_cast<double>(segment.body.parameters[node.payload].value);
          break;
        case NodeKind::literal:
          result = literal(node);
          break;
        case NodeKind::tuple:
        case NodeKind::reduce:
        case NodeKind::scan:
          break;
        case NodeKind::element:
          result = operands[0][node.payload][p];
          break;
        default:
          result = apply(node, a);
      }
    }
    if (node.kind == NodeKind::tuple) {
      value.clear();
      for (const Columns& operand : operands) value.push_back(operand[0]);
    } else if (node.kind == NodeKind::reduce || node.kind == NodeKind::scan) {
      const codegen::ReductionSpec& spec = body.reduction(node);
      const Columns columns = state_columns(node, spec, operands);
      std::vector<State> elements;
      for (std::size_t p = 0; p < points.size(); ++p) {
        elements.push_back(state_at(columns, p));
        if (node.kind == NodeKind::scan) value[0][p] = join(spec, elements, {})[0];
      }
      if (node.kind == NodeKind::reduce) {
        const State result = join(spec, elements, identity_of(spec, operands));
        value.assign(result.size(), {});
        for (std::size_t c = 0; c < result.size(); ++c) value[c].assign(points.size(), result[c]);
      }
    }
    values.push_back(std::move(value));
  }
  return values;
}

void Kernels::store(const Segment& segment, std::size_t k, const Extents& row, const std::vector<Extents>& points,
                    const Numbers& values) {
  const SegmentOutput& output = segment.outputs[k];
  const Shape& shape = output.is_temporary ? segmentation_.temporaries[output.number].shape : loops_[output.number];
  Numbers& to = output.is_temporary ? temporaries_[output.number] : targets_[output.number];
  to.resize(static_cast<std::size_t>(element_count("store", shape, {})), NAN);
  const Strided view = *reshape(contiguous("store", shape, {}), output.shape.span(), {});
  bool per_element = false;
  for (int axis = 0; axis < view.shape.rank; ++axis)
    per_element = per_element || output.axes[axis] >= segment.loop.rank - segment.reduced;
  for (std::size_t p = 0; p < points.size(); ++p) {
    std::int64_t address = 0;
    for (int axis = 0; axis < view.shape.rank; ++axis) {
      const int at = output.axes[axis];
      if (at >= 0) address += view.strides[axis] * (row[at] + points[p][at]);
    }
    double& element = to.at(static_cast<std::size_t>(address));
    if (per_element || p == 0) {
      EXPECT_TRUE(std::isnan(element)) << "written twice";
    } else {
      EXPECT_EQ(element, values[p]) << "a row has two values";
    }
    element = values[p];
  }
}

void Kernels::run_segment(const Segment& segment) {
  Shape kept = segment.loop, reduced = segment.loop;
  for (int axis = 0; axis < segment.loop.rank; ++axis)
    (axis < segment.loop.rank - segment.reduced ? reduced : kept).extents[axis] = 1;
  std::vector<Extents> points;
  for_each_index(reduced, [&](const Extents& at) { points.push_back(at); });
  codegen::verify(segment.body.graph, true);
  EXPECT_EQ(segment.outputs.size(), segment.body.graph.outputs.size());
  for_each_index(kept, [&](const Extents& row) {
    const std::vector<Columns> values = row_values(segment, row, points);
    for (std::size_t k = 0; k < segment.outputs.size(); ++k)
      store(segment, k, row, points, values[segment.body.graph.outputs[k]][0]);
  });
  for (const SegmentOutput& output : segment.outputs)
    for (const double element : output.is_temporary ? temporaries_[output.number] : targets_[output.number])
      EXPECT_FALSE(std::isnan(element)) << "not written";
}

}  // namespace

std::vector<Numbers> run(const Segmentation& segmentation, const Traced& trace, std::span<const Shape> loops) {
  return Kernels(segmentation, trace, loops).run();
}

void expect_agreement(Traced& trace, const Segmentation& segmentation, std::vector<Shape> loops) {
  const std::vector<Shape> shapes = trace.shapes();
  if (loops.empty())
    for (const NodeId output : trace.graph.outputs) loops.push_back(shapes[output]);
  const std::vector<Numbers> values = evaluate(trace);
  const std::vector<Numbers> results = run(segmentation, trace, loops);
  for (std::size_t t = 0; t < loops.size(); ++t) {
    const NodeId output = trace.graph.outputs[t];
    const Numbers expected = broadcasted(values[output], shapes[output], loops[t]);
    ASSERT_EQ(results[t].size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(results[t][i], expected[i], 1e-9 * (1 + std::fabs(expected[i])))
          << "target " << t << " element " << i;
  }
}

}  // namespace kiln::dsl::test
