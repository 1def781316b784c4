// tests/fuzz/execute_reductions.cpp -- records reductions and scans, of kiln's functions and of a user's.
#include "tests/fuzz/execute_reductions.h"

#include "tests/fuzz/combiners.h"

namespace fuzz {
namespace {

namespace detail = kiln::detail;
using detail::NodeId;
using detail::Recorder;
using detail::ReductionCall;

constexpr detail::Where here{"program.cpp", 1};

detail::Reducing reducing(const Node& node) {
  const bool scans = node.kind == NodeKind::scan;
  if (node.joining != Joining::none) return scans ? detail::Reducing::scan : detail::Reducing::reduce;
  constexpr detail::Reducing names[] = {detail::Reducing::cumsum, detail::Reducing::cumprod, detail::Reducing::cummax,
                                        detail::Reducing::cummin};
  return scans ? names[static_cast<int>(node.function)]
               : static_cast<detail::Reducing>(node.function);  // in the same order
}

struct Traced {
  const Combiner* combiner;
  std::vector<DType> types;
};

void trace(Recorder& recorder, const void* function, const NodeId* inputs, NodeId* outputs) {
  const Traced& traced = *static_cast<const Traced*>(function);
  std::vector<NodeId> values(inputs, inputs + 2 * traced.types.size());
  for (const JoiningStep& step : traced.combiner->steps) {
    std::vector<NodeId> operands;
    for (const int input : step.inputs) operands.push_back(values[static_cast<std::size_t>(input)]);
    const DType type = step.truth ? DType::b1 : traced.types[static_cast<std::size_t>(step.of)];
    values.push_back(detail::record_operation(recorder, step.op, type, operands.data(),
                                              static_cast<unsigned>(operands.size()), here));
  }
  for (std::size_t k = 0; k < traced.types.size(); ++k)
    outputs[k] = values[static_cast<std::size_t>(traced.combiner->outputs[k])];
}

NodeId record_joining(Recorder& recorder, const Program& program, const Node& node, ReductionCall call,
                      const std::vector<NodeId>& inputs) {
  Traced traced{&combiner_of(node.joining), {}};
  std::vector<NodeId> identities;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const DType type = program.nodes[static_cast<std::size_t>(node.inputs[k])].type;
    traced.types.push_back(type);
    identities.push_back(
        detail::record_literal(recorder, type, identity_bits(node.joining, static_cast<int>(k), type), 0, here));
  }
  call.bits |= ReductionCall::captured;
  const auto count = static_cast<unsigned>(inputs.size());
  call.extra = detail::captured_combiner(&trace, &traced, traced.types.data(), count, here);
  const DType type = traced.types[0];
  if (count == 1) {
    const NodeId operands[] = {inputs[0], identities[0]};
    return detail::record_reduction(recorder, call, type, operands, node.has_identity ? 2 : 1, here);
  }
  const NodeId operands[] = {detail::record_tuple(recorder, inputs.data(), count, here),
                             detail::record_tuple(recorder, identities.data(), count, here)};
  const NodeId joined = detail::record_reduction(recorder, call, type, operands, 2, here);
  return detail::record_component(recorder, joined, static_cast<unsigned>(node.component), here);
}

}  // namespace

std::vector<std::int64_t> written_axes(const Program& program, const Node& node) {
  const auto rank = program.nodes[static_cast<std::size_t>(node.inputs[0])].shape.size();
  std::vector<std::int64_t> axes(node.axes.begin(), node.axes.end());
  for (std::int64_t& axis : axes)
    if (node.from_end) axis -= static_cast<std::int64_t>(rank);
  return axes;
}

NodeId record_reduction(Recorder& recorder, const Program& program, const Node& node,
                        const std::vector<NodeId>& inputs) {
  ReductionCall call;
  call.bits = static_cast<std::uint64_t>(reducing(node)) << ReductionCall::function_shift;
  if (node.keepdims) call.bits |= ReductionCall::keepdims;
  if (!node.unnamed) {
    const std::vector<std::int64_t> axes = written_axes(program, node);
    call.bits |= ReductionCall::named;
    for (std::size_t i = 0; i < axes.size(); ++i) call.bits |= (static_cast<std::uint64_t>(axes[i]) & 15) << (4 * i);
    call.bits |= static_cast<std::uint64_t>(axes.size()) << ReductionCall::count_shift;
  }
  if (node.joining != Joining::none) return record_joining(recorder, program, node, call, inputs);
  if (node.function == Function::var || node.function == Function::std_)
    call.extra = static_cast<std::uint64_t>(node.ddof);
  return detail::record_reduction(recorder, call, node.type, inputs.data(), 1, here);
}

}  // namespace fuzz
