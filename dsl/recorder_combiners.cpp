// dsl/recorder_combiners.cpp -- reductions and scans by functions of the user's: the function as a graph, its states.
#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "dsl/recorder.h"
#include "dsl/shapes.h"
#include "support/check.h"
#include "support/fork_safe.h"

namespace kiln::detail {
namespace {

using codegen::NodeKind;
using codegen::Reduction;
using codegen::ReductionSpec;

/// What `recorder` holds as a combiner with these outputs, one per component.
std::shared_ptr<const codegen::Graph> finished(Recorder& recorder, const std::vector<DType>& types,
                                               const NodeId* outputs, const char* name, Where where) {
  codegen::Graph graph = recorder.take();
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (outputs[i] < graph.size() && graph[outputs[i]].type == types[i]) continue;
    fail<TypeError>("kl::{}: the function does not return values of the types that it joins{}", name,
                    dsl::place(where));
  }
  graph.outputs.assign(outputs, outputs + types.size());
  graph = codegen::canonical(graph);
  for (const codegen::Node& node : graph.nodes()) {
    if (node.kind == NodeKind::input || node.kind == NodeKind::literal || node.kind == NodeKind::complex ||
        node.kind == NodeKind::cast || node.kind == NodeKind::operation)
      continue;
    fail<TypeError>(
        "kl::{}: the function may use elementwise operations only{}: no views, reductions or indices, and no "
        "kl::function of CUDA text",
        name, dsl::place(where));
  }
  return std::make_shared<const codegen::Graph>(std::move(graph));
}

/// The user's function as a graph of its own: inputs 0..k-1 are the left state, k..2k-1 the right one.
std::shared_ptr<const codegen::Graph> trace_combiner(const std::vector<DType>& types, CombinerFunction trace,
                                                     const void* function, const char* name, Where where) {
  const auto count = static_cast<unsigned>(types.size());
  Recorder recorder(std::vector<int>(std::size_t{2} * count, 0), 0);
  std::array<NodeId, 6> inputs{};
  std::array<NodeId, 3> outputs{};
  for (unsigned i = 0; i < 2 * count; ++i) inputs[i] = recorder.input(i, types[i % count]);
  trace(recorder, function, inputs.data(), outputs.data());
  return finished(recorder, types, outputs.data(), name, where);
}

/// What a captured function was recorded as: of equal ones one, which lives as long as the process, as the kernels do
/// that it is compiled to.
struct CapturedCombiner {
  std::vector<DType> types;
  std::shared_ptr<const codegen::Graph> graph;
};

/// The graph of the function that `call` names.
std::shared_ptr<const codegen::Graph> combiner_of(const ReductionCall& call, const std::vector<DType>& types,
                                                  const char* name, Where where) {
  const auto address = static_cast<std::uintptr_t>(call.extra);
  if ((call.bits & ReductionCall::captured) == 0)
    return trace_combiner(types, reinterpret_cast<CombinerFunction>(address), nullptr, name, where);
  const auto& captured = *reinterpret_cast<const CapturedCombiner*>(address);
  KILN_INTERNAL_CHECK(captured.types == types, "kl::{}: a combiner of other types", name);
  return captured.graph;
}

/// `joined` of two values for states of a value and whether there is one.
std::shared_ptr<const codegen::Graph> optional_combiner(DType type, const codegen::Graph& combiner, const char* name,
                                                        Where where) {
  Recorder recorder(std::vector<int>(4, 0), 0);
  const NodeId left = recorder.input(0, type), has_left = recorder.input(1, DType::b1);
  const NodeId right = recorder.input(2, type), has_right = recorder.input(3, DType::b1);
  const NodeId joined = recorder.inlined(combiner, {left, right});
  const auto apply = [&](Op op, DType result, std::initializer_list<NodeId> operands) {
    return recorder.operation(op, result, operands.begin(), static_cast<unsigned>(operands.size()), where);
  };
  const NodeId value = apply(Op::where, type, {has_left, apply(Op::where, type, {has_right, joined, left}), right});
  const NodeId outputs[] = {value, apply(Op::logical_or, DType::b1, {has_left, has_right})};
  return finished(recorder, {type, DType::b1}, outputs, name, where);
}

/// The kind that the function is, where it is one operation on its two values: kinds are faster, and have identities.
std::optional<Reduction> kind_of_function(const codegen::Graph& combiner, bool scans) {
  const codegen::Node& node = combiner[combiner.outputs[0]];
  if (node.kind != NodeKind::operation || node.arity != 2 || node.operands[0] == node.operands[1]) return std::nullopt;
  for (const NodeId operand : node.inputs())
    if (combiner[operand].kind != NodeKind::input) return std::nullopt;
  const bool truth = node.type == DType::b1;
  switch (node.op) {
    case Op::add:
      return truth ? std::nullopt : std::optional(Reduction::sum);
    case Op::mul:
      return truth ? std::nullopt : std::optional(Reduction::prod);
    case Op::maximum:
      return truth ? std::nullopt : std::optional(Reduction::max);
    case Op::minimum:
      return truth ? std::nullopt : std::optional(Reduction::min);
    case Op::logical_or:
    case Op::bit_or:
      return truth && !scans ? std::optional(Reduction::any) : std::nullopt;
    case Op::logical_and:
    case Op::bit_and:
      return truth && !scans ? std::optional(Reduction::all) : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

/// The first output of a combiner, with `values` for its inputs.
NodeId Recorder::inlined(const codegen::Graph& combiner, std::initializer_list<NodeId> values) {
  std::vector<NodeId> nodes;
  for (codegen::NodeId id = 0; id < combiner.size(); ++id) {
    codegen::Node node = combiner[id];
    if (node.kind == NodeKind::input) {
      nodes.push_back(values.begin()[node.payload]);
      continue;
    }
    for (std::size_t i = 0; i < node.arity; ++i) node.operands[i] = nodes[node.operands[i]];
    nodes.push_back(known(graph_.adopt(combiner, node, combiner.location(id)), 0));
  }
  return nodes[combiner.outputs[0]];
}

NodeId Recorder::combine(const Reduced& r, const ReductionCall& call, NodeId identity) {
  check_node(identity, r.name, r.where);
  if (ranks_[identity] != 0) {
    fail<ShapeError>("kl::{}: the identity has rank {}{}; it is a single number", r.name, ranks_[identity],
                     dsl::place(r.where));
  }
  const NodeId value = r.value;
  const codegen::Node values = graph_[value];
  std::vector<DType> types = {values.type};
  if (values.kind == NodeKind::tuple) {
    types.clear();
    for (const NodeId each : values.inputs()) types.push_back(graph_[each].type);
  }
  ReductionSpec spec;
  spec.kind = Reduction::combine;
  spec.axes = r.axes;
  spec.keepdims = r.keepdims;
  spec.combiner = combiner_of(call, types, r.name, r.where);
  return append(r, spec, values.type, {value, identity});
}

/// Without an identity: elements are joined to one another only.
NodeId Recorder::combine_some(const Reduced& r, const ReductionCall& call) {
  const DType type = graph_[r.value].type;
  const auto plain = combiner_of(call, {type}, r.name, r.where);
  if (const std::optional<Reduction> kind = kind_of_function(*plain, is_scan(r.function)))
    return reduce(r, *kind, r.value);
  ReductionSpec spec;
  spec.kind = Reduction::combine;
  spec.axes = r.axes;
  spec.keepdims = r.keepdims;
  spec.refuses_empty = true;
  spec.combiner = optional_combiner(type, *plain, r.name, r.where);
  const NodeId element[] = {r.value, literal(DType::b1, 1, 0, r.where)};
  const NodeId nothing[] = {literal(type, 0, 0, r.where), literal(DType::b1, 0, 0, r.where)};
  return component(append(r, spec, type, {tuple(element, 2, r.where), tuple(nothing, 2, r.where)}), 0, r.where);
}

NodeId Recorder::tuple(const NodeId* values, unsigned count, Where where) {
  KILN_INTERNAL_CHECK(count == 2 || count == 3, "a tuple of {}", count);
  codegen::Node node{.kind = NodeKind::tuple, .arity = static_cast<std::uint8_t>(count)};
  std::array<NodeId, 3> aligned{};
  for (unsigned i = 0; i < count; ++i) {
    check_node(values[i], "reduce or kl::scan", where);
    aligned[i] = values[i];
  }
  align(aligned.data(), count, where);
  int rank = 0;
  for (unsigned i = 0; i < count; ++i) {
    node.operands[i] = aligned[i];
    rank = std::max(rank, ranks_[aligned[i]]);
  }
  node.type = graph_[values[0]].type;
  return add(node, rank, where);
}

NodeId Recorder::component(NodeId tuple, unsigned component, Where where) {
  check_node(tuple, "reduce or kl::scan", where);
  const codegen::Node& values = graph_[graph_[tuple].operands[0]];
  KILN_INTERNAL_CHECK(values.kind == NodeKind::tuple && component < values.arity, "component {} of %{}", component,
                      tuple);
  codegen::Node node{.kind = NodeKind::element, .arity = 1, .payload = component};
  node.type = graph_[values.operands[component]].type;
  node.operands[0] = tuple;
  return add(node, ranks_[tuple], where);
}

std::uint64_t captured_combiner(CombinerFunction trace, const void* function, const DType* types, unsigned count,
                                Where where) {
  struct Known {
    ForkSafeMutex mutex;
    std::map<std::string, CapturedCombiner> combiners;  // addresses of values stay
  };
  static constinit Leaked<Known> all;
  Known& known = all.get();
  CapturedCombiner made{{types, types + count}, {}};
  made.graph = trace_combiner(made.types, trace, function, "reduce or kl::scan", where);
  std::string text = codegen::to_text(*made.graph);
  for (const DType type : made.types) text += name_of(type);
  const std::lock_guard lock(known.mutex);
  return reinterpret_cast<std::uintptr_t>(&known.combiners.try_emplace(std::move(text), std::move(made)).first->second);
}

void mixed_traces(Where where) {
  fail<TypeError>(
      "a traced value was used in another trace than its own{}: what a function of kl::reduce or kl::scan, or a "
      "lambda, captures must be a C++ number; give traced values as arguments, or as components of a std::tuple that "
      "is reduced",
      dsl::place(where));
}

NodeId record_tuple(Recorder& r, const NodeId* values, unsigned count, Where where) {
  return r.tuple(values, count, where);
}
NodeId record_component(Recorder& r, NodeId tuple, unsigned component, Where where) {
  return r.component(tuple, component, where);
}

}  // namespace kiln::detail
