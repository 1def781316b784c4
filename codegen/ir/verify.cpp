// codegen/ir/verify.cpp -- the grammar of graphs: arity, operand order and the type rule of every kind of node.
#include <string>

#include <fmt/format.h>

#include "codegen/ir/graph.h"
#include "codegen/ir/op_info.h"
#include "codegen/ir/reduction.h"
#include "support/check.h"

namespace kiln::codegen {
namespace {

/// What is wrong with an operation node, or empty.
std::string operation_problem(const Graph& graph, const Node& node) {
  const detail::OpInfo& row = detail::op_info(node.op);
  if (node.arity != row.arity) return fmt::format("has {} operands, its row says {}", node.arity, row.arity);
  std::array<DType, 3> types{};
  for (std::size_t i = 0; i < node.arity; ++i) types[i] = graph[node.operands[i]].type;
  const TypeRule rule = type_rule(node.op, {types.data(), node.arity});
  if (!rule.error.empty()) return rule.error;
  const std::size_t first_value = row.result == detail::ResultRule::select ? 1 : 0;
  for (std::size_t i = first_value; i < node.arity && !rule.keeps_operands; ++i) {
    if (types[i] != rule.operand) {
      return fmt::format("operand {} is {}, its type rule asks for {}", i, name_of(types[i]), name_of(rule.operand));
    }
  }
  if (node.type != rule.result)
    return fmt::format("has type {}, its type rule gives {}", name_of(node.type), name_of(rule.result));
  return {};
}

/// Where a graph stands decides which nodes it may hold.
enum class Place : std::uint8_t { trace, body, trace_combiner, body_combiner };

constexpr bool is_body(Place place) { return place == Place::body || place == Place::body_combiner; }
constexpr bool is_combiner(Place place) { return place >= Place::trace_combiner; }

std::string problem_of(const Graph& graph, NodeId id, Place place);

std::string combiner_problem(const Graph& combiner, const Graph& graph, std::span<const NodeId> state, Place place) {
  const std::size_t count = state.size();
  if (combiner.outputs.size() != count)
    return fmt::format("its combiner joins {} components, its operand has {}", combiner.outputs.size(), count);
  for (NodeId id = 0; id < combiner.size(); ++id) {
    const Node& node = combiner[id];
    std::string problem = problem_of(combiner, id, place);
    if (problem.empty() && node.kind == NodeKind::input) {
      if (node.payload >= 2 * count)
        problem = fmt::format("is input {} of {}", node.payload, 2 * count);
      else if (node.type != graph[state[node.payload % count]].type)
        problem = "has another type than its component";
    }
    if (!problem.empty()) return fmt::format("combiner, node %{}: {}", id, problem);
  }
  for (std::size_t c = 0; c < count; ++c) {
    if (combiner.outputs[c] >= combiner.size() || combiner[combiner.outputs[c]].type != graph[state[c]].type)
      return fmt::format("component {} is joined to another type", c);
  }
  return {};
}

/// The type rules of the kinds that have no combiner yet.
std::string plain_reduction_problem(const Graph& graph, const Node& node, Reduction kind) {
  const DType type = graph[node.operands[0]].type;
  const DType second = node.arity > 1 ? graph[node.operands[1]].type : type;
  switch (kind) {
    case Reduction::combine:
      return "has no combiner";
    case Reduction::argmax:
    case Reduction::argmin:
      if (is_complex(type)) return "complex numbers have no order";
      return node.type != DType::i64 || second != DType::i64 ? "positions are i64" : "";
    case Reduction::max:
    case Reduction::min:
      if (is_complex(type)) return "complex numbers have no order";
      break;
    case Reduction::any:
    case Reduction::all:
      if (type != DType::b1) return "needs truth values";
      break;
    case Reduction::squared_deviations:
      if (second != compute_type(type)) return fmt::format("counts elements in {}", name_of(second));
      [[fallthrough]];
    case Reduction::logsumexp:
      if (!is_floating(type)) return "needs floating operands";
      break;
    default:
      break;
  }
  return node.type != type ? "has another type than its operand" : "";
}

std::string reduction_problem(const Graph& graph, const Node& node, Place place) {
  const ReductionSpec& spec = graph.reduction(node);
  const Reduction kind = spec.kind;
  if (is_body(place) && (spec.axes != 0 || spec.keepdims)) return "names axes; in bodies the loop's are meant";
  if (node.kind == NodeKind::scan && !is_body(place) && (spec.axes == 0 || (spec.axes & (spec.axes - 1)) != 0))
    return "does not run along one axis";
  if (node.kind == NodeKind::scan && kind > Reduction::combine) return "there are no running reductions of its kind";
  const bool two =
      spec.combiner || kind == Reduction::argmax || kind == Reduction::argmin || kind == Reduction::squared_deviations;
  if (node.arity != (two ? 2u : 1u))
    return fmt::format("has {} operands, its reduction takes {}", node.arity, two ? 2 : 1);
  if (!spec.combiner) {
    if (gives_tuple(graph, node)) return "a tuple needs a combiner";
    return plain_reduction_problem(graph, node, kind);
  }
  const std::span<const NodeId> state = components_of(graph, node.operands[0]);
  const std::span<const NodeId> identity = components_of(graph, node.operands[1]);
  if (identity.size() != state.size()) return "identity and values differ in components";
  for (std::size_t c = 0; c < state.size(); ++c) {
    if (graph[identity[c]].type != graph[state[c]].type) return fmt::format("identity {} has another type", c);
  }
  if (node.type != graph[state[0]].type) return "has another type than its operand";
  return combiner_problem(*spec.combiner, graph, state, is_body(place) ? Place::body_combiner : Place::trace_combiner);
}

std::string tuple_problem(const Graph& graph, const Node& node) {
  if (node.arity < 2) return "needs two or three components";
  return node.type != graph[node.operands[0]].type ? "must have the type of its first component" : "";
}

std::string element_problem(const Graph& graph, const Node& node) {
  const Node& joined = graph[node.operands[0]];
  if (!gives_tuple(graph, joined)) return "its operand is no reduction of tuples";
  const Node& tuple = graph[joined.operands[0]];
  if (node.payload >= tuple.arity) return fmt::format("names component {} of {}", node.payload, tuple.arity);
  return node.type != graph[tuple.operands[node.payload]].type ? "must have the type of its component" : "";
}

/// Tuples are operands of reductions only, and reductions of tuples operands of `element`.
std::string use_problem(const Graph& graph, const Node& node) {
  for (const NodeId operand : node.inputs()) {
    if (graph[operand].kind == NodeKind::tuple && !joins_elements(node.kind)) return "takes a tuple";
    if (gives_tuple(graph, graph[operand]) && node.kind != NodeKind::element) return "takes a whole joined tuple";
  }
  return {};
}

unsigned arity_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::input:
    case NodeKind::load:
    case NodeKind::iota:
    case NodeKind::parameter:
    case NodeKind::literal:
      return 0;
    case NodeKind::complex:
    case NodeKind::mulhi:
    case NodeKind::random:
    case NodeKind::take:
      return 2;
    case NodeKind::gather:
      return 3;
    default:
      return 1;
  }
}

std::string type_problem(const Graph& graph, const Node& node) {
  const DType first = node.arity > 0 ? graph[node.operands[0]].type : node.type;
  const DType second = node.arity > 1 ? graph[node.operands[1]].type : first;
  switch (node.kind) {
    case NodeKind::iota:
    case NodeKind::index:
      if (node.type != DType::i64) return "must be i64";
      return node.kind == NodeKind::index && node.payload >= 8 ? "names an axis above 7" : "";
    case NodeKind::gather:
      for (const NodeId operand : node.inputs())
        if (graph[operand].type != DType::i64) return "finds its element by i64 numbers";
      return "";
    case NodeKind::take:
      if (first != node.type) return "must have the type of its elements";
      return is_integer(second) ? "" : "needs integer indices";
    case NodeKind::literal: {
      if (is_complex(node.type)) return "a complex literal is `complex` of two literals";
      const std::size_t bits = node.type == DType::b1 ? 1 : 8 * size_of(node.type);
      return bits < 64 && node.payload >> bits != 0 ? "holds bits outside its type" : "";
    }
    case NodeKind::view:
      return first != node.type ? "a view keeps its operand's type" : "";
    case NodeKind::bitcast:
      return size_of(first) != size_of(node.type) ? "must keep the size" : "";
    case NodeKind::complex:
      if (!is_complex(node.type)) return "must have a complex type";
      return first != real_of(node.type) || second != first ? "needs two parts of its own precision" : "";
    case NodeKind::real_part:
    case NodeKind::imag_part:
      return !is_complex(first) || node.type != real_of(first) ? "takes a complex operand and has the type of its parts"
                                                               : "";
    case NodeKind::mulhi:
      return !is_unsigned_integer(node.type) || first != node.type || second != first ? "needs one unsigned type" : "";
    case NodeKind::random:
      if (!is_floating(node.type)) return "must be floating";
      return first != DType::u64 || second != DType::u64 ? "needs u64 counter and key" : "";
    default:
      return "";
  }
}

bool is_allowed(NodeKind kind, Place place) {
  switch (kind) {
    case NodeKind::input:
      return place != Place::body;
    case NodeKind::load:
    case NodeKind::gather:
      return place == Place::body;
    case NodeKind::mulhi:
      return is_body(place);
    case NodeKind::index:
    case NodeKind::view:
    case NodeKind::extent:
    case NodeKind::take:
      return place == Place::trace;
    case NodeKind::iota:
    case NodeKind::parameter:
    case NodeKind::random:
    case NodeKind::reduce:
    case NodeKind::scan:
    case NodeKind::tuple:
    case NodeKind::element:
    case NodeKind::call:
      return !is_combiner(place);
    default:
      return true;
  }
}

std::string call_problem(const Graph& graph, const Node& node, Place place) {
  if (node.payload >= graph.functions().size()) return "names no function";
  const Function& function = graph.function(node);
  if (node.arity != function.parameters.size())
    return fmt::format("has {} operands, {} takes {}", node.arity, function.name, function.parameters.size());
  for (std::size_t i = 0; i < node.arity; ++i) {
    if (graph[node.operands[i]].type != function.parameters[i])
      return fmt::format("operand {} is {}, {} takes {}", i, name_of(graph[node.operands[i]].type), function.name,
                         name_of(function.parameters[i]));
  }
  const bool widened = is_body(place) && node.type == compute_type(function.result);
  return node.type != function.result && !widened ? "has another type than its function returns" : "";
}

std::string shift_problem(const Graph& graph, const Node& node) {
  const std::vector<std::int64_t>& numbers = graph.view_spec(node).numbers;
  const bool fills = !numbers.empty() && numbers[0] == static_cast<std::int64_t>(ViewSpec::Boundary::fill);
  if (node.arity != (fills ? 2u : 1u))
    return fmt::format("has {} operands, its boundary takes another number", node.arity);
  return type_problem(graph, node).empty() && graph[node.operands[node.arity - 1]].type == node.type
             ? ""
             : "a shift keeps the type of its operands";
}

std::string kind_problem(const Graph& graph, const Node& node, Place place) {
  switch (node.kind) {
    case NodeKind::tuple:
      return tuple_problem(graph, node);
    case NodeKind::reduce:
    case NodeKind::scan:
      return reduction_problem(graph, node, place);
    case NodeKind::call:
      return call_problem(graph, node, place);
    default:
      break;
  }
  if (node.kind == NodeKind::view && graph.view_spec(node).kind == ViewSpec::Kind::shift)
    return shift_problem(graph, node);
  if (node.arity != arity_of(node.kind))
    return fmt::format("has {} operands, its kind takes {}", node.arity, arity_of(node.kind));
  return node.kind == NodeKind::element ? element_problem(graph, node) : type_problem(graph, node);
}

std::string problem_of(const Graph& graph, NodeId id, Place place) {
  const Node& node = graph[id];
  if (node.arity > node.operands.size()) return fmt::format("has arity {}", node.arity);
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    if (i < node.arity && node.operands[i] >= id)
      return fmt::format("operand {} (%{}) does not precede it", i, node.operands[i]);
    if (i >= node.arity && node.operands[i] != no_node) return fmt::format("unused operand {} is set", i);
  }
  if (!is_allowed(node.kind, place)) {
    return is_combiner(place)     ? "is not allowed in a combiner"
           : place == Place::body ? "is not allowed in a kernel body"
                                  : "is allowed in a kernel body only";
  }
  std::string problem = use_problem(graph, node);
  if (!problem.empty()) return problem;
  if (node.kind == NodeKind::operation) {
    if (node.payload > (is_body(place) ? library_form : 0)) return "carries a form that only legalize may write";
    return operation_problem(graph, node);
  }
  return node.op != Op{} ? "carries an operation" : kind_problem(graph, node, place);
}

}  // namespace

void verify(const Graph& graph, bool kernel_body) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    const std::string problem = problem_of(graph, id, kernel_body ? Place::body : Place::trace);
    if (problem.empty()) continue;
    const Node& node = graph[id];
    const char* name = node.kind == NodeKind::operation ? detail::op_info(node.op).name : "kind";
    fail<InternalError>("graph node %{} ({} {} {}): {}; please report this defect in kiln", id, name_of(node.type),
                        name, static_cast<int>(node.kind), problem);
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const NodeId output = graph.outputs[i];
    if (output >= graph.size()) {
      fail<InternalError>("graph output {} is %{}, but there are {} nodes; please report this defect in kiln", i,
                          output, graph.size());
    }
    if (graph[output].kind == NodeKind::tuple || gives_tuple(graph, graph[output])) {
      fail<InternalError>("graph output {}, %{}, is a tuple; please report this defect in kiln", i, output);
    }
  }
}

}  // namespace kiln::codegen
