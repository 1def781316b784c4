// tests/unit/cpu/reduction_reference.h -- a body with reductions evaluated in float64, node by node, for one row.
#pragma once

#include <bit>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <vector>

#include "codegen/ir/reduction.h"
#include "codegen/ir/stages.h"
#include "tests/unit/cpu/kernel_runner.h"

namespace kiln::test {

using codegen::Graph;
using codegen::Node;
using codegen::NodeKind;
using codegen::Reduction;

using Components = std::vector<double>;  ///< of a tuple; one for other values

inline double literal_value(DType type, std::uint64_t bits) {
  if (type == DType::f32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (type == DType::f64) return std::bit_cast<double>(bits);
  const int unused = 64 - 8 * static_cast<int>(size_of(type));
  return static_cast<double>(static_cast<std::int64_t>(bits << unused) >> unused);
}

inline double operate(Op op, const std::vector<double>& v) {
  switch (op) {
    case Op::add:
      return v[0] + v[1];
    case Op::sub:
      return v[0] - v[1];
    case Op::mul:
      return v[0] * v[1];
    case Op::div:
      return v[0] / v[1];
    case Op::exp:
      return std::exp(v[0]);
    case Op::log:
      return std::log(v[0]);
    case Op::sqrt:
      return std::sqrt(v[0]);
    case Op::maximum:
      return std::isnan(v[0]) || v[0] > v[1] ? v[0] : v[1];
    case Op::minimum:
      return std::isnan(v[0]) || v[0] < v[1] ? v[0] : v[1];
    case Op::gt:
      return v[0] > v[1];
    case Op::eq:
      return v[0] == v[1];
    case Op::lt:
      return v[0] < v[1];
    case Op::bit_or:
      return v[0] != 0 || v[1] != 0;
    case Op::bit_and:
      return v[0] != 0 && v[1] != 0;
    case Op::where:
      return v[0] != 0 ? v[1] : v[2];
    default:
      throw std::logic_error("the reference lacks this operation");
  }
}

inline Components join(const codegen::ReductionSpec& spec, const Components& a, const Components& b) {
  if (spec.combiner) {
    const Graph& graph = *spec.combiner;
    std::vector<double> values;
    for (const Node& node : graph.nodes()) {
      std::vector<double> operands;
      for (const NodeId operand : node.inputs()) operands.push_back(values[operand]);
      if (node.kind == NodeKind::input)
        values.push_back(node.payload < a.size() ? a[node.payload] : b[node.payload - a.size()]);
      else if (node.kind == NodeKind::literal)
        values.push_back(literal_value(node.type, node.payload));
      else if (node.kind == NodeKind::cast)
        values.push_back(operands[0]);
      else
        values.push_back(operate(node.op, operands));
    }
    Components joined;
    for (const NodeId output : graph.outputs) joined.push_back(values[output]);
    return joined;
  }
  return {operate(codegen::joining_operation(spec.kind), {a[0], b[0]})};
}

/// Values of every node: one entry for row-level ones, one per element for the others. `leaf(access, element)` reads.
inline std::vector<std::vector<Components>> evaluate_row(const Kernel& kernel, std::size_t elements,
                                                         const std::function<double(std::size_t, std::size_t)>& leaf) {
  const Graph& body = kernel.body;
  const codegen::Stages stages = codegen::stages_of(kernel);
  std::vector<std::vector<Components>> values(body.size());
  const auto at = [&](NodeId id, std::size_t e) -> const Components& {
    return values[id][stages.per_element[id] ? e : 0];
  };
  for (NodeId id = 0; id < body.size(); ++id) {
    const Node& node = body[id];
    const std::size_t count = stages.per_element[id] ? elements : 1;
    if (node.kind == NodeKind::reduce || node.kind == NodeKind::scan) {
      const codegen::ReductionSpec& spec = body.reduction(node);
      Components state;
      if (spec.combiner)
        state = at(node.operands[1], 0);
      else
        state = {literal_value(node.type, codegen::identity_bits(spec.kind, node.type))};
      for (std::size_t e = 0; e < elements; ++e) {
        state = join(spec, state, at(node.operands[0], e));
        if (node.kind == NodeKind::scan) values[id].push_back(state);
      }
      if (node.kind == NodeKind::reduce) values[id] = {state};
      continue;
    }
    for (std::size_t e = 0; e < count; ++e) {
      Components operands;
      for (const NodeId operand : node.inputs()) operands.push_back(at(operand, e)[0]);
      Components value;
      switch (node.kind) {
        case NodeKind::load:
        case NodeKind::iota:
          value = {leaf(node.payload, e)};
          break;
        case NodeKind::literal:
          value = {literal_value(node.type, node.payload)};
          break;
        case NodeKind::cast:
          value = operands;
          break;
        case NodeKind::tuple:
          value = operands;
          break;
        case NodeKind::element:
          value = {at(node.operands[0], e)[node.payload]};
          break;
        default:
          value = {operate(node.op, operands)};
      }
      values[id].push_back(value);
    }
  }
  return values;
}

}  // namespace kiln::test
