// dsl/segment.cpp -- outputs of one shape share a kernel.
#include "dsl/segment.h"

#include <algorithm>

#include <fmt/format.h>

namespace kiln::dsl {
namespace {

bool is_empty(const Shape& shape) {
  const auto extents = shape.span();
  return std::find(extents.begin(), extents.end(), 0) != extents.end();
}

}  // namespace

Segmentation segment(const codegen::Graph& graph, std::span<const Shape> shapes, std::span<const Operand> operands,
                     std::span<const Shape> loops, const codegen::DeviceTraits&) {
  Segmentation result;
  for (std::uint32_t t = 0; t < loops.size(); ++t) {
    if (is_empty(loops[t])) continue;
    const auto same = std::find_if(result.segments.begin(), result.segments.end(),
                                   [&](const Segment& s) { return s.loop == loops[t]; });
    Segment& segment = same != result.segments.end() ? *same : result.segments.emplace_back();
    segment.loop = loops[t];
    SegmentOutput output{false, t, {}};
    for (int axis = 0; axis < loops[t].rank; ++axis) output.axes[static_cast<std::size_t>(axis)] = axis;
    segment.outputs.push_back(output);
  }
  if (result.segments.size() > 1)
    result.notes.push_back(
        fmt::format("{} kernels: outputs of different shapes do not share a loop", result.segments.size()));
  for (Segment& segment : result.segments) {
    std::vector<codegen::NodeId> outputs;
    for (const SegmentOutput& output : segment.outputs) outputs.push_back(graph.outputs[output.number]);
    segment.body = lower(graph, shapes, operands, outputs, segment.loop);
  }
  return result;
}

}  // namespace kiln::dsl
