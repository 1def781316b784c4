// dsl/scatter_trace.cpp -- records where updates go: the index, checked, times its stride, and the other coordinates.
#include "dsl/scatter_trace.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "dsl/recorder.h"
#include "dsl/scatter_report.h"
#include "dsl/taken_shape.h"
#include "support/check.h"

namespace kiln::dsl {
namespace {

using detail::Handle;
using detail::Instruction;
using detail::NodeId;
using detail::Parts;
using detail::Recorder;
using detail::Slot;
using detail::TracedArgument;

/// The parts of one evaluation: the user's, then numbers that kernels take, then words that only tell calls apart.
class PartList {
 public:
  void add(const Parts& parts) { parts_.push_back(parts); }
  void add_number(std::int64_t value) { append(argument, value, 0); }
  void add_word(std::int64_t first, std::int64_t second) { append(word, first, second); }
  void add_shape(const Shape& shape) {
    add_word(shape.rank, 0);
    for (int axis = 0; axis < shape.rank; axis += 2)
      add_word(shape.extents[axis], axis + 1 < shape.rank ? shape.extents[axis + 1] : 0);
  }
  void evaluate(detail::Site& site, detail::Target* targets, unsigned count, detail::FunctionTrace trace,
                const void* environment, const void* signature, const detail::ScatterTarget* scatter,
                ScatterReport* report, Where where) const {
    detail::Evaluation evaluation(parts_.data(), static_cast<unsigned>(parts_.size()), targets, count);
    evaluation.trace = trace;
    evaluation.environment = environment;
    evaluation.signature = signature;
    evaluation.scatter = scatter;
    evaluation.where = where;
    run_step(site, evaluation, report);
  }

 private:
  static constexpr Instruction argument{.kind = Instruction::argument, .type = DType::i64, .source = DType::i64};
  static constexpr Instruction word{.kind = Instruction::constant, .type = DType::i64, .source = DType::i64};
  void append(const Instruction& code, std::int64_t first, std::int64_t second) {
    slots_.push_back({nullptr, {static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(second)}});
    parts_.push_back({&code, &slots_.back(), 1});
  }
  std::vector<Parts> parts_;
  std::deque<Slot> slots_;  // addresses stay
};

/// Short names for recording.
struct Recording {
  Recorder& r;
  Where where;

  DType type(NodeId node) const { return r.graph()[node].type; }
  NodeId op(Op op, DType result, std::initializer_list<NodeId> operands) const {
    return detail::record_operation(r, op, result, operands.begin(), static_cast<unsigned>(operands.size()), where);
  }
  NodeId number(const TracedArgument& argument, DType type) const {
    return detail::record_parameter(r, argument.slot, type);
  }
  NodeId literal(std::int64_t value, DType type = DType::i64) const {
    return detail::record_literal(r, type, static_cast<std::uint64_t>(value), 0, where);
  }
  NodeId cast(NodeId value, DType to) const {
    return type(value) == to ? value : detail::record_cast(r, value, to, where);
  }
  NodeId view(NodeId value, detail::ViewKind kind, const std::int64_t* numbers, int count) const {
    return detail::record_view(r, value, static_cast<int>(kind), numbers, static_cast<unsigned>(count), where);
  }
  /// `count` axes of extent 1 behind the axes of the value.
  NodeId with_axes_behind(NodeId value, int count) const {
    std::int64_t numbers[max_rank];
    for (int k = 0; k < count; ++k) numbers[k] = r.rank(value) + k;
    return count == 0 ? value : view(value, detail::ViewKind::unsqueeze, numbers, count);
  }
};

/// The number of the place along the axis (i64), and whether there is one.
struct Position {
  NodeId position, valid;
};
Position position_of(const Recording& record, NodeId index, const TracedArgument& extent) {
  const bool is_signed = is_signed_integer(record.type(index));
  const DType type = is_signed ? DType::i64 : DType::u64;
  const NodeId given = record.cast(index, type), end = record.number(extent, type);
  if (!is_signed) return {record.cast(given, DType::i64), record.op(Op::lt, DType::b1, {given, end})};
  const NodeId zero = record.literal(0);
  const NodeId position = record.op(
      Op::where, type, {record.op(Op::lt, DType::b1, {given, zero}), record.op(Op::add, type, {given, end}), given});
  return {position,
          record.op(Op::logical_and, DType::b1,
                    {record.op(Op::ge, DType::b1, {position, zero}), record.op(Op::lt, DType::b1, {position, end})})};
}

struct Environment {
  const ScatterTrace& trace;
  Where where;
  bool updates_are_number;
};

/// True where some elements of the target lie before element 0.
bool goes_down(const ScatterTrace& trace) {
  const auto strides = trace.target.strides.begin();
  return std::any_of(strides, strides + trace.target.shape.rank, [](std::int64_t stride) { return stride < 0; });
}

NodeId updates_node(const Recording& record, const Environment& e, const TracedArgument& argument, DType type) {
  return e.updates_are_number ? record.number(argument, type) : record.cast(argument.node, type);
}

/// Arguments: indices, updates, extent, stride of the axis, strides of the other axes, and the place of element 0 where
/// that is not the first in memory.
void trace_places(Recorder& recorder, const void* environment, const TracedArgument* arguments, NodeId* outputs) {
  const auto& e = *static_cast<const Environment*>(environment);
  const ScatterTrace& t = e.trace;
  const Recording record{recorder, e.where};
  const int inner = t.target.shape.rank - 1 - t.axis;
  const Position index = position_of(record, arguments[0].node, arguments[2]);
  NodeId at = record.op(Op::mul, DType::i64, {index.position, record.number(arguments[3], DType::i64)});
  at = record.with_axes_behind(at, inner);
  const NodeId valid = record.with_axes_behind(index.valid, inner);
  const NodeId zeros =
      record.view(record.literal(0), detail::ViewKind::broadcast_to, t.updates.extents.data(), t.updates.rank);
  int next = 4;
  for (int axis = 0; axis < t.target.shape.rank; ++axis) {
    if (axis == t.axis) continue;
    const int seen = axis < t.axis ? axis : axis - 1 + t.indices.rank;
    const NodeId step = record.number(arguments[next++], DType::i64);
    const NodeId coordinate = detail::record_index(recorder, zeros, seen, e.where);
    at = record.op(Op::add, DType::i64, {at, record.op(Op::mul, DType::i64, {coordinate, step})});
  }
  // Negative places are none, so places count from the first element in memory.
  if (goes_down(t)) at = record.op(Op::add, DType::i64, {at, record.number(arguments[next], DType::i64)});
  outputs[0] = updates_node(record, e, arguments[1], t.type);
  outputs[1] = record.op(Op::where, DType::i64, {valid, at, record.literal(-1)});
}

/// Arguments: indices, extent.
void trace_keys(Recorder& recorder, const void* environment, const TracedArgument* arguments, NodeId* outputs) {
  const auto& e = *static_cast<const Environment*>(environment);
  const Recording record{recorder, e.where};
  const Position index = position_of(record, arguments[0].node, arguments[1]);
  const NodeId key =
      record.op(Op::where, DType::i64, {index.valid, index.position, record.number(arguments[1], DType::i64)});
  outputs[0] = has_far_keys(e.trace) ? key : record.cast(key, DType::i32);
}

void trace_updates(Recorder& recorder, const void* environment, const TracedArgument* arguments, NodeId* outputs) {
  const auto& e = *static_cast<const Environment*>(environment);
  const Recording record{recorder, e.where};
  outputs[0] = updates_node(record, e, arguments[0], compute_type(e.trace.type));
}

/// Arguments: target, counts, number.
void trace_counted(Recorder& recorder, const void* environment, const TracedArgument* arguments, NodeId* outputs) {
  const auto& e = *static_cast<const Environment*>(environment);
  const Recording record{recorder, e.where};
  const DType type = is_complex(e.trace.type) ? DType::c128 : DType::f64;
  const NodeId counts =
      record.with_axes_behind(record.cast(arguments[1].node, type), e.trace.target.shape.rank - 1 - e.trace.axis);
  const NodeId sum = record.op(Op::mul, type, {counts, record.number(arguments[2], type)});
  outputs[0] = record.cast(record.op(Op::add, type, {record.cast(arguments[0].node, type), sum}), e.trace.type);
}

constexpr char places_signature = 0, keys_signature = 0, far_keys_signature = 0, updates_signature = 0,
               counted_signature = 0;

bool is_number(const Parts& parts) { return parts.code[0].kind == Instruction::argument; }

OwnedHandle evaluated(const PartList& parts, detail::Site& site, DType type, const Shape& shape,
                      runtime::DeviceId device, detail::FunctionTrace trace, const Environment& e,
                      const void* signature) {
  OwnedHandle result = allocate_on(device, type, shape, "scatter", e.where);
  Handle handle = result.get();
  detail::Target target{&handle, type, false};
  parts.evaluate(site, &target, 1, trace, &e, signature, nullptr, e.trace.report, e.where);
  return result;
}

}  // namespace

void scatter_places(detail::Site& site, const ScatterTrace& trace, detail::Scattering operation, Handle& target,
                    const Parts& indices, const Parts& updates, Where where) {
  Handle first = target;
  first.data = static_cast<char*>(target.data) + target.layout->low;
  detail::ScatterTarget scatter;
  scatter.operation = operation;
  scatter.rank = trace.updates.rank;
  std::copy_n(trace.updates.extents.begin(), trace.updates.rank, scatter.shape);
  detail::Target targets[] = {{&first, trace.type, false}, {&first, DType::i64, false}};
  evaluate_places(site, trace, *target.layout, indices, updates, targets, &scatter, where);
}

void evaluate_places(detail::Site& site, const ScatterTrace& trace, const detail::Layout& target, const Parts& indices,
                     const Parts& updates, detail::Target* targets, const detail::ScatterTarget* scatter, Where where) {
  PartList parts;
  parts.add(indices);
  parts.add(updates);
  parts.add_number(trace.target.shape.extents[trace.axis]);
  parts.add_number(trace.target.strides[trace.axis]);
  for (int axis = 0; axis < trace.target.shape.rank; ++axis)
    if (axis != trace.axis) parts.add_number(trace.target.strides[axis]);
  const bool down = goes_down(trace);
  if (down) parts.add_number(-target.low / static_cast<std::int64_t>(size_of(trace.type)));
  const std::int64_t operation = scatter ? static_cast<std::int64_t>(scatter->operation) : -1;
  parts.add_word(trace.axis, operation * 2 + (down ? 1 : 0));
  parts.add_shape(trace.updates);
  const Environment e{trace, where, is_number(updates)};
  parts.evaluate(site, targets, 2, &trace_places, &e, &places_signature, scatter, trace.report, where);
}

bool has_far_keys(const ScatterTrace& trace) { return trace.target.shape.extents[trace.axis] >= INT32_MAX; }

OwnedHandle evaluate_keys(detail::Site& site, const ScatterTrace& trace, runtime::DeviceId device, const Parts& indices,
                          Where where) {
  PartList parts;
  parts.add(indices);
  parts.add_number(trace.target.shape.extents[trace.axis]);
  const Environment e{trace, where, false};
  const bool far = has_far_keys(trace);
  return evaluated(parts, site, far ? DType::i64 : DType::i32, trace.indices, device, &trace_keys, e,
                   far ? &far_keys_signature : &keys_signature);
}

OwnedHandle evaluate_updates(detail::Site& site, const ScatterTrace& trace, runtime::DeviceId device,
                             const Parts& updates, Where where) {
  PartList parts;
  parts.add(updates);
  const Environment e{trace, where, is_number(updates)};
  return evaluated(parts, site, compute_type(trace.type), is_number(updates) ? Shape{} : trace.updates, device,
                   &trace_updates, e, &updates_signature);
}

void add_counted(Handle& target, const Handle& counts, int axis, const Parts& number, ScatterReport* report,
                 Where where) {
  static constinit detail::Site site{};
  const Instruction codes[] = {{.kind = Instruction::input, .type = target.layout->dtype},
                               {.kind = Instruction::input, .type = DType::i64}};
  const Slot slots[] = {__builtin_bit_cast(Slot, target), __builtin_bit_cast(Slot, counts)};
  PartList parts;
  parts.add({&codes[0], &slots[0], 1});
  parts.add({&codes[1], &slots[1], 1});
  parts.add(number);
  parts.add_word(axis, 0);
  ScatterTrace trace;
  trace.target = strided_of(*target.layout);
  trace.axis = axis;
  trace.type = target.layout->dtype;
  detail::Target to{&target, trace.type, false};
  const Environment e{trace, where, true};
  parts.evaluate(site, &to, 1, &trace_counted, &e, &counted_signature, nullptr, report, where);
}

void run_step(detail::Site& site, const detail::Evaluation& evaluation, ScatterReport* report) {
  if (!report) return detail::evaluate(site, evaluation);
  report->add(detail::inspect(site, evaluation, report->arch()));
}

void fill_zero(const Handle& array, ScatterReport* report, Where where) {
  static constinit detail::Site site{};
  static constexpr Instruction code{.kind = Instruction::parameter, .type = DType::i64, .source = DType::i64};
  const Slot slot{nullptr, {0, 0}};
  const Parts parts{&code, &slot, 1};
  Handle to = array;
  detail::Target target{&to, array.layout->dtype, false};
  detail::Evaluation evaluation(&parts, 1, &target, 1);
  evaluation.where = where;
  run_step(site, evaluation, report);
}

}  // namespace kiln::dsl
