// codegen/ir/op_info.cpp -- the one run-time copy of ops.def and the type rule derived from it.
#include "codegen/ir/op_info.h"

#include <cstring>

#include <fmt/format.h>

#include "support/check.h"

namespace kiln {
namespace detail {
namespace {

// Rows name their rule by these short words; `boolean`, `real`, ... are enumerators of ResultRule.
constexpr OpInfo table[] = {
#define KILN_OP(id, arity, domain, result, cuda, llvm, doc) {#id, arity, domain, ResultRule::result, cuda, llvm, doc},
#include <kiln/ops.def>
#undef KILN_OP
};
static_assert(sizeof(table) / sizeof(table[0]) == op_count);

}  // namespace

const OpInfo& op_info(Op op) {
  const auto index = static_cast<std::size_t>(op);
  KILN_INTERNAL_CHECK(index < static_cast<std::size_t>(op_count), "operation {} is not in the table", index);
  return table[index];
}

}  // namespace detail

namespace codegen {
namespace {

constexpr char letter_of(Kind kind) { return "BIFC"[static_cast<int>(kind)]; }

bool accepts(const detail::OpInfo& row, DType type) {
  return std::strchr(row.domain, letter_of(kind_of(type))) != nullptr;
}

/// "bool, integer and floating" from "BIF".
std::string domain_words(const char* domain) {
  std::string text;
  for (const char* letter = domain; *letter; ++letter) {
    if (letter != domain) text += letter[1] ? ", " : " and ";
    text += *letter == 'B' ? "bool" : *letter == 'I' ? "integer" : *letter == 'F' ? "floating" : "complex";
  }
  return text;
}

const char* advice_for(DType common) {
  switch (kind_of(common)) {
    case Kind::boolean:
      return "cast the operand to a number with kl::cast";
    case Kind::integer:
      return "cast the operand to a type it accepts with kl::cast";
    case Kind::floating:
      return "cast the operands to one integer type with kl::cast";
    case Kind::complex:
      return "take kl::real, kl::imag or kl::abs of the operand first";
  }
  return "";
}

std::string domain_error(const detail::OpInfo& row, std::span<const DType> operands, DType common) {
  constexpr const char* kinds[] = {"bool", "integer", "floating", "complex"};
  std::string types;
  for (const DType type : operands) types += fmt::format("{}{}", types.empty() ? "" : ", ", name_of(type));
  const bool promoted = operands.size() > 1 && !(operands.size() == 2 && operands[0] == operands[1]);
  return fmt::format("kl::{0} has no {1} overload; it accepts {2} operands, got ({3}){4}: {5}", row.name,
                     kinds[static_cast<int>(kind_of(common))], domain_words(row.domain), types,
                     promoted ? fmt::format(", which promote to {}", name_of(common)) : "", advice_for(common));
}

DType result_type(detail::ResultRule rule, DType operand) {
  switch (rule) {
    case detail::ResultRule::boolean:
      return DType::b1;
    case detail::ResultRule::real:
    case detail::ResultRule::realfloat:
      return real_of(operand);
    default:
      return operand;
  }
}

}  // namespace

TypeRule type_rule(Op op, std::span<const DType> operands) {
  const detail::OpInfo& row = detail::op_info(op);
  TypeRule rule;
  if (operands.size() != row.arity) {
    rule.error = fmt::format("kl::{} takes {} operand{}, got {}", row.name, row.arity, row.arity == 1 ? "" : "s",
                             operands.size());
    return rule;
  }
  std::span<const DType> values = operands;
  if (row.result == detail::ResultRule::select) {
    if (operands[0] != DType::b1) {
      rule.error =
          fmt::format("kl::{} needs a bool condition, got {}: write `condition != 0`", row.name, name_of(operands[0]));
      return rule;
    }
    values = operands.subspan(1);
  }
  DType common = values[0];
  for (const DType type : values) common = promote(common, type);
  rule.keeps_operands = is_comparison(op) && is_integer(operands[0]) && is_integer(operands[1]) && !is_integer(common);
  if (rule.keeps_operands) {
    rule.operand = operands[0];
    rule.result = DType::b1;
    return rule;
  }
  if (!accepts(row, common)) {
    rule.error = domain_error(row, operands, common);
    return rule;
  }
  const bool floats = row.result == detail::ResultRule::floating || row.result == detail::ResultRule::realfloat;
  rule.operand = floats && kind_of(common) < Kind::floating ? DType::f64 : common;
  rule.result = result_type(row.result, rule.operand);
  return rule;
}

}  // namespace codegen
}  // namespace kiln
