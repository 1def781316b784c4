// codegen/emit/cuda_loops.cpp -- loops inside CUDA kernels: each is a function that gives the states after the last
// turn.
#include <fmt/format.h>

#include "codegen/emit/cuda_types.h"
#include "codegen/emit/cuda_writer.h"
#include "codegen/ir/loop.h"

namespace kiln::codegen::cuda {
namespace {

/// Nodes that `roots` need and that `done` does not have yet, which are added to it.
std::vector<NodeId> needed_nodes(const Graph& graph, std::span<const NodeId> roots, std::vector<char>& done) {
  std::vector<char> needed(graph.size(), 0);
  for (const NodeId root : roots) needed[root] = 1;
  for (NodeId id = graph.size(); id-- > 0;) {
    if (needed[id] == 0) continue;
    for (const NodeId operand : graph[id].inputs()) needed[operand] = 1;
  }
  std::vector<NodeId> nodes;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (needed[id] == 0 || done[id] != 0) continue;
    done[id] = 1;
    nodes.push_back(id);
  }
  return nodes;
}

std::string state_name(const Function& function, std::size_t k) {
  const unsigned states = function.loop->states;
  return k < states ? fmt::format("s{}", k) : fmt::format("c{}", k - states);
}

}  // namespace

std::string Writer::loop_call(const Function& function, const std::vector<std::string>& operands) {
  const std::string name = loop_name(function);
  if (loops_.insert(name).second) define_loop(function);
  return fmt::format("{}({})", name, fmt::join(operands, ", "));
}

std::string Writer::loop_states(const std::string& call, const std::string& local) {
  std::string& variable = loop_states_[call];
  if (variable.empty()) {
    variable = local + "_states";
    line("const {}_states {} = {};", call.substr(0, call.find('(')), variable, call);
  }
  return variable;
}

void Writer::define_loop(const Function& function) {
  std::string text = std::move(text_);
  std::map<std::string, std::string> states = std::move(loop_states_);
  const int indent = indent_;
  text_.clear();
  loop_states_.clear();
  indent_ = 0;
  const std::string name = loop_name(function);
  std::string fields, parameters, results;
  for (std::size_t k = 0; k + 1 < function.parameters.size(); ++k) {
    const char* type = value_type(compute_type(function.parameters[k + 1]));
    parameters += fmt::format(", {} {}", type, state_name(function, k));
    if (k >= function.loop->states) continue;
    fields += fmt::format(" {} {};", type, state_name(function, k));
    results += (k ? ", " : "") + state_name(function, k);
  }
  line("struct {}_states {{{} }};", name, fields);
  open(fmt::format("static __device__ {0}_states {0}(i32 n{1})", name, parameters));
  open("for (i32 turn = 0; turn < n; ++turn)");
  loop_body(function);
  close();
  line("return {{{}}};", results);
  close();
  definitions_ += text_ + "\n";
  text_ = std::move(text);
  loop_states_ = std::move(states);
  indent_ = indent;
}

/// One turn. Nothing but the condition is computed where it ends the loop.
void Writer::loop_body(const Function& function) {
  const Loop& loop = *function.loop;
  const Graph& graph = loop.body;
  std::vector<std::string> names(graph.size());
  std::vector<char> done(graph.size(), 0);
  int next = 0;
  const auto print = [&](std::span<const NodeId> roots) {
    for (const NodeId id : needed_nodes(graph, roots, done)) {
      if (graph[id].kind == NodeKind::parameter) {
        names[id] = state_name(function, graph[id].payload);
      } else if (name_node(graph, id, names, fmt::format("v{}", next), {})) {
        ++next;
      }
    }
  };
  const std::span<const NodeId> outputs = graph.outputs;
  if (loop.breaks) {
    print(outputs.subspan(loop.states, 1));
    line("if ({}) break;", names[outputs[loop.states]]);
  }
  print(outputs.first(loop.states));
  // All values are there before the first state changes: one may be another state.
  for (unsigned k = 0; k < loop.states; ++k)
    line("const {} t{} = {};", value_type(graph[outputs[k]].type), k, names[outputs[k]]);
  for (unsigned k = 0; k < loop.states; ++k) line("s{0} = t{0};", k);
}

}  // namespace kiln::codegen::cuda
