// tests/unit/dsl/segment_support.cpp -- the builder of traces for tests of segments.
#include "tests/unit/dsl/segment_support.h"

#include <fmt/format.h>

namespace kiln::dsl::test {
namespace {

std::uint8_t bits(const std::vector<int>& axes) {
  std::uint8_t result = 0;
  for (const int axis : axes) result = static_cast<std::uint8_t>(result | 1 << axis);
  return result;
}

}  // namespace

NodeId Traced::input(const Strided& view, DType type) {
  operands.push_back({view, type, false, static_cast<int>(operands.size())});
  Numbers numbers;
  const ElementRange range = element_range("input", view, 1, {});
  for (std::int64_t i = 0; i < std::min<std::int64_t>(range.high, 100000); ++i)
    numbers.push_back(static_cast<double>((i * 37 + static_cast<std::int64_t>(operands.size()) * 11) % 19) / 8 - 1);
  memory.push_back(std::move(numbers));
  return graph.input(operands.size() - 1, type);
}

NodeId Traced::operation(Op op, std::initializer_list<NodeId> inputs) {
  return graph.operation(op, graph[*inputs.begin()].type, std::span(inputs.begin(), inputs.size()));
}

NodeId Traced::reduce(Reduction kind, NodeId value, const std::vector<int>& axes, bool keepdims) {
  codegen::ReductionSpec spec;
  spec.axes = bits(axes);
  const NodeId count = graph.extent(value, compute_type(graph[value].type), spec);
  spec.kind = kind;
  spec.keepdims = keepdims;
  if (kind == Reduction::squared_deviations) return graph.reduce(spec, graph[value].type, {value, count});
  if (kind != Reduction::argmax && kind != Reduction::argmin) return graph.reduce(spec, graph[value].type, {value});
  const auto axis = static_cast<std::uint64_t>(axes.front());
  return graph.reduce(spec, DType::i64, {value, graph.primitive(NodeKind::index, DType::i64, {value}, axis)});
}

NodeId Traced::mean(NodeId value, const std::vector<int>& axes, bool keepdims) {
  codegen::ReductionSpec spec;
  spec.axes = bits(axes);
  return div(sum(value, axes, keepdims), graph.extent(value, graph[value].type, spec));
}

NodeId Traced::var(NodeId value, const std::vector<int>& axes, bool keepdims) {
  codegen::ReductionSpec spec;
  spec.axes = bits(axes);
  return div(reduce(Reduction::squared_deviations, value, axes, keepdims),
             graph.extent(value, graph[value].type, spec));
}

NodeId Traced::softmax(NodeId value, const std::vector<int>& axes) {
  const NodeId e = exp(sub(value, max(value, axes, true)));
  return div(e, sum(e, axes, true));
}

NodeId Traced::cumsum(NodeId value, int axis) {
  codegen::ReductionSpec spec;
  spec.axes = bits({axis});
  return graph.scan(spec, graph[value].type, {value});
}

std::array<NodeId, 2> Traced::sum_and_max(NodeId value, const std::vector<int>& axes, bool keepdims) {
  const DType type = graph[value].type;
  auto combiner = std::make_shared<Graph>();
  std::array<NodeId, 4> in;
  for (std::uint64_t i = 0; i < 4; ++i) in[i] = combiner->input(i, type);
  const NodeId sums[] = {in[0], in[2]};
  const NodeId largest[] = {in[1], in[3]};
  combiner->outputs = {combiner->operation(Op::add, type, sums), combiner->operation(Op::maximum, type, largest)};
  codegen::ReductionSpec spec;
  spec.kind = Reduction::combine;
  spec.axes = bits(axes);
  spec.keepdims = keepdims;
  spec.combiner = combiner;
  const NodeId state = graph.primitive(NodeKind::tuple, type, {value, value});
  const NodeId identity = graph.primitive(NodeKind::tuple, type, {number(0, type), number(-30000, type)});
  const NodeId pair = graph.reduce(spec, type, {state, identity});
  return {graph.primitive(NodeKind::element, type, {pair}, 0), graph.primitive(NodeKind::element, type, {pair}, 1)};
}

std::vector<Shape> Traced::shapes() const {
  std::vector<Shape> inputs;
  for (const Operand& operand : operands) inputs.push_back(operand.view.shape);
  return infer_shapes(graph, inputs);
}

std::vector<Shape> Traced::prepare(std::vector<NodeId> outputs, std::vector<Shape>& loops) {
  graph.outputs = std::move(outputs);
  std::vector<Shape> all = shapes();
  if (loops.empty())
    for (const NodeId output : graph.outputs) loops.push_back(all[output]);
  return all;
}

Segmentation Traced::segmented(std::vector<NodeId> outputs, std::vector<Shape> loops) {
  const std::vector<Shape> all = prepare(std::move(outputs), loops);
  return segment(graph, all, operands, loops, {});
}

Segmentation Traced::split(std::vector<NodeId> outputs) {
  std::vector<Shape> loops;
  const std::vector<Shape> all = prepare(std::move(outputs), loops);
  const Source source{graph, all, operands};
  const codegen::DeviceTraits device;
  return SegmentPlanner(source, device, [](const codegen::ChainFacts&, const codegen::DeviceTraits&) { return false; })
      .run(loops);
}

std::string to_text(const Segmentation& segmentation) {
  std::string text;
  for (const Segment& segment : segmentation.segments) {
    text += fmt::format("loop {} reduced {}\n", kiln::dsl::to_text(segment.loop), segment.reduced);
    for (const Leaf& leaf : segment.body.leaves)
      text += fmt::format("  leaf of slot {} temporary {}\n", leaf.slot, leaf.temporary);
    text += codegen::to_text(segment.body.graph);
    for (const SegmentOutput& output : segment.outputs)
      text += fmt::format("  {} {}\n", output.is_temporary ? "temporary" : "target", output.number);
  }
  for (const std::string& note : segmentation.notes) text += note + '\n';
  return text;
}

}  // namespace kiln::dsl::test
