// codegen/pass/builder.cpp -- result types of appended operations and the values of literals.
#include "codegen/pass/builder.h"

#include <bit>

#include "codegen/ir/op_info.h"
#include "support/check.h"

namespace kiln::codegen {

static_assert(unsigned_of(DType::i8) == DType::u8 && unsigned_of(DType::i64) == DType::u64);

NodeId Builder::append_node(Op op, std::uint64_t payload, std::span<const NodeId> operands) {
  std::array<DType, 3> types{};
  for (std::size_t i = 0; i < operands.size(); ++i) types[i] = type(operands[i]);
  const TypeRule rule = type_rule(op, {types.data(), operands.size()});
  KILN_INTERNAL_CHECK(rule.error.empty(), "{}", rule.error);
  return graph_.operation(op, rule.result, operands, where_, payload);
}

NodeId Builder::is_true(NodeId x) { return type(x) == DType::b1 ? x : ne(x, like(x, 0.0)); }

NodeId add_joining(Graph& result, const Node& node, const ReductionSpec& spec, Location where) {
  const bool two = node.arity == 2;
  const NodeId first = node.operands[0], second = node.operands[1];
  if (node.kind == NodeKind::scan) {
    return two ? result.scan(spec, node.type, {first, second}, where) : result.scan(spec, node.type, {first}, where);
  }
  return two ? result.reduce(spec, node.type, {first, second}, where) : result.reduce(spec, node.type, {first}, where);
}

std::int64_t literal_as_integer(const Node& literal) {
  if (!is_signed_integer(literal.type)) return static_cast<std::int64_t>(literal.payload);
  const int unused = static_cast<int>(64 - 8 * size_of(literal.type));
  return static_cast<std::int64_t>(literal.payload << unused) >> unused;
}

double literal_as_double(const Node& literal) {
  switch (literal.type) {
    case DType::f64:
      return std::bit_cast<double>(literal.payload);
    case DType::f32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(literal.payload));
    case DType::f16:
      return half::from_bits(static_cast<std::uint16_t>(literal.payload));
    case DType::bf16:
      return bfloat16::from_bits(static_cast<std::uint16_t>(literal.payload));
    case DType::b1:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
      return static_cast<double>(literal.payload);
    default:
      return static_cast<double>(literal_as_integer(literal));
  }
}

}  // namespace kiln::codegen
