// tests/unit/codegen/reduction_interpreter.cpp -- joins states by the monoids of codegen/ir/reduction.h.
#include "tests/unit/codegen/reduction_interpreter.h"

#include <algorithm>
#include <memory>

namespace kiln::codegen::testing {
namespace {

using State = std::vector<Value>;

class RowInterpreter {
 public:
  RowInterpreter(const Graph& body, const Rows& rows, Order order, InterpreterOptions options)
      : body_(body), rows_(rows), order_(order), options_(options), per_element_(body.size(), 0), nodes_(body.size()) {}

  Results run() {
    for (NodeId id = 0; id < body_.size(); ++id) per_element_[id] = is_per_element(body_[id]) ? 1 : 0;
    for (NodeId id = 0; id < body_.size(); ++id) {
      const NodeKind kind = body_[id].kind;
      if (kind == NodeKind::tuple) continue;
      if (joins_elements(kind)) {
        join(id);
      } else {
        map(id);
      }
    }
    Results results;
    for (const NodeId output : body_.outputs) {
      Operand result;
      result.per_element = per_element_[output] != 0;
      for (const State& state : nodes_[output]) result.values.push_back(state[0]);
      results.push_back(result);
    }
    return results;
  }

 private:
  bool is_per_element(const Node& node) const {
    if (node.kind == NodeKind::load || node.kind == NodeKind::iota) return rows_.operands.at(node.payload).per_element;
    if (node.kind == NodeKind::scan || node.kind == NodeKind::reduce) return node.kind == NodeKind::scan;
    return std::any_of(node.inputs().begin(), node.inputs().end(), [&](NodeId i) { return per_element_[i] != 0; });
  }

  /// The state of a node at a point: one value, or those of a joined tuple.
  const State& at(NodeId id, std::size_t row, std::size_t column) const {
    return nodes_[id][per_element_[id] ? row * rows_.length + column : row];
  }

  void map(NodeId id) {
    const std::size_t columns = per_element_[id] ? rows_.length : 1;
    for (std::size_t row = 0; row < rows_.rows; ++row)
      for (std::size_t column = 0; column < columns; ++column) nodes_[id].push_back({value_of(id, row, column)});
  }

  Value value_of(NodeId id, std::size_t row, std::size_t column) const {
    const Node& node = body_[id];
    if (node.kind == NodeKind::element) return at(node.operands[0], row, column).at(node.payload);
    std::vector<Value> values(body_.size()), loads(rows_.operands.size());
    for (const NodeId operand : node.inputs()) values[operand] = at(operand, row, column)[0];
    for (std::size_t a = 0; a < loads.size(); ++a) {
      const Operand& operand = rows_.operands[a];
      const bool scalar = operand.values.size() == 1;
      const std::size_t position = scalar ? 0 : operand.per_element ? row * rows_.length + column : row;
      if (position < operand.values.size()) loads[a] = operand.values[position];
    }
    return evaluate(body_, node, values, loads, options_);
  }

  void join(NodeId id) {
    const Monoid monoid = monoid_of(body_, id);
    for (std::size_t row = 0; row < rows_.rows; ++row) {
      State identity;
      std::vector<State> states(rows_.length);
      for (const StateComponent& component : monoid.components) {
        identity.push_back(component.identity == no_node ? Value{component.type, component.identity_bits, 0}
                                                         : at(component.identity, row, 0)[0]);
        for (std::size_t i = 0; i < rows_.length; ++i) states[i].push_back(at(component.value, row, i)[0]);
      }
      std::vector<State>& results = nodes_[id];
      if (body_[id].kind == NodeKind::reduce) {
        results.push_back(reduced(monoid, identity, states));
      } else {
        scan(monoid, identity, states, results);
      }
    }
  }

  State combined(const Monoid& monoid, const State& left, const State& right) const {
    State inputs = left;
    inputs.insert(inputs.end(), right.begin(), right.end());
    return interpret(monoid.combine, inputs, options_);
  }

  State reduced(const Monoid& monoid, const State& identity, std::vector<State> states) const {
    if (order_ == Order::interleaved) {
      std::vector<State> accumulators(4, identity);
      for (std::size_t i = 0; i < states.size(); ++i)
        accumulators[i % 4] = combined(monoid, accumulators[i % 4], states[i]);
      states = accumulators;
    }
    if (order_ == Order::tree || order_ == Order::interleaved) {
      for (std::size_t width = 1; width < states.size(); width *= 2)
        for (std::size_t i = 0; i + width < states.size(); i += 2 * width)
          states[i] = combined(monoid, states[i], states[i + width]);
      return states.empty() ? identity : states[0];
    }
    State result = identity;
    if (order_ == Order::backward) std::reverse(states.begin(), states.end());
    for (const State& state : states)
      result = order_ == Order::backward ? combined(monoid, state, result) : combined(monoid, result, state);
    return result;
  }

  /// Forward: one by one. Otherwise in chunks of three, each joined with what precedes it.
  void scan(const Monoid& monoid, const State& identity, const std::vector<State>& states,
            std::vector<State>& results) const {
    const std::size_t chunk = order_ == Order::forward ? states.size() + 1 : 3;
    State before = identity, inside = identity;
    for (std::size_t i = 0; i < states.size(); ++i) {
      if (i % chunk == 0 && i > 0) {
        before = combined(monoid, before, inside);
        inside = identity;
      }
      inside = combined(monoid, inside, states[i]);
      results.push_back(combined(monoid, before, inside));
    }
  }

  const Graph& body_;
  const Rows& rows_;
  Order order_;
  InterpreterOptions options_;
  std::vector<char> per_element_;
  std::vector<std::vector<State>> nodes_;  ///< by node, then by point or row
};

}  // namespace

Results interpret_rows(const Graph& body, const Rows& rows, Order order, InterpreterOptions options) {
  return RowInterpreter(body, rows, order, options).run();
}

RowProgram::RowProgram(const std::vector<DType>& types, const PassOptions& passes, const Build& build) {
  Graph graph;
  std::vector<NodeId> inputs;
  for (std::size_t i = 0; i < types.size(); ++i) inputs.push_back(graph.load(i, types[i]));
  graph.outputs = {build(graph, inputs)};
  verify(graph, true);
  body_ = run_pipeline(graph, passes);
  verify_legal(body_);
}

Operand RowProgram::run(const std::vector<Operand>& operands, std::size_t length, Order order) const {
  return interpret_rows(body_, {1, length, operands}, order, options)[0];
}

ReductionSpec reduction(Reduction kind) {
  ReductionSpec spec;
  spec.kind = kind;
  return spec;
}

ReductionSpec combination(const std::vector<DType>& components,
                          const std::function<std::vector<NodeId>(Graph&, const std::vector<NodeId>&)>& build) {
  Graph combiner;
  std::vector<NodeId> inputs;
  for (std::size_t i = 0; i < 2 * components.size(); ++i)
    inputs.push_back(combiner.input(i, components[i % components.size()]));
  combiner.outputs = build(combiner, inputs);
  ReductionSpec spec = reduction(Reduction::combine);
  spec.combiner = std::make_shared<const Graph>(std::move(combiner));
  return spec;
}

}  // namespace kiln::codegen::testing
