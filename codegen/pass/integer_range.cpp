// codegen/pass/integer_range.cpp -- interval arithmetic over the integer nodes of a legalised body.
//
// A result that may leave its type wraps, so it gets the whole type.
#include "codegen/pass/integer_range.h"

#include <bit>
#include <limits>

#include "codegen/ir/op_info.h"
#include "codegen/pass/builder.h"

namespace kiln::codegen {
namespace {

using Integer = std::int64_t;
constexpr Integer lowest = std::numeric_limits<Integer>::min(), highest = std::numeric_limits<Integer>::max();

/// Collects values and notes when one does not fit.
class Hull {
 public:
  void add(Integer value) {
    range_.low = empty_ ? value : std::min(range_.low, value);
    range_.high = empty_ ? value : std::max(range_.high, value);
    empty_ = false;
  }
  void sum(Integer a, Integer b) { checked(__builtin_add_overflow(a, b, &result_)); }
  void difference(Integer a, Integer b) { checked(__builtin_sub_overflow(a, b, &result_)); }
  void product(Integer a, Integer b) { checked(__builtin_mul_overflow(a, b, &result_)); }
  MaybeRange range() const { return overflows_ ? std::nullopt : MaybeRange(range_); }

 private:
  void checked(bool overflows) {
    overflows_ = overflows_ || overflows;
    if (!overflows) add(result_);
  }
  IntegerRange range_;
  Integer result_ = 0;
  bool empty_ = true, overflows_ = false;
};

MaybeRange sum(const IntegerRange& x, const IntegerRange& y) {
  Hull hull;
  hull.sum(x.low, y.low);
  hull.sum(x.high, y.high);
  return hull.range();
}

MaybeRange difference(const IntegerRange& x, const IntegerRange& y) {
  Hull hull;
  hull.difference(x.low, y.high);
  hull.difference(x.high, y.low);
  return hull.range();
}

MaybeRange product(const IntegerRange& x, const IntegerRange& y) {
  Hull hull;
  for (const Integer a : {x.low, x.high})
    for (const Integer b : {y.low, y.high}) hull.product(a, b);
  return hull.range();
}

/// Toward zero. The divisor is never 0, though its interval may hold it.
MaybeRange quotient(const IntegerRange& x, const IntegerRange& y) {
  Hull hull;
  if (y.low > 0) {
    for (const Integer a : {x.low, x.high})
      for (const Integer b : {y.low, y.high}) hull.add(a / b);
    return hull.range();
  }
  hull.add(0);
  hull.add(x.low);
  hull.add(x.high);
  if (y.low < 0) {
    hull.difference(0, x.low);
    hull.difference(0, x.high);
  }
  return hull.range();
}

/// The sign of the dividend, and nearer to zero than the divisor.
MaybeRange modulus(const IntegerRange& x, const IntegerRange& y) {
  IntegerRange result{std::min<Integer>(x.low, 0), std::max<Integer>(x.high, 0)};
  if (y.low == lowest) return result;
  const Integer largest = std::max<Integer>({-y.low, y.high, 1}) - 1;
  return IntegerRange{std::max(result.low, -largest), std::min(result.high, largest)};
}

/// 2^n - 1 for the smallest n that reaches the magnitude of both ends.
Integer bit_mask(const IntegerRange& x) {
  const auto magnitude = static_cast<std::uint64_t>(x.low < 0 ? ~x.low : x.low) |
                         static_cast<std::uint64_t>(x.high < 0 ? ~x.high : x.high);
  return magnitude == 0 ? 0 : static_cast<Integer>(~std::uint64_t{0} >> std::countl_zero(magnitude));
}

MaybeRange bitwise(Op op, const IntegerRange& x, const IntegerRange& y) {
  const Integer mask = std::max(bit_mask(x), bit_mask(y));
  const bool x_positive = x.is_non_negative(), y_positive = y.is_non_negative();
  const bool x_negative = x.high < 0, y_negative = y.high < 0;
  const bool never_negative =
      op == Op::bit_xor ? (x_positive && y_positive) || (x_negative && y_negative) : x_positive && y_positive;
  return IntegerRange{never_negative ? 0 : ~mask, mask};
}

/// One operand that is not negative bounds the result, whatever the other is.
MaybeRange bit_and(const MaybeRange& x, const MaybeRange& y) {
  const bool x_bounds = x && x->is_non_negative(), y_bounds = y && y->is_non_negative();
  if (x_bounds && y_bounds) return IntegerRange{0, std::min(x->high, y->high)};
  if (x_bounds || y_bounds) return IntegerRange{0, x_bounds ? x->high : y->high};
  return x && y ? bitwise(Op::bit_and, *x, *y) : std::nullopt;
}

MaybeRange shifted_left(const IntegerRange& x, const IntegerRange& amount) {
  if (amount.low < 0 || amount.high > 62) return std::nullopt;
  return product(x, {Integer{1} << amount.low, Integer{1} << amount.high});
}

MaybeRange shifted_right(const IntegerRange& x, const IntegerRange& amount) {
  if (amount.low < 0 || amount.high > 63) return std::nullopt;
  Hull hull;
  for (const Integer a : {x.low, x.high})
    for (const Integer b : {amount.low, amount.high}) hull.add(a >> b);
  return hull.range();
}

MaybeRange of_binary(Op op, const IntegerRange& x, const IntegerRange& y) {
  switch (op) {
    case Op::add:
      return sum(x, y);
    case Op::sub:
      return difference(x, y);
    case Op::mul:
      return product(x, y);
    case Op::div:
      return quotient(x, y);
    case Op::mod:
      return modulus(x, y);
    case Op::minimum:
      return IntegerRange{std::min(x.low, y.low), std::min(x.high, y.high)};
    case Op::maximum:
      return IntegerRange{std::max(x.low, y.low), std::max(x.high, y.high)};
    case Op::bit_or:
    case Op::bit_xor:
      return bitwise(op, x, y);
    case Op::shl:
      return shifted_left(x, y);
    case Op::shr:
      return shifted_right(x, y);
    default:
      return std::nullopt;
  }
}

/// The divisor d where the node is x - (x / d) * d, which is x mod d. no_node: it is something else.
NodeId divisor_of_rest(const Graph& graph, const Node& node) {
  if (node.op != Op::sub) return no_node;
  const NodeId x = node.operands[0];
  const Node& product = graph[node.operands[1]];
  if (product.kind != NodeKind::operation || product.op != Op::mul) return no_node;
  for (const std::size_t i : {0, 1}) {
    const Node& quotient = graph[product.operands[i]];
    const NodeId divisor = product.operands[1 - i];
    if (quotient.kind == NodeKind::operation && quotient.op == Op::div && quotient.operands[0] == x &&
        quotient.operands[1] == divisor) {
      return divisor;
    }
  }
  return no_node;
}

MaybeRange of_operation(const Graph& graph, const Node& node, const std::vector<MaybeRange>& ranges) {
  const auto operand = [&](std::size_t i) { return ranges[node.operands[i]]; };
  if (const NodeId divisor = divisor_of_rest(graph, node); divisor != no_node) {
    if (operand(0) && ranges[divisor]) return modulus(*operand(0), *ranges[divisor]);
  }
  if (node.op == Op::bit_and) return bit_and(operand(0), operand(1));
  if (node.op == Op::where) {
    const MaybeRange x = operand(1), y = operand(2);
    if (!x || !y) return std::nullopt;
    return IntegerRange{std::min(x->low, y->low), std::max(x->high, y->high)};
  }
  const MaybeRange x = operand(0);
  if (!x) return std::nullopt;
  if (node.op == Op::neg) return difference({0, 0}, *x);
  if (node.op == Op::bit_not) return IntegerRange{~x->high, ~x->low};
  if (node.arity != 2 || !operand(1)) return std::nullopt;
  return of_binary(node.op, *x, *operand(1));
}

/// Extrema are values of their operand, and positions those of the elements (there are elements: plans refuse extrema
/// of nothing). Of other reductions nothing is known.
MaybeRange of_joined(const Graph& graph, const Node& node, const std::vector<MaybeRange>& ranges) {
  const bool is_component = node.kind == NodeKind::element;
  const Node& joined = is_component ? graph[node.operands[0]] : node;
  const Reduction kind = graph.reduction(joined).kind;
  if (kind == Reduction::argmax || kind == Reduction::argmin) {
    if (!is_component) return ranges[joined.operands[joined.arity - 1]];
    const Node& state = graph[joined.operands[0]];
    return ranges[state.operands[node.payload]];
  }
  const bool is_extremum = kind == Reduction::max || kind == Reduction::min;
  return is_extremum && !is_component ? ranges[joined.operands[0]] : std::nullopt;
}

MaybeRange of_node(const Graph& graph, const Node& node, const std::vector<MaybeRange>& ranges,
                   const PassOptions& options) {
  switch (node.kind) {
    case NodeKind::reduce:
    case NodeKind::scan:
    case NodeKind::element:
      return of_joined(graph, node, ranges);
    case NodeKind::literal: {
      const Integer value = literal_as_integer(node);
      return node.type == DType::u64 && value < 0 ? std::nullopt : MaybeRange({value, value});
    }
    case NodeKind::iota:
      if (node.payload >= options.iotas.size()) return std::nullopt;
      return IntegerRange{options.iotas[node.payload].low, options.iotas[node.payload].high};
    case NodeKind::cast:
      return ranges[node.operands[0]];
    case NodeKind::operation:
      return of_operation(graph, node, ranges);
    default:
      return std::nullopt;
  }
}

}  // namespace

MaybeRange range_of_type(DType type) {
  if (type == DType::b1) return IntegerRange{0, 1};
  if (!is_integer(type) || type == DType::u64) return std::nullopt;
  if (type == DType::i64) return IntegerRange{lowest, highest};
  const Integer values = Integer{1} << (8 * size_of(type));
  return is_signed_integer(type) ? IntegerRange{-values / 2, values / 2 - 1} : IntegerRange{0, values - 1};
}

std::vector<MaybeRange> integer_ranges(const Graph& graph, const PassOptions& options) {
  std::vector<MaybeRange> ranges(graph.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    const MaybeRange whole = range_of_type(node.type);
    if (!is_integer(node.type)) {
      ranges[id] = whole;
      continue;
    }
    const MaybeRange range = of_node(graph, node, ranges, options);
    const IntegerRange limits = whole.value_or(IntegerRange{0, highest});
    ranges[id] = range && range->within(limits) ? range : whole;
  }
  return ranges;
}

std::optional<bool> decided(Op op, const IntegerRange& x, const IntegerRange& y) {
  const bool below = x.high<y.low, above = x.low> y.high;
  const bool same = x.low == x.high && x == y;
  const bool not_above = x.high <= y.low, not_below = x.low >= y.high;
  const auto either = [](bool is_true, bool is_false) {
    return is_true ? std::optional(true) : is_false ? std::optional(false) : std::nullopt;
  };
  switch (op) {
    case Op::eq:
      return either(same, below || above);
    case Op::ne:
      return either(below || above, same);
    case Op::lt:
      return either(below, not_below);
    case Op::le:
      return either(not_above, above);
    case Op::gt:
      return either(above, not_above);
    case Op::ge:
      return either(not_below, below);
    default:
      return std::nullopt;
  }
}

}  // namespace kiln::codegen
