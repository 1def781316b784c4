// codegen/ir/graph.cpp -- the arena: hash-consing, literals as bits, canonical order.
#include "codegen/ir/graph.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "codegen/ir/op_info.h"
#include "support/check.h"
#include "support/hash.h"

namespace kiln::codegen {
namespace {

std::uint64_t hash_of(const ViewSpec& spec) {
  std::uint64_t hash = mix(0, static_cast<std::uint64_t>(spec.kind));
  for (const std::int64_t number : spec.numbers) hash = mix(hash, static_cast<std::uint64_t>(number));
  hash = mix(hash, spec.items.size());
  for (const ViewSpec::Item& item : spec.items) {
    hash = mix(hash, (item.is_index ? 1u : 0u) | (item.has_start ? 2u : 0u) | (item.has_stop ? 4u : 0u));
    hash = mix(hash, static_cast<std::uint64_t>(item.start));
    hash = mix(hash, static_cast<std::uint64_t>(item.stop));
    hash = mix(hash, static_cast<std::uint64_t>(item.step));
  }
  return hash;
}

std::uint32_t hash_of(const Node& node) {
  std::uint64_t hash = static_cast<std::uint64_t>(node.kind) | static_cast<std::uint64_t>(node.type) << 8 |
                       static_cast<std::uint64_t>(node.op) << 16 | static_cast<std::uint64_t>(node.arity) << 32;
  hash = mix(hash, node.payload);
  for (const NodeId operand : node.inputs()) hash = mix(hash, operand);
  return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

/// Combiners are compared in full; equal ones have equal sizes.
std::uint64_t hash_of(const ReductionSpec& spec) {
  std::uint64_t hash = static_cast<std::uint64_t>(spec.kind) | std::uint64_t{spec.axes} << 8 |
                       std::uint64_t{spec.keepdims} << 16 | std::uint64_t{spec.refuses_empty} << 17;
  hash = mix(hash, static_cast<std::uint64_t>(spec.subtract));
  return mix(hash, spec.combiner ? spec.combiner->size() + 1 : 0);
}

/// Bits of an integer value in an integer type, zero-extended; the value must be exact.
std::uint64_t integer_bits(DType type, double value) {
  const int width = static_cast<int>(8 * size_of(type));
  const bool is_signed = is_signed_integer(type);
  const double low = is_signed ? -std::ldexp(1.0, width - 1) : 0.0;
  const double high = std::ldexp(1.0, is_signed ? width - 1 : width);
  KILN_INTERNAL_CHECK(value >= low && value < high && value == std::trunc(value), "{} is not a value of {}", value,
                      name_of(type));
  const std::uint64_t bits =
      value < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) : static_cast<std::uint64_t>(value);
  return bits & mask_of(type);
}

}  // namespace

std::size_t Graph::find_slot(const Node& node, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].id != no_node && (slots_[at].hash != hash || nodes_[slots_[at].id] != node)) at = (at + 1) & mask;
  return at;
}

void Graph::grow_slots() {
  std::vector<Slot> old(std::max<std::size_t>(32, 2 * slots_.size()));
  std::swap(old, slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == no_node) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].id != no_node) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

NodeId Graph::add(const Node& node, Location where) {
  for (const NodeId operand : node.inputs()) {
    KILN_INTERNAL_CHECK(operand < size(), "operand %{} of a new node does not exist yet ({} nodes)", operand, size());
  }
  if (2 * (nodes_.size() + 1) > slots_.size()) grow_slots();
  const std::uint32_t hash = hash_of(node);
  Slot& slot = slots_[find_slot(node, hash)];
  if (slot.id == no_node) {
    KILN_INTERNAL_CHECK(size() < no_node - 1, "a graph holds at most 2^32 - 2 nodes");
    slot = {hash, size()};
    nodes_.push_back(node);
    locations_.push_back(where);
  }
  return slot.id;
}

NodeId Graph::primitive(NodeKind kind, DType type, std::initializer_list<NodeId> operands, std::uint64_t payload,
                        Location where) {
  Node node;
  node.kind = kind;
  node.type = type;
  node.payload = payload;
  KILN_INTERNAL_CHECK(operands.size() <= node.operands.size(), "{} operands", operands.size());
  for (const NodeId operand : operands) node.operands[node.arity++] = operand;
  return add(node, where);
}

NodeId Graph::input(std::uint64_t slot, DType type) { return primitive(NodeKind::input, type, {}, slot); }
NodeId Graph::load(std::uint64_t access, DType type) { return primitive(NodeKind::load, type, {}, access); }
NodeId Graph::iota(std::uint64_t access) { return primitive(NodeKind::iota, DType::i64, {}, access); }
NodeId Graph::parameter(std::uint64_t slot, DType type) { return primitive(NodeKind::parameter, type, {}, slot); }

NodeId Graph::literal(DType type, std::uint64_t bits) {
  KILN_INTERNAL_CHECK(!is_complex(type), "a complex literal is `complex` of two literals");
  const std::size_t bytes = size_of(type);
  const bool fits = type == DType::b1 ? bits <= 1 : bytes == 8 || bits >> (8 * bytes) == 0;
  KILN_INTERNAL_CHECK(fits, "literal bits {:#x} do not fit {}", bits, name_of(type));
  return primitive(NodeKind::literal, type, {}, bits);
}

NodeId Graph::literal_value(DType type, double value) {
  switch (type) {
    case DType::b1:
      return literal(type, value != 0 ? 1 : 0);
    case DType::f64:
      return literal(type, std::bit_cast<std::uint64_t>(value));
    case DType::f32:
      return literal(type, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    case DType::f16:
    case DType::bf16: {
      const float narrow = static_cast<float>(value);
      KILN_INTERNAL_CHECK(value != value || narrow == value, "{} would round twice on its way to {}", value,
                          name_of(type));
      return literal(type, type == DType::f16 ? half(narrow).bits : bfloat16(narrow).bits);
    }
    case DType::c64:
    case DType::c128:
      return complex(type, literal_value(real_of(type), value), literal_value(real_of(type), 0.0));
    default:
      return literal(type, integer_bits(type, value));
  }
}

NodeId Graph::complex(DType type, NodeId real, NodeId imaginary, Location where) {
  return primitive(NodeKind::complex, type, {real, imaginary}, 0, where);
}

NodeId Graph::cast(NodeId value, DType type, Location where) {
  return nodes_[value].type == type ? value : primitive(NodeKind::cast, type, {value}, 0, where);
}

NodeId Graph::user_cast(NodeId value, DType type, Location where) {
  const bool computes_wider = type == DType::f16 || type == DType::bf16;
  if (nodes_[value].type == type && !computes_wider) return value;
  return primitive(NodeKind::cast, type, {value}, 0, where);
}

NodeId Graph::view(NodeId value, const ViewSpec& spec, Location where, NodeId fill) {
  const std::uint64_t hash = hash_of(spec);
  std::uint64_t number = views_.size();
  const auto [first, last] = view_index_.equal_range(hash);
  for (auto found = first; found != last; ++found)
    if (views_[found->second] == spec) number = found->second;
  if (number == views_.size()) {
    view_index_.emplace(hash, number);
    views_.push_back(spec);
  }
  const DType type = nodes_[value].type;
  return fill == no_node ? primitive(NodeKind::view, type, {value}, number, where)
                         : primitive(NodeKind::view, type, {value, fill}, number, where);
}

bool operator==(const ReductionSpec& a, const ReductionSpec& b) {
  if (a.kind != b.kind || a.axes != b.axes || a.keepdims != b.keepdims || a.subtract != b.subtract) return false;
  if (a.refuses_empty != b.refuses_empty) return false;
  if (a.combiner == b.combiner) return true;
  return a.combiner && b.combiner && to_text(*a.combiner) == to_text(*b.combiner);
}

std::uint64_t Graph::intern(const ReductionSpec& spec) {
  const std::uint64_t hash = hash_of(spec);
  const auto [first, last] = reduction_index_.equal_range(hash);
  for (auto found = first; found != last; ++found)
    if (reductions_[found->second] == spec) return found->second;
  reduction_index_.emplace(hash, reductions_.size());
  reductions_.push_back(spec);
  return reductions_.size() - 1;
}

NodeId Graph::reduce(const ReductionSpec& spec, DType type, std::initializer_list<NodeId> operands, Location where) {
  return primitive(NodeKind::reduce, type, operands, intern(spec), where);
}

NodeId Graph::scan(const ReductionSpec& spec, DType type, std::initializer_list<NodeId> operands, Location where) {
  return primitive(NodeKind::scan, type, operands, intern(spec), where);
}

NodeId Graph::extent(NodeId value, DType type, const ReductionSpec& spec, Location where) {
  return primitive(NodeKind::extent, type, {value}, intern(spec), where);
}

std::uint64_t Graph::intern(const std::shared_ptr<const Function>& function) {
  if (const auto known = known_functions_.find(function.get()); known != known_functions_.end()) return known->second;
  const std::uint64_t hash = text_hash(*function);
  std::uint64_t number = functions_.size();
  const auto [first, last] = function_index_.equal_range(hash);
  for (auto found = first; found != last; ++found) {
    const Function& other = *functions_[found->second];
    if (other.host == function->host && same_text(other, *function)) number = found->second;
  }
  if (number == functions_.size()) {
    function_index_.emplace(hash, number);
    functions_.push_back(function);
    known_functions_.emplace(function.get(), number);  // only those that the graph keeps alive
  }
  return number;
}

NodeId Graph::call(const std::shared_ptr<const Function>& function, std::span<const NodeId> operands, Location where) {
  Node node;
  node.kind = NodeKind::call;
  node.type = function->result;
  node.payload = intern(function);
  KILN_INTERNAL_CHECK(operands.size() <= NodeOperands::limit, "{} operands", operands.size());
  for (const NodeId operand : operands) node.operands[node.arity++] = operand;
  return add(node, where);
}

NodeId Graph::operation(Op op, DType type, std::span<const NodeId> operands, Location where, std::uint64_t payload) {
  Node node;
  node.kind = NodeKind::operation;
  node.op = op;
  node.type = type;
  node.payload = payload;
  KILN_INTERNAL_CHECK(operands.size() == detail::op_info(op).arity, "{} takes {} operands, got {}",
                      detail::op_info(op).name, detail::op_info(op).arity, operands.size());
  for (const NodeId operand : operands) node.operands[node.arity++] = operand;
  return add(node, where);
}

NodeId Graph::adopt(const Graph& from, const Node& node, Location where) {
  if (node.kind == NodeKind::view) return view(node.operands[0], from.view_spec(node), where, node.operands[1]);
  Node copy = node;
  if (node.kind == NodeKind::call) {
    copy.payload = intern(from.functions_[node.payload]);
    return add(copy, where);
  }
  if (node.kind != NodeKind::reduce && node.kind != NodeKind::scan && node.kind != NodeKind::extent)
    return add(node, where);
  copy.payload = intern(from.reduction(node));
  return add(copy, where);
}

std::vector<NodeId> canonical_order(const Graph& graph) {
  std::vector<NodeId> order;
  std::vector<std::uint8_t> seen(graph.size(), 0);
  std::vector<std::pair<NodeId, std::uint8_t>> stack;  // a node and the number of its operands already visited
  for (const NodeId output : graph.outputs) {
    KILN_INTERNAL_CHECK(output < graph.size(), "output %{} does not exist", output);
    if (seen[output]) continue;
    seen[output] = 1;
    stack.emplace_back(output, std::uint8_t{0});
    while (!stack.empty()) {
      auto& [id, visited] = stack.back();
      const Node& node = graph[id];
      if (visited == node.arity) {
        order.push_back(id);
        stack.pop_back();
        continue;
      }
      const NodeId operand = node.operands[visited++];
      if (seen[operand]) continue;
      seen[operand] = 1;
      stack.emplace_back(operand, std::uint8_t{0});
    }
  }
  return order;
}

Graph canonical(const Graph& graph) {
  Graph result;
  std::vector<NodeId> renamed(graph.size(), no_node);
  for (const NodeId id : canonical_order(graph)) {
    Node node = graph[id];
    for (std::size_t i = 0; i < node.arity; ++i) node.operands[i] = renamed[node.operands[i]];
    renamed[id] = result.adopt(graph, node, graph.location(id));
  }
  for (const NodeId output : graph.outputs) result.outputs.push_back(renamed[output]);
  return result;
}

}  // namespace kiln::codegen
