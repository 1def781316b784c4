// tests/unit/dsl/segment_evaluate.cpp -- every node of a trace by its definition, in float64.
#include <gtest/gtest.h>

#include <map>

#include "tests/unit/dsl/segment_reference.h"

namespace kiln::dsl::test {
namespace {

using codegen::Node;

class Eager {
 public:
  explicit Eager(const Traced& trace) : trace_(trace), shapes_(trace.shapes()), values_(trace.graph.size()) {}
  std::vector<Numbers> run() {
    std::vector<Numbers> result;
    for (NodeId id = 0; id < trace_.graph.size(); ++id) {
      compute(id);
      result.push_back(values_[id][0]);
    }
    return result;
  }

 private:
  Columns seen(NodeId id, const Shape& shape) const {
    Columns result;
    for (const Numbers& column : values_[id]) result.push_back(broadcasted(column, shapes_[id], shape));
    return result;
  }
  void compute(NodeId id);
  void reduce(NodeId id, const Node& node);
  void elementwise(NodeId id, const Node& node);

  const Traced& trace_;
  std::vector<Shape> shapes_;
  std::vector<Columns> values_;
};

void Eager::compute(NodeId id) {
  const Node& node = trace_.graph[id];
  Numbers value;
  switch (node.kind) {
    case NodeKind::input:
      for (const std::int64_t at : addresses(trace_.operands[node.payload].view))
        value.push_back(trace_.memory[node.payload].at(static_cast<std::size_t>(at)));
      break;
    case NodeKind::index:
      for_each_index(shapes_[id], [&](const Extents& at) { value.push_back(static_cast<double>(at[node.payload])); });
      break;
    case NodeKind::literal:
      value = {literal(node)};
      break;
    case NodeKind::view: {
      const Shape& from = shapes_[node.operands[0]];
      for (const std::int64_t at : addresses(*apply_view(contiguous("v", from, {}), trace_.graph.view_spec(node), {})))
        value.push_back(values_[node.operands[0]][0][static_cast<std::size_t>(at)]);
      break;
    }
    case NodeKind::tuple:
      for (const NodeId operand : node.inputs()) values_[id].push_back(seen(operand, shapes_[id])[0]);
      return;
    case NodeKind::element:
      value = values_[node.operands[0]][node.payload];
      break;
    case NodeKind::extent: {
      const Shape& shape = shapes_[node.operands[0]];
      double count = 1;
      for (int axis = 0; axis < shape.rank; ++axis)
        if (trace_.graph.reduction(node).axes >> axis & 1) count *= static_cast<double>(shape.extents[axis]);
      value = {count};
      break;
    }
    case NodeKind::reduce:
    case NodeKind::scan:
      return reduce(id, node);
    default:
      return elementwise(id, node);
  }
  values_[id] = {value};
}

void Eager::elementwise(NodeId id, const Node& node) {
  std::vector<Numbers> operands;
  for (const NodeId operand : node.inputs()) operands.push_back(seen(operand, shapes_[id])[0]);
  Numbers value;
  for (std::size_t i = 0; i < operands[0].size(); ++i) {
    double a[3] = {};
    for (std::size_t k = 0; k < operands.size(); ++k) a[k] = operands[k][i];
    value.push_back(apply(node, a));
  }
  values_[id] = {value};
}

void Eager::reduce(NodeId id, const Node& node) {
  const codegen::ReductionSpec& spec = trace_.graph.reduction(node);
  const Source source{trace_.graph, shapes_, trace_.operands};
  const Shape shape = operand_shape(source, id);
  std::vector<Columns> operands;
  for (const NodeId operand : node.inputs()) operands.push_back(seen(operand, shape));
  const Columns columns = state_columns(node, spec, operands);
  const bool scans = node.kind == NodeKind::scan;
  // The elements joined for each row, in order.
  std::map<std::vector<std::int64_t>, std::vector<State>> rows;
  Numbers scanned;
  std::size_t point = 0;
  for_each_index(shape, [&](const Extents& at) {
    std::vector<std::int64_t> row;
    for (int axis = 0; axis < shape.rank; ++axis)
      if ((spec.axes >> axis & 1) == 0) row.push_back(at[axis]);
    rows[row].push_back(state_at(columns, point++));
    if (scans) scanned.push_back(join(spec, rows[row], {})[0]);
  });
  if (scans) {
    values_[id] = {scanned};
    return;
  }
  const State identity = spec.kind == Reduction::combine
                             ? State{values_[trace_.graph[node.operands[1]].operands[0]][0][0],
                                     values_[trace_.graph[node.operands[1]].operands[1]][0][0]}
                             : State{};
  std::int64_t kept = 1;
  for (const std::int64_t extent : shapes_[id].span()) kept *= extent;
  for (std::int64_t i = static_cast<std::int64_t>(rows.size()); i < kept; ++i) rows[{-1 - i}];  // rows without elements
  Columns value;
  for (const auto& [row, states] : rows) {
    const State result = states.empty() && spec.kind == Reduction::max ? State{0} : join(spec, states, identity);
    value.resize(result.size());
    for (std::size_t c = 0; c < result.size(); ++c) value[c].push_back(result[c]);
  }
  if (value.empty()) value.resize(2);
  values_[id] = value;
}

}  // namespace

Numbers broadcasted(const Numbers& value, const Shape& from, const Shape& to) {
  Numbers result;
  for (const std::int64_t at : addresses(broadcast_to("test", contiguous("test", from, {}), to, {})))
    result.push_back(value[static_cast<std::size_t>(at)]);
  return result;
}

std::vector<Numbers> evaluate(const Traced& trace) { return Eager(trace).run(); }

}  // namespace kiln::dsl::test
