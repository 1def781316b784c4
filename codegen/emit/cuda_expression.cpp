// codegen/emit/cuda_expression.cpp -- one node of a legalised body as a CUDA C++ expression.
#include "codegen/emit/cuda_expression.h"

#include <fmt/format.h>

#include "codegen/emit/cuda_types.h"
#include "codegen/ir/op_info.h"
#include "support/check.h"

namespace kiln::codegen::cuda {
namespace {

using Operands = std::span<const std::string>;

[[noreturn]] void not_legal(const Node& node) {
  internal_failure(
      "legalised body", __FILE__, __LINE__,
      fmt::format("{} of {} has no CUDA form",
                  node.kind == NodeKind::operation ? detail::op_info(node.op).name : "node", name_of(node.type)));
}

/// The table's text with $0, $1, $2 and $f filled in.
std::string from_table(const Node& node, Operands operands) {
  const std::string_view pattern = detail::op_info(node.op).cuda;
  if (pattern == "-") not_legal(node);
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '$') {
      text += pattern[i];
    } else if (pattern[++i] == 'f') {
      text += node.type == DType::f32 ? "f" : "";
    } else {
      text += operands[static_cast<std::size_t>(pattern[i] - '0')];
    }
  }
  return text;
}

/// Selects by a comparison between the bits of -0.0f and +-1.0f are miscompiled by ptxas 13.0 (it makes them FSET,
/// whose other value is +0.0f); the sign bit is then hidden from it.
std::string hide_negative_zero(const Node& node, const std::string& arm, const std::string& other, Prelude& prelude) {
  if (node.type == DType::f32 && arm == literal(DType::f32, 0x80000000u) &&
      (other == literal(DType::f32, 0x3f800000u) || other == literal(DType::f32, 0xbf800000u)))
    return fmt::format("__uint_as_float({}())", prelude.use("sign_bit"));
  const bool i32 = node.type == DType::i32;
  if ((i32 || node.type == DType::u32) && arm == literal(node.type, 0x80000000u) &&
      (other == literal(node.type, 0x3f800000u) || other == literal(node.type, 0xbf800000u)))
    return fmt::format("{}({}())", i32 ? "i32" : "u32", prelude.use("sign_bit"));
  return arm;
}

std::string select(const Node& node, Operands x, Prelude& prelude) {
  const std::string arms[] = {x[0], hide_negative_zero(node, x[1], x[2], prelude),
                              hide_negative_zero(node, x[2], x[1], prelude)};
  return from_table(node, arms);
}

std::string boolean_operation(const Node& node, Operands x) {
  switch (node.op) {
    case Op::bit_and:
      return fmt::format("{} && {}", x[0], x[1]);
    case Op::bit_or:
      return fmt::format("{} || {}", x[0], x[1]);
    case Op::bit_xor:
      return fmt::format("{} != {}", x[0], x[1]);
    case Op::bit_not:
      return fmt::format("!{}", x[0]);
    default:
      not_legal(node);
  }
}

/// True where the operation is -x of at most 32 bits, however it is written; `x` is set to the operand.
bool is_negation(const Node& node, Operands operands, std::string& x) {
  if (size_of(node.type) > 4) return false;
  const std::string zero = literal(node.type, 0), minus_one = literal(node.type, mask_of(node.type));
  if (node.op == Op::neg) x = operands[0];
  if (node.op == Op::sub && operands[0] == zero) x = operands[1];
  if (node.op == Op::mul && operands[0] == minus_one) x = operands[1];
  if (node.op == Op::mul && operands[1] == minus_one) x = operands[0];
  return !x.empty();
}

std::string integer_operation(const Node& node, Operands x, Prelude& prelude) {
  const char* type = value_type(node.type);
  const char* wrap = wrapping_type(node.type);
  const auto wrapped = [&](const char* symbol) {
    return fmt::format("{}({}({}) {} {}({}))", type, wrap, x[0], symbol, wrap, x[1]);
  };
  std::string negated;
  if (is_negation(node, x, negated))
    return fmt::format("{}({}({}(u32({}))))", type, wrap, prelude.use("negated"), negated);
  switch (node.op) {
    case Op::add:
      return wrapped("+");
    case Op::sub:
      return wrapped("-");
    case Op::mul:
      return wrapped("*");
    case Op::neg:
      return fmt::format("{}({}(0) - {}({}))", type, wrap, wrap, x[0]);
    case Op::shl:
      return fmt::format("{}({}({}) << {})", type, wrap, x[0], x[1]);
    case Op::bit_not:
    case Op::shr:
    case Op::div:
    case Op::mod:
      return fmt::format("{}({})", type, from_table(node, x));
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
      return fmt::format("{}({})", type, from_table(node, x));
    case Op::minimum:
      return fmt::format("{0} < {1} ? {0} : {1}", x[0], x[1]);
    case Op::maximum:
      return fmt::format("{0} > {1} ? {0} : {1}", x[0], x[1]);
    default:
      not_legal(node);
  }
}

std::string floating_operation(const Node& node, Operands x, Prelude& prelude) {
  if (node.op == Op::minimum || node.op == Op::maximum) {
    const std::string name = fmt::format("{}_{}", node.op == Op::minimum ? "minimum" : "maximum", name_of(node.type));
    return fmt::format("{}({}, {})", prelude.use(name), x[0], x[1]);
  }
  if (node.payload == library_form && node.op == Op::div)
    return fmt::format("{}({}, {})", prelude.use("quotient_2ulp"), x[0], x[1]);
  if (node.payload == library_form && node.op == Op::erf)
    return fmt::format("{}({})", prelude.use("one_plus_erf"), x[0]);
  if (node.payload == library_form && node.op == Op::tanh)
    return fmt::format("{}({})", prelude.use("half_plus_half_tanh"), x[0]);
  if (node.op == Op::erfc) {
    prelude.use(fmt::format("erfc_of_magnitude_{}", name_of(node.type)));
    return fmt::format("erfc_of_magnitude({})", x[0]);
  }
  return from_table(node, x);
}

std::string cast_text(DType from, DType to, const std::string& x, Prelude& prelude) {
  if (from == to) return x;
  if (from == DType::f16 || from == DType::bf16)
    return fmt::format("{}({})", prelude.use(from == DType::f16 ? "f16_to_f32" : "bf16_to_f32"), x);
  if (to == DType::f16 || to == DType::bf16)
    return fmt::format("{}({})", prelude.use(to == DType::f16 ? "f32_to_f16" : "f32_to_bf16"), x);
  return fmt::format("{}({})", value_type(to), x);
}

std::string bitcast_text(const Node& node, DType from, const std::string& x) {
  switch (node.type) {
    case DType::f32:
      return fmt::format("{}({})", from == DType::u32 ? "__uint_as_float" : "__int_as_float", x);
    case DType::u32:
      return from == DType::f32 ? fmt::format("__float_as_uint({})", x) : fmt::format("u32({})", x);
    case DType::i32:
      return from == DType::f32 ? fmt::format("__float_as_int({})", x) : fmt::format("i32({})", x);
    case DType::f64:
      return fmt::format("__longlong_as_double(i64({}))", x);
    case DType::u64:
    case DType::i64:
      return fmt::format("{}({}({}))", value_type(node.type), from == DType::f64 ? "__double_as_longlong" : "", x);
    default:
      not_legal(node);
  }
}

}  // namespace

std::string expression(const Node& node, Operands operands, std::span<const DType> types, Prelude& prelude) {
  switch (node.kind) {
    case NodeKind::cast:
      return cast_text(types[0], node.type, operands[0], prelude);
    case NodeKind::bitcast:
      return bitcast_text(node, types[0], operands[0]);
    case NodeKind::complex:
      return fmt::format("{}({}, {})", node.type == DType::c64 ? "make_float2" : "make_double2", operands[0],
                         operands[1]);
    case NodeKind::real_part:
      return operands[0] + ".x";
    case NodeKind::imag_part:
      return operands[0] + ".y";
    case NodeKind::mulhi:
      return fmt::format("{}({}, {})", node.type == DType::u64 ? "__umul64hi" : "__umulhi", operands[0], operands[1]);
    case NodeKind::operation:
      break;
    default:
      not_legal(node);
  }
  if (is_comparison(node.op)) return from_table(node, operands);
  if (node.op == Op::where) return select(node, operands, prelude);
  if (node.type == DType::b1) return boolean_operation(node, operands);
  if (is_integer(node.type)) return integer_operation(node, operands, prelude);
  return floating_operation(node, operands, prelude);
}

}  // namespace kiln::codegen::cuda
