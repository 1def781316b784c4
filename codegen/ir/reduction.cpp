// codegen/ir/reduction.cpp -- identities and joins of the plain reductions; components of those with a combiner.
#include "codegen/ir/reduction.h"

#include <bit>
#include <limits>

#include "support/check.h"

namespace kiln::codegen {
namespace {

std::uint64_t float_bits(DType type, double value) {
  return type == DType::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                            : std::bit_cast<std::uint64_t>(value);
}

/// The largest value of a type.
std::uint64_t highest_bits(DType type) {
  if (is_floating(type)) return float_bits(type, std::numeric_limits<double>::infinity());
  if (type == DType::b1) return 1;
  return is_signed_integer(type) ? mask_of(type) >> 1 : mask_of(type);
}

std::uint64_t lowest_bits(DType type) {
  if (is_floating(type)) return float_bits(type, -std::numeric_limits<double>::infinity());
  return is_signed_integer(type) ? std::uint64_t{1} << (8 * size_of(type) - 1) : 0;
}

Graph plain_join(Reduction kind, DType type) {
  Graph graph;
  const NodeId operands[] = {graph.input(0, type), graph.input(1, type)};
  graph.outputs = {graph.operation(joining_operation(kind), type, operands)};
  return graph;
}

}  // namespace

std::span<const NodeId> components_of(const Graph& graph, const NodeId& state) {
  return graph[state].kind == NodeKind::tuple ? graph[state].inputs() : std::span(&state, 1);
}

bool gives_tuple(const Graph& graph, const Node& node) {
  return joins_elements(node.kind) && node.arity > 0 && graph[node.operands[0]].kind == NodeKind::tuple;
}

std::uint64_t identity_bits(Reduction kind, DType type) {
  KILN_INTERNAL_CHECK(type != DType::f16 && type != DType::bf16 && !is_complex(type), "no identity in {}",
                      name_of(type));
  switch (kind) {
    case Reduction::sum:
      return is_floating(type) ? float_bits(type, -0.0) : 0;
    case Reduction::prod:
      return is_floating(type) ? float_bits(type, 1.0) : 1;
    case Reduction::max:
      return lowest_bits(type);
    case Reduction::min:
      return highest_bits(type);
    case Reduction::any:
      return 0;
    case Reduction::all:
      return 1;
    default:
      break;
  }
  KILN_INTERNAL_CHECK(false, "reduction {} has no identity of its own", static_cast<int>(kind));
  return 0;
}

Op joining_operation(Reduction kind) {
  switch (kind) {
    case Reduction::sum:
      return Op::add;
    case Reduction::prod:
      return Op::mul;
    case Reduction::max:
      return Op::maximum;
    case Reduction::min:
      return Op::minimum;
    case Reduction::any:
      return Op::bit_or;
    case Reduction::all:
      return Op::bit_and;
    default:
      break;
  }
  KILN_INTERNAL_CHECK(false, "reduction {} joins by a combiner", static_cast<int>(kind));
  return Op::add;
}

Monoid monoid_of(const Graph& body, NodeId id) {
  const Node& node = body[id];
  KILN_INTERNAL_CHECK(joins_elements(node.kind), "node %{} joins nothing", id);
  const ReductionSpec& spec = body.reduction(node);
  Monoid monoid;
  monoid.kind = spec.kind;
  if (!spec.combiner) {
    monoid.components = {{node.type, node.operands[0], no_node, identity_bits(spec.kind, node.type)}};
    monoid.combine = plain_join(spec.kind, node.type);
    return monoid;
  }
  const std::span<const NodeId> values = components_of(body, node.operands[0]);
  const std::span<const NodeId> identities = components_of(body, node.operands[1]);
  KILN_INTERNAL_CHECK(values.size() == identities.size(), "reduction %{}: {} components, {} identities", id,
                      values.size(), identities.size());
  for (std::size_t c = 0; c < values.size(); ++c) {
    const Node& identity = body[identities[c]];
    const bool is_literal = identity.kind == NodeKind::literal;
    monoid.components.push_back(
        {body[values[c]].type, values[c], is_literal ? no_node : identities[c], is_literal ? identity.payload : 0});
  }
  monoid.combine = *spec.combiner;
  return monoid;
}

}  // namespace kiln::codegen
