// dsl/infer.cpp -- shape inference over a traced graph.
#include "dsl/infer.h"

#include <algorithm>

#include "codegen/ir/op_info.h"
#include "dsl/shapes.h"
#include "dsl/taken_shape.h"
#include "support/check.h"

namespace kiln::dsl {
namespace {

using codegen::Node;
using codegen::NodeKind;

/// Widens `result` by `shape`; false when they do not broadcast.
bool merge(Shape& result, const Shape& shape) {
  if (shape.rank > result.rank) {
    const int added = shape.rank - result.rank;
    for (int axis = result.rank - 1; axis >= 0; --axis) result.extents[axis + added] = result.extents[axis];
    for (int axis = 0; axis < added; ++axis) result.extents[axis] = 1;
    result.rank = shape.rank;
  }
  for (int axis = 0; axis < shape.rank; ++axis) {
    std::int64_t& extent = result.extents[axis + result.rank - shape.rank];
    const std::int64_t other = shape.extents[axis];
    if (extent == other || other == 1) continue;
    if (extent != 1) return false;
    extent = other;
  }
  return true;
}

/// The type that the user's operand had before promotion.
DType type_before_promotion(const codegen::Graph& graph, codegen::NodeId id) {
  const Node& node = graph[id];
  const bool promoted = node.kind == NodeKind::cast && graph[node.operands[0]].kind == NodeKind::input;
  return promoted ? graph[node.operands[0]].type : node.type;
}

/// True where `small` is `large` without its last axes, as after a reduction without kl::keepdims.
bool lacks_last_axes(const Shape& small, const Shape& large) {
  return small.rank > 0 && small.rank < large.rank &&
         std::equal(small.extents.begin(), small.extents.begin() + small.rank, large.extents.begin());
}

const char* broadcast_hint(const Node& node, std::span<const Shape> shapes) {
  for (const codegen::NodeId a : node.inputs())
    for (const codegen::NodeId b : node.inputs())
      if (lacks_last_axes(shapes[a], shapes[b]))
        return "a reduction keeps its axis with kl::keepdims; unsqueeze(-1) adds one";
  return "use reshape, unsqueeze or a slice to make them agree";
}

[[noreturn]] void fail_broadcast(const codegen::Graph& graph, codegen::NodeId id, std::span<const Shape> shapes) {
  const Node& node = graph[id];
  std::string operands;
  for (const codegen::NodeId operand : node.inputs()) {
    if (!operands.empty()) operands += operand == node.inputs().back() ? " and " : ", ";
    operands += fmt::format("{} of {}", to_text(shapes[operand]), name_of(type_before_promotion(graph, operand)));
  }
  fail<ShapeError>(
      "{}{}: operands of shapes {} do not broadcast together{}. Axes are matched from the last; each pair "
      "must be equal or 1: {}",
      node.kind == NodeKind::call ? "" : "kl::", written_name(graph, id), operands, place(where_of(graph, id)),
      broadcast_hint(node, shapes));
}

Shape common_shape(const codegen::Graph& graph, codegen::NodeId id, std::span<const Shape> shapes) {
  Shape result;
  for (const codegen::NodeId operand : graph[id].inputs())
    if (!merge(result, shapes[operand])) fail_broadcast(graph, id, shapes);
  return result;
}

/// Reduced axes are dropped, or kept with extent 1.
Shape reduced_shape(const Shape& shape, const codegen::ReductionSpec& spec) {
  Shape result;
  for (int axis = 0; axis < shape.rank; ++axis) {
    const bool reduced = (spec.axes >> axis & 1) != 0;
    if (!reduced || spec.keepdims) result.extents[result.rank++] = reduced ? 1 : shape.extents[axis];
  }
  return result;
}

const char* name_of(codegen::Reduction kind, bool running) {
  using codegen::Reduction;
  switch (kind) {
    case Reduction::sum:
      return running ? "cumsum" : "sum";
    case Reduction::prod:
      return running ? "cumprod" : "prod";
    case Reduction::max:
      return running ? "cummax" : "max";
    case Reduction::min:
      return running ? "cummin" : "min";
    case Reduction::any:
      return "any";
    case Reduction::all:
      return "all";
    case Reduction::combine:
      return running ? "scan" : "reduce";
    case Reduction::argmax:
      return "argmax";
    case Reduction::argmin:
      return "argmin";
    case Reduction::logsumexp:
      return "logsumexp";
    case Reduction::squared_deviations:
      return "var";
  }
  return "";
}

}  // namespace

const char* written_name(const codegen::Graph& graph, codegen::NodeId id) {
  const auto joins = [&](const Node& node) { return node.kind == NodeKind::reduce || node.kind == NodeKind::scan; };
  if (graph[id].kind == NodeKind::tuple) {
    const auto uses = [&](const Node& node) {
      return joins(node) && std::ranges::find(node.inputs(), id) != node.inputs().end();
    };
    const auto user = std::find_if(graph.nodes().begin() + id, graph.nodes().end(), uses);
    if (user != graph.nodes().end()) id = static_cast<codegen::NodeId>(user - graph.nodes().begin());
  }
  const Node& node = graph[id];
  if (node.kind == NodeKind::call) return graph.function(node).name.c_str();
  if (node.kind == NodeKind::view) return name_of(graph.view_spec(node).kind);
  return joins(node) ? name_of(graph.reduction(node).kind, node.kind == NodeKind::scan) : node_name(node);
}

const char* node_name(const Node& node) {
  switch (node.kind) {
    case NodeKind::input:
    case NodeKind::load:
      return "load";
    case NodeKind::gather:
    case NodeKind::take:
      return "take";
    case NodeKind::iota:
    case NodeKind::index:
      return "index";
    case NodeKind::parameter:
      return "scalar";
    case NodeKind::literal:
      return "literal";
    case NodeKind::view:
      return "view";
    case NodeKind::cast:
      return "cast";
    case NodeKind::bitcast:
      return "bitcast";
    case NodeKind::complex:
      return "complex";
    case NodeKind::real_part:
      return "real";
    case NodeKind::imag_part:
      return "imag";
    case NodeKind::mulhi:
      return "mulhi";
    case NodeKind::random:
      return "random";
    case NodeKind::operation:
      return detail::op_info(node.op).name;
    case NodeKind::reduce:
      return "reduce";
    case NodeKind::scan:
      return "scan";
    case NodeKind::tuple:
      return "tuple";
    case NodeKind::element:
      return "element";
    case NodeKind::extent:
      return "extent";
    case NodeKind::call:
      return "function";
  }
  return "";
}

std::vector<Shape> infer_shapes(const codegen::Graph& graph, std::span<const Shape> inputs) {
  std::vector<Shape> shapes(graph.size());
  for (codegen::NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    switch (node.kind) {
      case NodeKind::input:
      case NodeKind::iota:
        KILN_INTERNAL_CHECK(node.payload < inputs.size(), "input {} of {}", node.payload, inputs.size());
        shapes[id] = inputs[node.payload];
        break;
      case NodeKind::view:
        shapes[id] = viewed_shape(shapes[node.operands[0]], graph.view_spec(node), where_of(graph, id));
        break;
      case NodeKind::reduce:
        shapes[id] = reduced_shape(common_shape(graph, id, shapes), graph.reduction(node));
        break;
      case NodeKind::take:
        shapes[id] = taken_shape(codegen::TakeSpec::of(node.payload), shapes[node.operands[0]],
                                 shapes[node.operands[1]], where_of(graph, id));
        break;
      case NodeKind::extent:
        break;  // a scalar
      default:
        shapes[id] = common_shape(graph, id, shapes);
    }
  }
  return shapes;
}

}  // namespace kiln::dsl
