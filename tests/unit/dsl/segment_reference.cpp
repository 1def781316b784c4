// tests/unit/dsl/segment_reference.cpp -- operations and reductions by their definition.
#include "tests/unit/dsl/segment_reference.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace kiln::dsl::test {

using codegen::Node;

double apply(const Node& node, const double* a) {
  switch (node.kind) {
    case NodeKind::cast:
      return node.type == DType::i64 ? std::trunc(a[0]) : a[0];
    case NodeKind::operation:
      break;
    default:
      ADD_FAILURE() << "no evaluation of " << node_name(node);
  }
  switch (node.op) {
    case Op::add:
      return a[0] + a[1];
    case Op::sub:
      return a[0] - a[1];
    case Op::mul:
      return a[0] * a[1];
    case Op::div:
      return a[0] / a[1];
    case Op::exp:
      return std::exp(a[0]);
    case Op::sqrt:
      return std::sqrt(a[0]);
    case Op::tanh:
      return std::tanh(a[0]);
    case Op::maximum:
      return std::fmax(a[0], a[1]);
    default:
      ADD_FAILURE() << "no evaluation of " << node_name(node);
      return 0;
  }
}

double literal(const Node& node) {
  switch (node.type) {
    case DType::f32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(node.payload));
    case DType::f64:
      return std::bit_cast<double>(node.payload);
    case DType::f16:
      return static_cast<float>(std::bit_cast<half>(static_cast<std::uint16_t>(node.payload)));
    default:
      return static_cast<double>(static_cast<std::int64_t>(node.payload));
  }
}

namespace {

State combine(const Graph& combiner, const State& left, const State& right) {
  std::vector<double> values;
  for (const Node& node : combiner.nodes()) {
    if (node.kind == NodeKind::input) {
      const auto slot = static_cast<std::size_t>(node.payload);
      values.push_back(slot < left.size() ? left[slot] : right[slot - left.size()]);
      continue;
    }
    double a[3] = {};
    for (int i = 0; i < node.arity; ++i) a[i] = values[node.operands[i]];
    values.push_back(apply(node, a));
  }
  State result;
  for (const NodeId output : combiner.outputs) result.push_back(values[output]);
  return result;
}

}  // namespace

State join(const codegen::ReductionSpec& spec, const std::vector<State>& elements, const State& identity) {
  if (spec.kind == Reduction::squared_deviations) {
    double mean = 0, result = 0;
    for (const State& x : elements) mean += x[0] / static_cast<double>(elements.size());
    for (const State& x : elements) result += (x[0] - mean) * (x[0] - mean);
    return {result};
  }
  if (spec.kind == Reduction::logsumexp) {
    double largest = -HUGE_VAL, total = 0;
    for (const State& x : elements) largest = std::fmax(largest, x[0]);
    for (const State& x : elements) total += std::exp(x[0] - largest);
    return {elements.empty() ? -HUGE_VAL : largest + std::log(total)};
  }
  State result = identity;
  if (spec.kind == Reduction::prod || spec.kind == Reduction::all) result = {1};
  if (spec.kind == Reduction::sum || spec.kind == Reduction::any) result = {0};
  if (spec.kind != Reduction::sum && spec.kind != Reduction::prod && spec.kind != Reduction::combine)
    result = elements.at(0);
  for (const State& x : elements) {
    switch (spec.kind) {
      case Reduction::sum:
        result[0] += x[0];
        break;
      case Reduction::prod:
        result[0] *= x[0];
        break;
      case Reduction::max:
        result[0] = std::fmax(result[0], x[0]);
        break;
      case Reduction::min:
        result[0] = std::fmin(result[0], x[0]);
        break;
      case Reduction::argmax:
        if (x[0] > result[0] || (x[0] == result[0] && x[1] < result[1])) result = x;
        break;
      case Reduction::combine:
        result = combine(*spec.combiner, result, x);
        break;
      default:
        ADD_FAILURE() << "no evaluation of this reduction";
    }
  }
  return spec.kind == Reduction::argmax ? State{result[1]} : result;
}

State state_at(const Columns& columns, std::size_t point) {
  State state;
  for (const Numbers& column : columns) state.push_back(column[point]);
  return state;
}

Columns state_columns(const Node& node, const codegen::ReductionSpec& spec, const std::vector<Columns>& operands) {
  Columns result = operands[0];
  if (spec.kind == Reduction::argmax && node.arity > 1) result.push_back(operands[1][0]);
  return result;
}
State identity_of(const codegen::ReductionSpec& spec, const std::vector<Columns>& operands) {
  return spec.kind == Reduction::combine ? state_at(operands[1], 0) : State{};
}

}  // namespace kiln::dsl::test
