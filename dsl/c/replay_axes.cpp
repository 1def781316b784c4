// dsl/c/replay_axes.cpp -- reductions, scans, takes, shifts and views of a graph of the C interface.
#include <algorithm>
#include <array>

#include <kiln/detail/reduction_rules.h>

#include "dsl/c/fault.h"
#include "dsl/c/replay.h"
#include "dsl/c/tables.h"
#include "dsl/shapes.h"

namespace kiln::dsl::c {
namespace {

using detail::NodeId;
using detail::Reducing;
using detail::ReductionCall;
using detail::Where;

void check_axis(std::int64_t axis, int rank, const char* what, Where where) {
  if (axis >= -rank && axis < rank) return;
  if (rank == 0) fail<ShapeError>("{}: axis {} of a value without axes{}", what, axis, place(where));
  fail<ShapeError>("{}: axis {} does not exist in a value of rank {}{}; use {} to {}", what, axis, rank, place(where),
                   -rank, rank - 1);
}

ReductionCall call_of(const Step& step, Reducing function, int rank) {
  ReductionCall call;
  const bool is_scan = detail::is_scan(function);
  const auto axes = is_scan ? step.numbers : step.numbers.subspan(1);
  const bool named = is_scan || (step.flags & Step::named) != 0;
  const char* what = is_scan ? "a scan" : "a reduction";
  if (axes.size() > detail::max_rank)
    fail<ShapeError>("{} along {} axes{}; values have at most {}", what, axes.size(), place(step.where),
                     detail::max_rank);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    check_axis(axes[i], rank, what, step.where);
    call.bits |= (static_cast<std::uint64_t>(axes[i]) & 15) << (4 * i);
  }
  if (named) call.bits |= ReductionCall::named;
  if (!is_scan && (step.flags & Step::keepdims)) call.bits |= ReductionCall::keepdims;
  call.bits |= std::uint64_t{axes.size()} << ReductionCall::count_shift;
  call.bits |= static_cast<std::uint64_t>(function) << ReductionCall::function_shift;
  return call;
}

DType result_type(const Step& step, Reducing function, DType operand, const char* name) {
  using enum detail::ReductionFault;
  const bool accumulates = (step.flags & Step::accumulates) != 0;
  if (accumulates && function != Reducing::sum && function != Reducing::prod && function != Reducing::mean)
    fail<TypeError>("{} does not accumulate{}: sum, prod and mean do", name, place(step.where));
  const detail::ReductionType r =
      accumulates ? detail::accumulating_type(function, step.type) : detail::reduction_type(function, operand);
  if (r.fault == order)
    fail<TypeError>("{} of {}{}: complex numbers have no order; reduce their abs or real", name, kiln::name_of(operand),
                    place(step.where));
  if (r.fault == exponential) fail<TypeError>("{} is not defined for complex elements{}", name, place(step.where));
  if (r.fault == accumulator) fail<TypeError>("{} accumulates in a type of numbers, not b1{}", name, place(step.where));
  if (r.fault == mean_accumulator)
    fail<TypeError>("mean accumulates in a floating or complex type, not {}{}", kiln::name_of(step.type),
                    place(step.where));
  return r.result;
}

/// The function of a join: its inputs are the nodes given, its outputs must have their types.
void trace_function(detail::Recorder& recorder, const void* function, const NodeId* inputs, NodeId* outputs) {
  const Program& program = *static_cast<const Program*>(function);
  Replay replay(recorder, inputs);
  replay.play(program);
  for (std::size_t i = 0; i < program.outputs().size(); ++i) outputs[i] = replay.node(program.outputs()[i], {});
}

/// 2k inputs without axes of the types joined, k outputs.
void check_function(const Program& function, const DType* types, std::size_t count, Where where) {
  std::size_t inputs = 0;
  for (std::size_t i = 0; i < function.size(); ++i) {
    const Step step = function[i];
    if (step.kind != StepKind::input) continue;
    if (inputs < 2 * count && (step.numbers[0] != 0 || step.type != types[inputs % count]))
      fail<TypeError>("input {} of the function is of type {} with {} axes{}; it must be of type {} without axes",
                      inputs, kiln::name_of(step.type), step.numbers[0], place(where),
                      kiln::name_of(types[inputs % count]));
    ++inputs;
  }
  if (inputs != 2 * count || function.outputs().size() != count)
    fail<TypeError>("the function that joins {} values has {} inputs and {} outputs{}; it must have {} and {}", count,
                    inputs, function.outputs().size(), place(where), 2 * count, count);
}

}  // namespace

void Replay::reduce(const Step& step) {
  const Reducing function = reducing_of(step.kind, step.code);
  const char* const name = step.kind == StepKind::scan ? name_of(scan_names(), step.code, "KILN_SCAN_")
                                                       : name_of(reduction_names(), step.code, "KILN_REDUCE_");
  const NodeId value = array(step.operands[0], name, step.where);
  ReductionCall call = call_of(step, function, recorder_.rank(value));
  const DType result = result_type(step, function, type(step.operands[0]), name);
  if (step.kind == StepKind::reduce) {
    if (step.numbers[0] != 0 && function != Reducing::var && function != Reducing::std_)
      fail<TypeError>("{} takes no ddof{}: var and std do", name, place(step.where));
    call.extra = static_cast<std::uint64_t>(step.numbers[0]);
  }
  add_node(recorder_.reduction(call, result, &value, 1, step.where));
}

void Replay::join(const Step& step) {
  const std::size_t count = step.operands.size() / 2;
  if (count < 1 || count > 3 || step.operands.size() != 2 * count)
    fail_argument("{} values with {} identities cannot be joined: one to three with one identity each are", count,
                  step.operands.size() - count);
  std::array<DType, 3> types{};
  std::array<NodeId, 3> values{}, identities{};
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = array(step.operands[i], "a reduction or scan by a function", step.where);
    types[i] = type(step.operands[i]);
    identities[i] = number_as(step.operands[count + i], types[i], "the identity", step.where);
  }
  check_function(*step.function, types.data(), count, step.where);
  int rank = 0;
  for (std::size_t i = 0; i < count; ++i) rank = std::max(rank, recorder_.rank(values[i]));
  ReductionCall call = call_of(step, reducing_of(step.kind, 0), rank);
  call.bits |= ReductionCall::captured;
  call.extra = detail::captured_combiner(&trace_function, step.function.get(), types.data(),
                                         static_cast<unsigned>(count), step.where);
  const auto size = static_cast<unsigned>(count);
  if (count == 1) {
    const NodeId operands[] = {values[0], identities[0]};
    return add_node(recorder_.reduction(call, types[0], operands, 2, step.where));
  }
  const NodeId operands[] = {recorder_.tuple(values.data(), size, step.where),
                             recorder_.tuple(identities.data(), size, step.where)};
  const NodeId joined = recorder_.reduction(call, types[0], operands, 2, step.where);
  for (unsigned i = 0; i < size; ++i) add_node(recorder_.component(joined, i, step.where));
}

void Replay::take(const Step& step) {
  name_of(take_names(), step.code, "KILN_TAKE_");
  name_of(outside_names(), static_cast<std::int32_t>(step.flags), "KILN_OUTSIDE_");
  detail::TakeCall call;
  call.axis = step.code == KILN_TAKE_flat ? 0 : step.numbers[0];
  if (step.code == KILN_TAKE_flat) call.flags |= detail::TakeCall::flat;
  if (step.code == KILN_TAKE_along) call.flags |= detail::TakeCall::along;
  if (step.flags == KILN_OUTSIDE_clip) call.flags |= detail::TakeCall::clip;
  if (step.flags == KILN_OUTSIDE_wrap) call.flags |= detail::TakeCall::wrap;
  const NodeId source = array(step.operands[0], "a take", step.where);
  const kiln_value indices = step.operands[1];
  const bool weak_integer = is_weak(indices) && is_integer(type(indices));
  const NodeId at = node_as(indices, weak_integer ? DType::i64 : type(indices), step.where);
  add_node(recorder_.item_take(call, source, at, step.where));
}

void Replay::shift(const Step& step) {
  name_of(beyond_names(), step.code, "KILN_BEYOND_");
  const bool fills = step.code == KILN_BEYOND_fill;
  if (fills != (step.operands.size() == 2))
    fail_argument("a shift takes a fill value with KILN_BEYOND_fill, and with no other{}", place(step.where));
  const NodeId value = array(step.operands[0], "a shift", step.where);
  NodeId fill = 0;
  if (fills) fill = number_as(step.operands[1], type(step.operands[0]), "the fill value of a shift", step.where);
  const auto count = static_cast<unsigned>(step.numbers.size());
  const auto beyond = static_cast<detail::Beyond>(step.code - KILN_BEYOND_clamp);
  add_node(
      detail::record_shift(recorder_, value, fills ? &fill : nullptr, beyond, step.numbers.data(), count, step.where));
}

/// What needs no extents is checked here, the rest when they are known.
void Replay::view(const Step& step) {
  const char* const name = word_of(step.kind);
  const NodeId value = array(step.operands[0], name, step.where);
  const int rank = recorder_.rank(value);
  const auto count = static_cast<int>(std::min<std::size_t>(step.numbers.size(), 64));
  const auto extents = [&](std::int64_t least) {
    if (count > detail::max_rank)
      fail<ShapeError>("{} to {} axes{}; 0 to {} are possible", name, step.numbers.size(), place(step.where),
                       detail::max_rank);
    for (const std::int64_t extent : step.numbers)
      if (extent < least) fail<ShapeError>("{}: an extent of {}{}", name, extent, place(step.where));
  };
  const auto axes = [&](int of) {
    unsigned named = 0;
    for (const std::int64_t axis : step.numbers) {
      check_axis(axis, of, name, step.where);
      const unsigned bit = 1u << (axis < 0 ? axis + of : axis);
      if (named & bit) fail<ShapeError>("{} names axis {} twice{}; name each once", name, axis, place(step.where));
      named |= bit;
    }
  };
  detail::ViewKind kind = detail::ViewKind::slice;
  if (step.kind == StepKind::transpose) {
    if (count != 0 && count != rank)
      fail<ShapeError>("transpose of {} axes names {}{}; name each once", rank, count, place(step.where));
    axes(rank), kind = detail::ViewKind::transpose;
  } else if (step.kind == StepKind::reshape) {
    extents(-1), kind = detail::ViewKind::reshape;
    if (std::count(step.numbers.begin(), step.numbers.end(), -1) > 1)
      fail<ShapeError>("reshape to more than one extent of -1{}; only one can follow from the others",
                       place(step.where));
  } else if (step.kind == StepKind::broadcast_to) {
    extents(0), kind = detail::ViewKind::broadcast_to;
  } else if (step.kind == StepKind::squeeze) {
    axes(rank), kind = detail::ViewKind::squeeze;
  } else if (step.kind == StepKind::unsqueeze) {
    if (count == 0 || rank + count > detail::max_rank)
      fail<ShapeError>("unsqueeze of rank {} by {} axes{}; 1 to {} are possible", rank, count, place(step.where),
                       detail::max_rank - rank);
    axes(rank + count), kind = detail::ViewKind::unsqueeze;
  } else if (step.kind == StepKind::flip) {
    axes(rank), kind = detail::ViewKind::flip;
  } else if (count > 4 * rank) {
    fail<ShapeError>("a slice with {} items of a value of rank {}{}", step.numbers.size() / 4, rank, place(step.where));
  }
  for (int i = 0; step.kind == StepKind::slice && i + 3 < count; i += 4) {
    const std::int64_t flags = step.numbers[i];
    constexpr std::int64_t index = KILN_SLICE_INDEX | KILN_SLICE_HAS_START;
    if ((flags & ~std::int64_t{7}) != 0 || ((flags & KILN_SLICE_INDEX) && flags != index))
      fail_argument("{} are no flags of a slice: an index has KILN_SLICE_INDEX and KILN_SLICE_HAS_START", flags);
    if ((step.numbers[i] & KILN_SLICE_INDEX) == 0 && step.numbers[i + 3] == 0)
      fail<ShapeError>("a slice with a step of 0{}", place(step.where));
  }
  add_node(recorder_.item_view(value, static_cast<int>(kind), step.numbers.data(),
                               static_cast<unsigned>(step.numbers.size()), step.where));
}

}  // namespace kiln::dsl::c
