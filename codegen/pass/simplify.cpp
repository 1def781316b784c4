// codegen/pass/simplify.cpp -- rewrites that keep every value, by the rules of IEEE 754 and of arithmetic modulo 2^n.
//
// Not here, because a float may be NaN, infinite or a signed zero: x*0, x-x, x+0, x/x, log(exp x).
#include <bit>
#include <cmath>
#include <optional>

#include "codegen/ir/op_info.h"
#include "codegen/pass/builder.h"
#include "codegen/pass/evaluate.h"
#include "codegen/pass/passes.h"
#include "support/float_environment.h"

namespace kiln::codegen {
namespace {

/// The integer or b1 literal's value, sign-extended.
std::optional<std::int64_t> integer_literal(const Builder& b, NodeId value) {
  const Node& node = b.node(value);
  if (node.kind != NodeKind::literal || is_floating(node.type)) return std::nullopt;
  return literal_as_integer(node);
}

std::optional<double> float_literal(const Builder& b, NodeId value) {
  const Node& node = b.node(value);
  if (node.kind != NodeKind::literal || !is_floating(node.type)) return std::nullopt;
  return literal_as_double(node);
}

bool is_operation(const Node& node, Op op) { return node.kind == NodeKind::operation && node.op == op; }

NodeId simplify_unary(Builder& b, const Node& node) {
  const Node inner = b.node(node.operands[0]);
  if (inner.kind != NodeKind::operation) return no_node;
  switch (node.op) {
    case Op::neg:
    case Op::bit_not:
      return inner.op == node.op ? inner.operands[0] : no_node;
    case Op::abs:
      if (!is_floating(node.type) || is_complex(inner.type)) return no_node;
      if (inner.op == Op::abs && inner.type == b.type(inner.operands[0])) return node.operands[0];
      return inner.op == Op::neg ? b.abs(inner.operands[0]) : no_node;
    default:
      return no_node;
  }
}

/// Negations move out of products, where they meet another negation or an absolute value, and into sums: rounding to
/// nearest is symmetric, so no bit changes. (-x - y stays: it is +0 where -(x + y) is -0.)
NodeId move_negation(Builder& b, const Node& node) {
  const NodeId x = node.operands[0], y = node.operands[1];
  const bool negative_x = is_operation(b.node(x), Op::neg), negative_y = is_operation(b.node(y), Op::neg);
  const auto inner = [&](NodeId value, bool negative) { return negative ? b.node(value).operands[0] : value; };
  switch (node.op) {
    case Op::add:
      if (negative_y) return b.sub(x, inner(y, true));
      return negative_x ? b.sub(y, inner(x, true)) : no_node;
    case Op::sub:
      return negative_y ? b.add(x, inner(y, true)) : no_node;
    case Op::mul:
    case Op::div: {
      if (!negative_x && !negative_y) return no_node;
      const NodeId magnitude = b.op(node.op, inner(x, negative_x), inner(y, negative_y));
      return negative_x == negative_y ? magnitude : b.neg(magnitude);
    }
    default:
      return no_node;
  }
}

/// x*1, x/1, x + -0, x - +0, and division by a power of two as the exact product.
NodeId simplify_float(Builder& b, const Node& node) {
  const NodeId x = node.operands[0], y = node.operands[1];
  if (const NodeId moved = move_negation(b, node); moved != no_node) return moved;
  const auto right = float_literal(b, y), left = float_literal(b, x);
  const auto is_zero = [](std::optional<double> v, bool negative) {
    return v && *v == 0 && std::signbit(*v) == negative;
  };
  switch (node.op) {
    case Op::add:
      return is_zero(right, true) ? x : is_zero(left, true) ? y : no_node;
    case Op::sub:
      return is_zero(right, false) ? x : no_node;
    case Op::mul:
      return right == 1.0 ? x : left == 1.0 ? y : no_node;
    case Op::div: {
      if (!right) return no_node;
      if (*right == 1.0) return x;
      int exponent = 0;
      const bool power_of_two = std::abs(std::frexp(*right, &exponent)) == 0.5;
      const int range = node.type == DType::f32 ? 120 : node.type == DType::f64 ? 1000 : 0;
      return power_of_two && std::abs(exponent) < range ? b.mul(x, b.like(x, 1.0 / *right)) : no_node;
    }
    case Op::minimum:
    case Op::maximum:
    case Op::fmin:
    case Op::fmax:
      return x == y ? x : no_node;
    default:
      return no_node;
  }
}

NodeId simplify_integer(Builder& b, const Node& node) {
  const NodeId x = node.operands[0], y = node.operands[1];
  const auto left = integer_literal(b, x), right = integer_literal(b, y);
  const std::int64_t all_ones = is_signed_integer(node.type) ? -1 : static_cast<std::int64_t>(mask_of(node.type));
  const auto zero = [&] { return b.constant(node.type, 0); };
  switch (node.op) {
    case Op::add:
      return right == 0 ? x : left == 0 ? y : no_node;
    case Op::sub:
      return right == 0 ? x : x == y ? zero() : no_node;
    case Op::mul:
      if (right == 0 || left == 0) return zero();
      return right == 1 ? x : left == 1 ? y : no_node;
    case Op::div:
      if (right == 1) return x;
      return right == -1 && is_signed_integer(node.type) ? b.neg(x) : no_node;
    case Op::mod:
      return right == 1 ? zero() : no_node;
    case Op::bit_and:
      if (right == 0 || left == 0) return zero();
      return right == all_ones || x == y ? x : left == all_ones ? y : no_node;
    case Op::bit_or:
      if (right == all_ones || left == all_ones) return b.bits(node.type, mask_of(node.type));
      return right == 0 || x == y ? x : left == 0 ? y : no_node;
    case Op::bit_xor:
      return right == 0 ? x : left == 0 ? y : x == y ? zero() : no_node;
    case Op::shl:
    case Op::shr:
      return right == 0 ? x : no_node;
    case Op::minimum:
    case Op::maximum:
      return x == y ? x : no_node;
    default:
      return no_node;
  }
}

NodeId simplify_boolean(Builder& b, const Node& node) {
  const NodeId x = node.operands[0], y = node.operands[1];
  const auto left = integer_literal(b, x), right = integer_literal(b, y);
  switch (node.op) {
    case Op::bit_and:
      if (right == 0 || left == 0) return b.truth(false);
      return right == 1 || x == y ? x : left == 1 ? y : no_node;
    case Op::bit_or:
      if (right == 1 || left == 1) return b.truth(true);
      return right == 0 || x == y ? x : left == 0 ? y : no_node;
    case Op::bit_xor:
      if (x == y) return b.truth(false);
      if (right == 0 || left == 0) return right == 0 ? x : y;
      return right == 1 ? b.invert(x) : left == 1 ? b.invert(y) : no_node;
    default:
      return no_node;
  }
}

NodeId simplify_where(Builder& b, const Node& node) {
  const NodeId condition = node.operands[0], x = node.operands[1], y = node.operands[2];
  if (const auto known = integer_literal(b, condition)) return *known ? x : y;
  if (x == y) return x;
  const Node test = b.node(condition);
  if (is_operation(test, Op::bit_not)) return b.where(test.operands[0], y, x);
  if (node.type != DType::b1) return no_node;
  const auto if_true = integer_literal(b, x), if_false = integer_literal(b, y);
  if (if_true == 1 && if_false == 0) return condition;
  if (if_true == 0 && if_false == 1) return b.invert(condition);
  return no_node;
}

/// A comparison of equal integers is known.
NodeId simplify_comparison(Builder& b, const Node& node) {
  if (node.operands[0] != node.operands[1] || is_floating(b.type(node.operands[0])) ||
      is_complex(b.type(node.operands[0]))) {
    return no_node;
  }
  return b.truth(node.op == Op::eq || node.op == Op::le || node.op == Op::ge);
}

constexpr bool holds_every_value(DType wide, DType narrow) { return is_integer(wide) && promote(wide, narrow) == wide; }

/// Integer -> wider integer -> anything real: the first step loses nothing.
NodeId simplify_cast(Builder& b, const Node& node) {
  const Node inner = b.node(node.operands[0]);
  if (inner.type == node.type && !is_floating(node.type)) return node.operands[0];
  if (inner.kind != NodeKind::cast || inner.payload == unrounded_cast || node.payload == unrounded_cast) return no_node;
  const bool rounds = inner.type == DType::f16 || inner.type == DType::bf16;
  if (rounds && node.type == DType::f32 && float_literal(b, inner.operands[0])) {  // the rounded constant
    Node rounded = inner;
    rounded.kind = NodeKind::literal;
    rounded.payload = round_to_storage(*float_literal(b, inner.operands[0]), inner.type);
    return b.constant(DType::f32, literal_as_double(rounded));
  }
  if (is_complex(node.type)) return no_node;
  const DType first = b.type(inner.operands[0]);
  if (is_floating(first) || is_complex(first) || !holds_every_value(inner.type, first)) return no_node;
  return b.cast(inner.operands[0], node.type);
}

NodeId simplify_complex_parts(Builder& b, const Node& node) {
  const Node first = b.node(node.operands[0]);
  if (node.kind != NodeKind::complex) {
    if (first.kind != NodeKind::complex) return no_node;
    return first.operands[node.kind == NodeKind::real_part ? 0 : 1];
  }
  const Node second = b.node(node.operands[1]);
  const bool rejoins = first.kind == NodeKind::real_part && second.kind == NodeKind::imag_part &&
                       first.operands[0] == second.operands[0];
  return rejoins ? first.operands[0] : no_node;
}

NodeId simplify_operation(Builder& b, const Node& node) {
  if (node.payload == library_form) return no_node;  // literals and arrays shall take the same arithmetic
  if (node.op == Op::where) return simplify_where(b, node);
  if (is_comparison(node.op)) return simplify_comparison(b, node);
  if (node.arity == 1) return simplify_unary(b, node);
  if (node.arity != 2 || b.type(node.operands[0]) != node.type) return no_node;
  switch (kind_of(node.type)) {
    case Kind::boolean:
      return simplify_boolean(b, node);
    case Kind::integer:
      return simplify_integer(b, node);
    case Kind::floating:
      return simplify_float(b, node);
    case Kind::complex:
      break;
  }
  return no_node;
}

}  // namespace

Graph simplify(const Graph& graph, const PassOptions&) {
  const DefaultFloatEnvironment environment;
  return rewrite(graph, [](Builder& b, const Node& node) {
    switch (node.kind) {
      case NodeKind::operation:
        return simplify_operation(b, node);
      case NodeKind::cast:
        return simplify_cast(b, node);
      case NodeKind::complex:
      case NodeKind::real_part:
      case NodeKind::imag_part:
        return simplify_complex_parts(b, node);
      default:
        return no_node;
    }
  });
}

}  // namespace kiln::codegen
