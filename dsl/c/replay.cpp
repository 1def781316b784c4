// dsl/c/replay.cpp -- inputs, numbers and elementwise operations of a graph of the C interface.
#include "dsl/c/replay.h"

#include <cstring>

#include <kiln/detail/program.h>

#include "codegen/ir/op_info.h"
#include "dsl/c/fault.h"
#include "dsl/c/function.h"
#include "dsl/c/tables.h"
#include "dsl/shapes.h"

namespace kiln::dsl::c {

using detail::NodeId;
using detail::Where;

void require_count(const detail::OpInfo& info, std::size_t count, Where where) {
  if (count != info.arity) fail_argument("{} takes {} operands, not {}{}", info.name, info.arity, count, place(where));
}

void require_count(const UserFunction& function, std::size_t count, Where where) {
  const std::size_t parameters = function.parameters().size();
  if (count != parameters)
    fail_argument("function {} takes {} operands, not {}{}", function.name(), parameters, count, place(where));
}

void Replay::check(kiln_value value) const {
  if (value >= values_.size()) [[unlikely]]
    fail_argument("value {} does not exist: the graph has {}", value, values_.size());
}

int Replay::rank(kiln_value value) const {
  const Value& v = values_[value];
  return v.kind == Value::is_node ? recorder_.rank(v.id) : 0;
}

void Replay::add_node(NodeId node, bool weak) {
  values_.push_back({.kind = Value::is_node, .weak = weak, .type = recorder_.graph()[node].type, .id = node});
}

detail::ScalarArgument Replay::number_of(const Value& value) const {
  detail::ScalarArgument number;
  number.type = value.type;
  std::memcpy(number.bytes, value.bits, sizeof number.bytes);
  return number;
}

NodeId Replay::node_as(kiln_value value, DType type, Where where) {
  const Value& v = values_[value];
  if (v.kind == Value::is_slot) return recorder_.parameter(v.id, type);
  if (v.kind == Value::is_number) return detail::record_number(recorder_, number_of(v), type, where);
  return v.type == type ? v.id : recorder_.cast(v.id, type, where);
}

NodeId Replay::array(kiln_value value, const char* what, Where where) {
  if (values_[value].weak)
    fail<TypeError>("{} of a number{}: it has no axes; a tensor or an expression of tensors is needed", what,
                    place(where));
  return node(value, where);
}

NodeId Replay::number_as(kiln_value value, DType type, const char* what, Where where) {
  const Value& v = values_[value];
  if (rank(value) != 0) fail<ShapeError>("{} has {} axes{}; it must be a number", what, rank(value), place(where));
  if (v.weak ? kind_of(v.type) > kind_of(type) : v.type != type) {
    fail<TypeError>("{} is of type {}{}, which is none of {}", what, kiln::name_of(v.type), place(where),
                    kiln::name_of(type));
  }
  return node_as(value, type, where);
}

namespace {

/// The recorder checks it against the rank.
int axis_of(const Step& step) {
  const std::int64_t axis = step.numbers[0];
  if (axis < INT32_MIN || axis > INT32_MAX) fail<ShapeError>("axis {} does not exist{}", axis, place(step.where));
  return static_cast<int>(axis);
}

}  // namespace

void Replay::play(const Step& step) {
  for (const kiln_value operand : step.operands) check(operand);
  switch (step.kind) {
    case StepKind::input:
      return input(step);
    case StepKind::scalar:
      return scalar(step);
    case StepKind::constant:
      return constant(step);
    case StepKind::operation:
      return operation(step);
    case StepKind::cast:
      return add_node(recorder_.cast(node(step.operands[0], step.where), step.type, step.where));
    case StepKind::index:
      return add_node(recorder_.item_index(node(step.operands[0], step.where), axis_of(step), step.where));
    case StepKind::extent:
      return add_node(
          recorder_.item_extent(array(step.operands[0], "the extent", step.where), axis_of(step), step.where), true);
    case StepKind::random:
      return random(step);
    case StepKind::reduce:
    case StepKind::scan:
      return reduce(step);
    case StepKind::reduce_by:
    case StepKind::scan_by:
      return join(step);
    case StepKind::take:
      return take(step);
    case StepKind::shift:
      return shift(step);
    case StepKind::call:
      return call(step);
    default:
      return view(step);
  }
}

void Replay::input(const Step& step) {
  const std::int64_t rank = step.numbers[0];
  if (rank < 0 || rank > detail::max_rank)
    fail<ShapeError>("a tensor of {} axes{}; 0 to {} are possible", rank, place(step.where), detail::max_rank);
  if (given_) return add_node(given_[inputs_++]);
  if (makes_slots_) recorder_.append_input(static_cast<int>(rank));
  add_node(recorder_.input(inputs_++, step.type));
}

void Replay::scalar(const Step& step) {
  if (given_)
    fail<TypeError>("the function of a reduction or scan takes no scalars{}: write constants", place(step.where));
  if (makes_slots_) recorder_.append_scalar();
  const unsigned slot = scalars_++;
  if (step.flags & Step::strong) return add_node(recorder_.parameter(slot, step.type));
  values_.push_back({.kind = Value::is_slot, .weak = true, .type = step.type, .id = slot});
}

void Replay::constant(const Step& step) {
  Value value{.kind = Value::is_number, .weak = true, .type = step.type};
  for (int i = 0; i < 2; ++i) value.bits[i] = static_cast<std::uint64_t>(step.numbers[i]);
  const std::size_t bytes = size_of(step.type);
  if ((bytes < 8 && value.bits[0] >> (8 * bytes) != 0) || (bytes <= 8 && value.bits[1] != 0))
    fail<TypeError>("a constant of more bits than {} has{}", kiln::name_of(step.type), place(step.where));
  if (step.type == DType::b1 && value.bits[0] > 1)
    fail<TypeError>("a constant of type b1 is 0 or 1, not {}{}", value.bits[0], place(step.where));
  if ((step.flags & Step::strong) == 0) return values_.push_back(value);
  add_node(detail::record_number(recorder_, number_of(value), step.type, step.where));
}

void Replay::operation(const Step& step) {
  const Op op = op_of(step.code);
  const detail::OpInfo& info = detail::op_info(op);
  const std::size_t count = step.operands.size();
  require_count(info, count, step.where);
  detail::OperandType types[3];
  for (std::size_t i = 0; i < count; ++i) types[i] = operand_type(step.operands[i]);
  const detail::Resolution r = detail::resolve(op, types, static_cast<unsigned>(count));
  if (op == Op::pow && is_integer(types[0].type) && is_integer(types[1].type) &&
      values_[step.operands[1]].kind == Value::is_number)
    detail::check_exponent(number_of(values_[step.operands[1]]), step.where);
  NodeId nodes[3];
  for (std::size_t i = 0; i < count; ++i) nodes[i] = node_as(step.operands[i], r.operands[i], step.where);
  const NodeId result = recorder_.operation(op, r.result, nodes, static_cast<unsigned>(count), step.where);
  if (r.fault != detail::Fault::none)
    fail<TypeError>("{} is not defined for operands of type {}{}", info.name, kiln::name_of(r.operands[count - 1]),
                    place(step.where));
  add_node(result, r.weak);
}

void Replay::call(const Step& step) {
  const UserFunction& function = *step.callee;
  const std::size_t count = step.operands.size();
  require_count(function, count, step.where);
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < count; ++i) {
    const kiln_value operand = step.operands[i];
    const DType wanted = function.parameters()[i];
    if (kind_of(type(operand)) > kind_of(wanted))
      fail<TypeError>("operand {} of function {} is of type {}{}, and its parameter of type {}: cast it", i,
                      function.name(), kiln::name_of(type(operand)), place(step.where), kiln::name_of(wanted));
    nodes.push_back(node_as(operand, wanted, step.where));
  }
  add_node(detail::record_call(recorder_, function.slot(), nodes.data(), static_cast<unsigned>(count), step.where));
}

/// The C-order number of each element of `like` counts; random numbers depend on it and on the key alone.
void Replay::random(const Step& step) {
  name_of(random_names(), step.code, "KILN_RANDOM_");
  const NodeId like = array(step.operands[0], "the shape", step.where);
  const kiln_value key = step.operands[1];
  if (!is_integer(type(key)) || rank(key) != 0)
    fail<TypeError>("the key of random numbers is an integer without axes{}", place(step.where));
  NodeId counter = recorder_.literal(DType::i64, 0, 0, step.where);
  for (int axis = 0; axis < recorder_.rank(like); ++axis) {
    const NodeId at = recorder_.item_index(like, axis, step.where);
    if (axis == 0) {
      counter = at;
      continue;
    }
    const NodeId scaled[] = {counter, recorder_.item_extent(like, axis, step.where)};
    const NodeId terms[] = {recorder_.operation(Op::mul, DType::i64, scaled, 2, step.where), at};
    counter = recorder_.operation(Op::add, DType::i64, terms, 2, step.where);
  }
  const NodeId seed = is_weak(key) ? node_as(key, DType::u64, step.where) : node(key, step.where);
  add_node(recorder_.random(counter, seed, step.code == KILN_RANDOM_normal, step.type, step.where));
}

}  // namespace kiln::dsl::c
