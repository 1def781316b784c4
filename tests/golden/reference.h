// tests/golden/reference.h -- what a kernel body means, in double precision and one element after another: the
// expected values of the emulation, computed without any code of the emitters.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/ir/stages.h"

namespace kiln::golden {

/// The value of load or iota access `a` at the current point.
using Operand = std::function<double(std::size_t a)>;

/// A literal, as a number.
inline double literal_number(const codegen::Node& node) {
  switch (node.type) {
    case DType::f32:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(node.payload)));
    case DType::f64:
      return std::bit_cast<double>(node.payload);
    default:
      return static_cast<double>(static_cast<std::int64_t>(node.payload));
  }
}

inline double operation_value(Op op, const std::vector<double>& x) {
  switch (op) {
    case Op::add:
    case Op::bit_or:
      return op == Op::add ? x[0] + x[1] : x[0] != 0 || x[1] != 0;
    case Op::sub:
      return x[0] - x[1];
    case Op::mul:
      return x[0] * x[1];
    case Op::div:
      return x[0] / x[1];
    case Op::bit_and:
      return x[0] != 0 && x[1] != 0;
    case Op::bit_not:
      return x[0] == 0;
    case Op::maximum:
      return std::isnan(x[0]) || std::isnan(x[1]) ? std::numeric_limits<double>::quiet_NaN() : std::max(x[0], x[1]);
    case Op::minimum:
      return std::isnan(x[0]) || std::isnan(x[1]) ? std::numeric_limits<double>::quiet_NaN() : std::min(x[0], x[1]);
    case Op::fmin:
      return std::fmin(x[0], x[1]);
    case Op::abs:
      return std::fabs(x[0]);
    case Op::exp:
      return std::exp(x[0]);
    case Op::log:
      return std::log(x[0]);
    case Op::sqrt:
      return std::sqrt(x[0]);
    case Op::rsqrt:
      return 1 / std::sqrt(x[0]);
    case Op::where:
      return x[0] != 0 ? x[1] : x[2];
    case Op::eq:
      return x[0] == x[1];
    case Op::ne:
      return x[0] != x[1];
    case Op::lt:
      return x[0] < x[1];
    case Op::gt:
      return x[0] > x[1];
    default:
      ADD_FAILURE() << "the reference does not know operation " << static_cast<int>(op);
      return 0;
  }
}

/// Evaluates the nodes of `graph` that are marked; reductions and their components must have values already.
class Reference {
 public:
  explicit Reference(const codegen::Graph& graph) : values(graph.size(), 0), graph_(graph) {}

  void evaluate(const Operand& operand, const std::vector<double>& parameters, const std::vector<char>& wanted) {
    for (codegen::NodeId id = 0; id < graph_.size(); ++id) {
      if (!wanted[id]) continue;
      values[id] = graph_[id].kind == codegen::NodeKind::scan ? scan(id, values[graph_[id].operands[0]])
                                                              : value(graph_[id], operand, parameters);
    }
  }
  std::vector<double> values;
  std::function<double(codegen::NodeId, double)> scan;  ///< the value of a scan after one more element

 private:
  double value(const codegen::Node& node, const Operand& operand, const std::vector<double>& parameters) const {
    std::vector<double> x;
    for (const codegen::NodeId input : node.inputs()) x.push_back(values[input]);
    switch (node.kind) {
      case codegen::NodeKind::load:
      case codegen::NodeKind::iota:
      case codegen::NodeKind::input:
        return operand(static_cast<std::size_t>(node.payload));
      case codegen::NodeKind::parameter:
        return parameters[static_cast<std::size_t>(node.payload)];
      case codegen::NodeKind::literal:
        return literal_number(node);
      case codegen::NodeKind::cast:
      case codegen::NodeKind::tuple:
        return x[0];
      case codegen::NodeKind::operation:
        return operation_value(node.op, x);
      default:
        ADD_FAILURE() << "the reference does not know node kind " << static_cast<int>(node.kind);
        return 0;
    }
  }
  const codegen::Graph& graph_;
};

/// One row: `operand(element, a)` gives values; results: of the outputs per element and per row, in the order of the
/// outputs (a row result has one value).
std::vector<std::vector<double>> reference_row(const codegen::Kernel& kernel, std::size_t length,
                                               const std::function<double(std::size_t, std::size_t)>& operand,
                                               const std::vector<double>& parameters);

}  // namespace kiln::golden
