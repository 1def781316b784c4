// dsl/recorder_repeat.cpp -- kl::repeat: what was recorded between the states and the next states, as a loop of its
// own.
#include <algorithm>
#include <vector>

#include "codegen/ir/loop.h"
#include "codegen/ir/op_info.h"
#include "codegen/pass/passes.h"
#include "dsl/recorder.h"
#include "dsl/shapes.h"
#include "support/check.h"

namespace kiln::detail {
namespace {

using codegen::Graph;
using codegen::Node;
using codegen::NodeKind;

constexpr std::uint64_t first_loop_state = std::uint64_t{1} << 32;  // beyond the inputs of every call

NodeId part(Recorder& recorder, Op op, NodeId value, Where where) {
  return recorder.operation(op, real_of(recorder.graph()[value].type), &value, 1, where);
}

/// Values with the complex ones as their parts.
std::vector<NodeId> real_values(Recorder& recorder, const NodeId* values, unsigned count, Where where) {
  std::vector<NodeId> parts;
  for (unsigned i = 0; i < count; ++i) {
    if (!is_complex(recorder.graph()[values[i]].type)) {
      parts.push_back(values[i]);
      continue;
    }
    parts.push_back(part(recorder, Op::real, values[i], where));
    parts.push_back(part(recorder, Op::imag, values[i], where));
  }
  return parts;
}

/// The leaves behind the states that a body was given.
std::vector<NodeId> leaves_of(const Graph& graph, const NodeId* states, unsigned count) {
  std::vector<NodeId> leaves;
  for (unsigned i = 0; i < count; ++i) {
    const Node& node = graph[states[i]];
    if (node.kind == NodeKind::complex) {
      leaves.insert(leaves.end(), {node.operands[0], node.operands[1]});
    } else {
      leaves.push_back(states[i]);
    }
  }
  return leaves;
}

/// Cuts the body out of the graph of the trace: what depends on the leaves is copied; what does not is an operand of
/// the loop, and a parameter of the body.
class Body {
 public:
  Body(Recorder& recorder, const std::vector<NodeId>& leaves, Where where)
      : recorder_(recorder), where_(where), states_(leaves.size()) {
    const Graph& graph = recorder.graph();
    depends_.resize(graph.size(), 0);
    renamed_.resize(graph.size(), codegen::no_node);
    for (std::size_t k = 0; k < leaves.size(); ++k) {
      depends_[leaves[k]] = 1;
      renamed_[leaves[k]] = body_.parameter(k, graph[leaves[k]].type);
    }
    for (NodeId id = *std::min_element(leaves.begin(), leaves.end()); id < graph.size(); ++id)
      for (const NodeId operand : graph[id].inputs()) depends_[id] |= depends_[operand];
  }

  /// The node of the body for a node of the trace, operands first.
  NodeId copy(NodeId root) {
    std::vector<std::pair<NodeId, std::size_t>> stack{{root, 0}};
    while (!stack.empty()) {
      auto& [id, visited] = stack.back();
      const Node node = recorder_.graph()[id];  // a copy: captures append to the graph
      if (renamed_[id] == codegen::no_node && depends_[id] == 0) renamed_[id] = captured(id, node);
      if (renamed_[id] == codegen::no_node && visited < node.arity) {
        const NodeId operand = node.operands[visited++];
        stack.emplace_back(operand, 0);
        continue;
      }
      if (renamed_[id] == codegen::no_node) renamed_[id] = copied(id, node);
      stack.pop_back();
    }
    return renamed_[root];
  }

  Graph take(const std::vector<NodeId>& outputs) {
    for (const NodeId output : outputs) {
      const DType type = compute_type(body_[output].type);
      body_.outputs.push_back(body_[output].type == type
                                  ? output
                                  : body_.primitive(NodeKind::cast, type, {output}, codegen::unrounded_cast));
    }
    return codegen::run_pipeline(codegen::canonical(body_), {});
  }
  const std::vector<NodeId>& operands() const { return operands_; }

 private:
  NodeId captured(NodeId id, const Node& node) {
    if (node.kind == NodeKind::literal) return body_.literal(node.type, node.payload);
    if (is_complex(node.type)) {
      const DType type = real_of(node.type);
      const NodeId real = operand(part(recorder_, Op::real, id, where_), type);
      return body_.complex(node.type, real, operand(part(recorder_, Op::imag, id, where_), type));
    }
    return operand(id, node.type);
  }
  NodeId operand(NodeId value, DType type) {
    operands_.push_back(recorder_.unrounded(value, compute_type(type), where_));
    return body_.parameter(states_ + operands_.size() - 1, type);
  }

  NodeId copied(NodeId id, Node node) {
    const Graph& graph = recorder_.graph();
    const codegen::Location written = graph.location(id);
    const Where where{written.file, written.line};
    if (node.kind == NodeKind::call && !graph.function(node).loop) {
      fail<TypeError>(
          "kl::repeat: the body calls {}, a kl::function of CUDA text{}; write the function as a lambda of kiln's "
          "operations, kl::function(\"name\", [](auto x) {{ ... }})",
          graph.function(node).name, dsl::place(where.line ? where : where_));
    }
    const bool allowed = node.kind == NodeKind::operation || node.kind == NodeKind::cast ||
                         node.kind == NodeKind::complex || node.kind == NodeKind::call || node.kind == NodeKind::random;
    if (!allowed) {
      fail<TypeError>(
          "kl::repeat: the body may use elementwise operations only on its states{}: no views, shifts, reductions, "
          "indices or taken elements; compute them before the loop and capture them",
          dsl::place(where.line ? where : where_));
    }
    for (std::size_t i = 0; i < node.arity; ++i) node.operands[i] = renamed_[node.operands[i]];
    return body_.adopt(graph, node, written);
  }

  Recorder& recorder_;
  Where where_;
  std::size_t states_;
  std::vector<char> depends_;
  std::vector<NodeId> renamed_;
  std::vector<NodeId> operands_;  ///< of the trace: what the body captured
  Graph body_;
};

/// The function of state 0; the others differ in the result.
codegen::Function function_of(std::shared_ptr<const codegen::Loop> loop, const std::vector<DType>& types, Where where) {
  codegen::Function function;
  function.name = "repeat";
  function.parameter_names.emplace_back("n");
  function.parameters.push_back(DType::i32);
  function.text = fmt::format("{} states{}\n", loop->states, loop->breaks ? ", breaks" : "");
  for (std::size_t k = 0; k < types.size(); ++k) {
    const bool is_state = k < loop->states;
    function.parameter_names.push_back(fmt::format("{}{}", is_state ? 's' : 'c', is_state ? k : k - loop->states));
    function.parameters.push_back(compute_type(types[k]));
    function.text += fmt::format("{} ", name_of(compute_type(types[k])));
  }
  function.text += "\n" + codegen::to_text(loop->body);
  function.loop = std::move(loop);
  function.where = {where.file, where.line};
  return function;
}

}  // namespace

NodeId Recorder::loop_state(DType type, int rank) {
  Node node{.kind = NodeKind::input, .type = type, .payload = first_loop_state + loop_states_++};
  return add(node, rank, {});
}

NodeId Recorder::complex(DType type, NodeId real, NodeId imaginary, Where where) {
  return known(graph_.complex(type, real, imaginary, {where.file, where.line}),
               std::max(ranks_[real], ranks_[imaginary]));
}

void Recorder::repeat(const Repetition& r, NodeId* results, Where where) {
  check_node(r.turns, "repeat", where);
  if (ranks_[r.turns] > 0)
    fail<TypeError>("kl::repeat: the number of turns is one number, not one per element{}; use kl::break_if",
                    dsl::place(where));
  for (unsigned k = 0; k < r.count; ++k) check_node(r.next[k], "repeat", where);
  const std::vector<NodeId> initial = real_values(*this, r.initial, r.count, where),
                            next = real_values(*this, r.next, r.count, where);
  const std::vector<NodeId> leaves = leaves_of(graph_, r.states, r.count);
  Body body(*this, leaves, where);
  std::vector<NodeId> outputs;
  if (r.condition) check_node(*r.condition, "repeat", where);
  const NodeId condition = r.condition ? body.copy(*r.condition) : codegen::no_node;
  for (const NodeId value : next) outputs.push_back(body.copy(value));
  if (r.condition) outputs.push_back(condition);

  auto loop = std::make_shared<codegen::Loop>();
  loop->states = static_cast<unsigned>(leaves.size());
  loop->breaks = r.condition != nullptr;
  std::vector<NodeId> operands{r.turns};
  std::vector<DType> types;
  for (const NodeId value : initial) {
    types.push_back(graph_[value].type);
    operands.push_back(unrounded(value, compute_type(types.back()), where));
  }
  for (const NodeId value : body.operands()) {
    types.push_back(graph_[value].type);
    operands.push_back(value);
  }
  constexpr std::size_t most = codegen::NodeOperands::limit - 1;
  if (types.size() > most) {
    fail<TypeError>(
        "kl::repeat: {} states and {} captured values{}; at most {} together are possible (complex ones count twice): "
        "combine what the body reads",
        loop->states, types.size() - loop->states, dsl::place(where), most);
  }
  loop->body = body.take(outputs);
  align(operands.data(), static_cast<unsigned>(operands.size()), where);
  int rank = 0;
  for (const NodeId operand : operands) rank = std::max(rank, ranks_[operand]);

  codegen::Function function = function_of(std::move(loop), types, where);
  const codegen::Location place{where.file, where.line};
  std::vector<NodeId> calls;
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    function.component = static_cast<unsigned>(k);
    function.name = k == 0 ? "repeat" : fmt::format("repeat_{}", k);  // part of the graph's text, which is a key
    function.result = graph_[leaves[k]].type;
    calls.push_back(known(graph_.call(std::make_shared<const codegen::Function>(function), operands, place), rank));
  }
  std::size_t next_call = 0;
  for (unsigned k = 0; k < r.count; ++k) {
    results[k] = calls[next_call++];
    const DType type = graph_[r.initial[k]].type;
    if (is_complex(type)) results[k] = complex(type, results[k], calls[next_call++], where);
  }
}

void begin_repeat(Recorder& recorder, const NodeId* initial, unsigned count, NodeId* states, Where where) {
  int rank = 0;
  for (unsigned k = 0; k < count; ++k) rank = std::max(rank, recorder.rank(initial[k]));
  for (unsigned k = 0; k < count; ++k) {
    const DType type = recorder.graph()[initial[k]].type;
    if (is_complex(type)) {
      const NodeId real = recorder.loop_state(real_of(type), rank), imag = recorder.loop_state(real_of(type), rank);
      states[k] = recorder.complex(type, real, imag, where);
    } else {
      states[k] = recorder.loop_state(type, rank);
    }
  }
}

void end_repeat(Recorder& recorder, const Repetition& repetition, NodeId* results, Where where) {
  recorder.repeat(repetition, results, where);
}

}  // namespace kiln::detail
