// tests/golden/reference.cpp -- reductions of the reference: states of one element after another, joined in order.
#include "tests/golden/reference.h"

#include <map>

namespace kiln::golden {
namespace {

using codegen::Graph;
using codegen::Node;
using codegen::NodeId;
using codegen::NodeKind;
using codegen::Reduction;

std::vector<NodeId> components(const Graph& graph, NodeId state) {
  if (graph[state].kind != NodeKind::tuple) return {state};
  return {graph[state].inputs().begin(), graph[state].inputs().end()};
}

double start_of(Reduction kind) {
  const double infinity = std::numeric_limits<double>::infinity();
  switch (kind) {
    case Reduction::prod:
    case Reduction::all:
      return 1;
    case Reduction::max:
      return -infinity;
    case Reduction::min:
      return infinity;
    default:
      return 0;
  }
}

double joined(Reduction kind, double a, double b) {
  switch (kind) {
    case Reduction::sum:
      return a + b;
    case Reduction::prod:
      return a * b;
    case Reduction::max:
      return operation_value(Op::maximum, {a, b});
    case Reduction::min:
      return operation_value(Op::minimum, {a, b});
    case Reduction::any:
      return a != 0 || b != 0;
    case Reduction::all:
      return a != 0 && b != 0;
    default:
      ADD_FAILURE() << "a combiner is missing";
      return 0;
  }
}

/// The state after `next`; kinds that a combiner computes in a roundabout way are computed plainly.
void join(const codegen::ReductionSpec& spec, std::vector<double>& state, const std::vector<double>& next) {
  if (!spec.combiner) {
    state[0] = joined(spec.kind, state[0], next[0]);
    return;
  }
  if (spec.kind == Reduction::logsumexp) {
    const double m = operation_value(Op::maximum, {state[0], next[0]});
    const double base = std::isinf(m) ? 0 : m;
    state = {m, state[1] * std::exp(state[0] - base) + next[1] * std::exp(next[0] - base)};
    return;
  }
  const Graph& graph = *spec.combiner;
  Reference reference(graph);
  const std::size_t k = state.size();
  reference.evaluate([&](std::size_t slot) { return slot < k ? state[slot] : next[slot - k]; }, {},
                     std::vector<char>(graph.size(), 1));
  for (std::size_t c = 0; c < k; ++c) state[c] = reference.values[graph.outputs[c]];
}

/// The state of no element.
std::vector<double> first_state(const Graph& graph, NodeId id, const std::vector<double>& values) {
  const auto& spec = graph.reduction(graph[id]);
  if (!spec.combiner) return {start_of(spec.kind)};
  std::vector<double> state;
  for (const NodeId c : components(graph, graph[id].operands[1])) state.push_back(values[c]);
  return state;
}

/// The reduction `id` and its components have the values of `state`.
void assign(const Graph& graph, NodeId id, const std::vector<double>& state, std::vector<double>& values) {
  values[id] = state[0];
  for (NodeId user = id + 1; user < graph.size(); ++user) {
    if (graph[user].kind == NodeKind::element && graph[user].operands[0] == id)
      values[user] = state[graph[user].payload];
  }
}

std::function<double(NodeId, double)> running_values(const Graph& graph, const Reference& reference) {
  return [&graph, &reference, running = std::map<NodeId, std::vector<double>>()](NodeId id, double next) mutable {
    const auto& spec = graph.reduction(graph[id]);
    const double start = spec.combiner ? reference.values[graph[id].operands[1]] : start_of(spec.kind);
    auto& state = running.try_emplace(id, 1, start).first->second;
    join(spec, state, {next});
    return state[0];
  };
}

}  // namespace

std::vector<std::vector<double>> reference_row(const codegen::Kernel& kernel, std::size_t length,
                                               const std::function<double(std::size_t, std::size_t)>& operand,
                                               const std::vector<double>& parameters) {
  const Graph& graph = kernel.body;
  const codegen::Stages stages = codegen::stages_of(kernel);
  Reference reference(graph);
  const auto nodes = [&](int depth, bool element) {
    std::vector<char> wanted(graph.size(), 0);
    for (NodeId id = 0; id < graph.size(); ++id) {
      const NodeKind kind = graph[id].kind;
      wanted[id] = kind != NodeKind::reduce && kind != NodeKind::element && stages.depth[id] <= depth &&
                   (stages.per_element[id] != 0) == element;
    }
    return wanted;
  };
  reference.scan = running_values(graph, reference);
  const auto at = [&](std::size_t element) { return [&, element](std::size_t a) { return operand(element, a); }; };
  const int passes = static_cast<int>(stages.passes.size());
  for (int pass = 0; pass < passes; ++pass) {
    reference.evaluate(at(0), parameters, nodes(pass, false));
    std::vector<std::vector<double>> states;
    for (const NodeId id : stages.passes[static_cast<std::size_t>(pass)])
      states.push_back(first_state(graph, id, reference.values));
    for (std::size_t e = 0; e < length; ++e) {
      reference.evaluate(at(e), parameters, nodes(pass, true));
      for (std::size_t r = 0; r < states.size(); ++r) {
        const NodeId id = stages.passes[static_cast<std::size_t>(pass)][r];
        std::vector<double> next;
        for (const NodeId c : components(graph, graph[id].operands[0])) next.push_back(reference.values[c]);
        join(graph.reduction(graph[id]), states[r], next);
      }
    }
    for (std::size_t r = 0; r < states.size(); ++r)
      assign(graph, stages.passes[static_cast<std::size_t>(pass)][r], states[r], reference.values);
  }
  reference.evaluate(at(0), parameters, nodes(passes, false));
  std::vector<std::vector<double>> results(graph.outputs.size());
  for (std::size_t o = 0; o < results.size(); ++o) {
    if (!stages.per_element[graph.outputs[o]] &&
        !codegen::is_per_element(kernel, kernel.accesses[kernel.first_store() + o]))
      results[o] = {reference.values[graph.outputs[o]]};
  }
  for (std::size_t e = 0; e < length && stages.has_element_outputs; ++e) {
    reference.evaluate(at(e), parameters, nodes(passes, true));
    for (std::size_t o = 0; o < results.size(); ++o) {
      if (codegen::is_per_element(kernel, kernel.accesses[kernel.first_store() + o]))
        results[o].push_back(reference.values[graph.outputs[o]]);
    }
  }
  return results;
}

}  // namespace kiln::golden
