// dsl/recorder.cpp -- builds the graph of a trace, checking types as the user's expression runs.
#include "dsl/recorder.h"

#include <algorithm>

#include "codegen/ir/op_info.h"
#include "dsl/shapes.h"
#include "support/check.h"

namespace kiln::detail {
namespace {

codegen::Location location_of(Where where) { return {where.file, where.line}; }

/// "f32" or "f32, i8, f64".
std::string types_text(const codegen::Graph& graph, const NodeId* operands, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i) {
    if (i) text += ", ";
    text += name_of(graph[operands[i]].type);
  }
  return text;
}

int rank_after(const codegen::ViewSpec& spec, int rank) {
  using Kind = codegen::ViewSpec::Kind;
  const int count = static_cast<int>(spec.numbers.size());
  switch (spec.kind) {
    case Kind::reshape:
    case Kind::broadcast_to:
      return count;
    case Kind::unsqueeze:
      return rank + count;
    case Kind::squeeze:
      return rank - count;
    case Kind::slice:
      return rank - static_cast<int>(std::count_if(spec.items.begin(), spec.items.end(),
                                                   [](const auto& item) { return item.is_index; }));
    case Kind::transpose:
    case Kind::flip:
    case Kind::shift:
      break;
  }
  return rank;
}

[[noreturn]] void fail_displacements(const codegen::ViewSpec& spec, int rank, Where where) {
  fail<ShapeError>(
      "kl::shift by {} of an expression of rank {}{}; give one displacement per axis, 0 for those that stay",
      dsl::to_text(std::span(spec.numbers).subspan(1)), rank, dsl::place(where));
}

}  // namespace

NodeId Recorder::add(const codegen::Node& node, int rank, Where where) {
  return known(graph_.add(node, location_of(where)), rank);
}

NodeId Recorder::known(NodeId id, int rank) {
  if (id >= ranks_.size()) ranks_.push_back(rank);
  return id;
}

void Recorder::check_node(NodeId value, const char* operation, Where where) const {
  if (value < graph_.size()) return;
  fail<TypeError>(
      "kl::{}: an operand belongs to another trace{}; a traced value lives only inside the function that "
      "received it",
      operation, dsl::place(where));
}

NodeId Recorder::input(unsigned slot, DType type) {
  KILN_INTERNAL_CHECK(slot < input_ranks_.size(), "input slot {} of {}", slot, input_ranks_.size());
  codegen::Node node{.kind = codegen::NodeKind::input, .type = type, .payload = slot};
  return add(node, input_ranks_[slot], {});
}

NodeId Recorder::iota(unsigned slot) {
  KILN_INTERNAL_CHECK(slot < input_ranks_.size(), "index slot {} of {}", slot, input_ranks_.size());
  codegen::Node node{.kind = codegen::NodeKind::iota, .type = DType::i64, .payload = slot};
  return add(node, input_ranks_[slot], {});
}

NodeId Recorder::parameter(unsigned slot, DType type) {
  KILN_INTERNAL_CHECK(slot < scalar_count_, "scalar slot {} of {}", slot, scalar_count_);
  codegen::Node node{.kind = codegen::NodeKind::parameter, .type = type, .payload = slot};
  return add(node, 0, {});
}

NodeId Recorder::literal(DType type, std::uint64_t low_bits, std::uint64_t high_bits, Where where) {
  if (!is_complex(type)) {
    codegen::Node node{.kind = codegen::NodeKind::literal, .type = type, .payload = low_bits};
    return add(node, 0, where);
  }
  // c64 keeps both parts in the low word, as in memory.
  const bool narrow = type == DType::c64;
  const NodeId real = literal(real_of(type), narrow ? low_bits & 0xffffffffu : low_bits, 0, where);
  const NodeId imaginary = literal(real_of(type), narrow ? low_bits >> 32 : high_bits, 0, where);
  codegen::Node node{.kind = codegen::NodeKind::complex, .type = type, .arity = 2};
  node.operands = {real, imaginary, codegen::no_node};
  return add(node, 0, where);
}

NodeId Recorder::widen(NodeId value, DType type, Where where) {
  return graph_[value].type == type ? value : cast(value, type, where);
}

NodeId Recorder::cast(NodeId value, DType type, Where where) {
  check_node(value, "cast", where);
  if (is_complex(graph_[value].type) && !is_complex(type)) {
    fail<TypeError>("kl::cast from {} to {}{} would drop the imaginary part: use kl::real, kl::imag or kl::abs first",
                    name_of(graph_[value].type), name_of(type), dsl::place(where));
  }
  if (graph_[value].type == type && compute_type(type) == type) return value;
  // A cast to f16 or bf16 that the user wrote rounds, even where the value already has that type.
  codegen::Node node{.kind = codegen::NodeKind::cast, .type = type, .arity = 1};
  node.operands[0] = value;
  return add(node, ranks_[value], where);
}

NodeId Recorder::operation(Op op, DType result, const NodeId* written, unsigned count, Where where) {
  const char* name = op_info(op).name;
  std::array<DType, 3> types{};
  std::array<NodeId, 3> operands{};
  KILN_INTERNAL_CHECK(count <= types.size(), "{} operands for kl::{}", count, name);
  for (unsigned i = 0; i < count; ++i) {
    check_node(written[i], name, where);
    operands[i] = written[i];
  }
  align(operands.data(), count, where);
  int rank = 0;
  for (unsigned i = 0; i < count; ++i) {
    types[i] = graph_[operands[i]].type;
    rank = std::max(rank, ranks_[operands[i]]);
  }
  const codegen::TypeRule rule = codegen::type_rule(op, {types.data(), count});
  if (!rule.error.empty()) fail<TypeError>("{}{}", rule.error, dsl::place(where));
  if (rule.result != result) {
    fail<TypeError>("kl::{} of ({}) gives {}, but its result was declared as {}{}", name,
                    types_text(graph_, operands.data(), count), name_of(rule.result), name_of(result),
                    dsl::place(where));
  }
  codegen::Node node{.kind = codegen::NodeKind::operation, .type = result, .op = op};
  node.arity = static_cast<std::uint8_t>(count);
  const unsigned first_value = op_info(op).result == ResultRule::select ? 1 : 0;
  for (unsigned i = 0; i < count; ++i) {
    const bool keep = rule.keeps_operands || i < first_value;
    node.operands[i] = keep ? operands[i] : widen(operands[i], rule.operand, where);
  }
  return add(node, rank, where);
}

NodeId Recorder::index(NodeId value, int axis, Where where) {
  check_node(value, "index", where);
  const int rank = ranks_[value];
  if (rank == 0)
    fail<ShapeError>("kl::index: axis {} of a value without axes{}; it has no coordinates", axis, dsl::place(where));
  if (axis < -rank || axis >= rank) {
    fail<ShapeError>("kl::index: axis {} does not exist in an expression of rank {}{}; use {} to {}", axis, rank,
                     dsl::place(where), -rank, rank - 1);
  }
  codegen::Node node{.kind = codegen::NodeKind::index, .type = DType::i64, .arity = 1};
  node.operands[0] = value;
  node.payload = static_cast<std::uint64_t>(axis < 0 ? axis + rank : axis);
  return add(node, rank, where);
}

NodeId Recorder::random(NodeId counter, NodeId key, bool normal, DType type, Where where) {
  check_node(counter, "random", where);
  check_node(key, "random", where);
  if (!is_floating(type))
    fail<TypeError>("kl::random gives floating types, not {}{}", name_of(type), dsl::place(where));
  codegen::Node node{.kind = codegen::NodeKind::random, .type = type, .arity = 2};
  node.operands = {widen(counter, DType::u64, where), widen(key, DType::u64, where), codegen::no_node};
  node.payload = normal ? 1 : 0;
  return add(node, std::max(ranks_[counter], ranks_[key]), where);
}

NodeId Recorder::view(NodeId value, int kind, const std::int64_t* numbers, unsigned count, Where where,
                      const NodeId* fill) {
  const codegen::ViewSpec spec = dsl::make_view_spec(kind, numbers, count);
  check_node(value, dsl::name_of(spec.kind), where);
  if (spec.kind == codegen::ViewSpec::Kind::squeeze && spec.numbers.empty())
    fail<ShapeError>("squeeze of an expression needs an axis{}: its shape is not known yet", dsl::place(where));
  const int rank = rank_after(spec, ranks_[value]);
  if (rank < 0 || rank > max_rank) {
    fail<ShapeError>("{} of an expression of rank {} gives rank {}{}; ranks 0 to {} are possible",
                     dsl::name_of(spec.kind), ranks_[value], rank, dsl::place(where), max_rank);
  }
  if (spec.kind == codegen::ViewSpec::Kind::shift) {
    if (count != static_cast<unsigned>(rank) + 1) fail_displacements(spec, rank, where);
    if (fill) check_node(*fill, "shift", where);
  }
  return known(graph_.view(value, spec, location_of(where), fill ? *fill : codegen::no_node), rank);
}

// ------------------------------------------------------------------ bridge
NodeId record_input(Recorder& r, unsigned slot, DType type) { return r.input(slot, type); }
NodeId record_iota(Recorder& r, unsigned slot) { return r.iota(slot); }
NodeId record_parameter(Recorder& r, unsigned slot, DType type) { return r.parameter(slot, type); }
NodeId record_literal(Recorder& r, DType type, std::uint64_t low_bits, std::uint64_t high_bits, Where where) {
  return r.literal(type, low_bits, high_bits, where);
}
NodeId record_operation(Recorder& r, Op op, DType result, const NodeId* operands, unsigned count, Where where) {
  return r.operation(op, result, operands, count, where);
}
NodeId record_cast(Recorder& r, NodeId value, DType type, Where where) { return r.cast(value, type, where); }
NodeId record_index(Recorder& r, NodeId value, int axis, Where where) { return r.item_index(value, axis, where); }
NodeId record_random(Recorder& r, NodeId counter, NodeId key, bool normal, DType type, Where where) {
  return r.random(counter, key, normal, type, where);
}
NodeId record_view(Recorder& r, NodeId value, int kind, const std::int64_t* numbers, unsigned count, Where where) {
  return r.item_view(value, kind, numbers, count, where);
}
NodeId record_shift(Recorder& r, NodeId value, const NodeId* fill, Beyond beyond, const std::int64_t* by,
                    unsigned count, Where where) {
  std::vector<std::int64_t> numbers{static_cast<std::int64_t>(beyond)};
  numbers.insert(numbers.end(), by, by + count);
  return r.item_view(value, static_cast<int>(ViewKind::shift), numbers.data(), count + 1, where, fill);
}
int rank_of(Recorder& r, NodeId value) { return r.item_rank(value); }

}  // namespace kiln::detail
