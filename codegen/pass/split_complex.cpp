// codegen/pass/split_complex.cpp -- complex values become pairs of real nodes; only loads, parameters and outputs stay
// whole.
#include <utility>

#include "codegen/pass/lowering.h"
#include "codegen/pass/passes.h"
#include "support/check.h"

namespace kiln::codegen {
namespace {

/// What an old node became: a real node in `whole`, or the parts of a complex one (then `whole` is its leaf, if any).
struct Value {
  NodeId whole = no_node;
  ComplexParts parts;
  bool is_complex() const { return parts.real != no_node; }
};

class Splitter {
 public:
  explicit Splitter(const Graph& graph) : graph_(graph), builder_(result_), values_(graph.size()) {}

  Graph run() {
    for (const NodeId id : canonical_order(graph_)) {
      builder_.at(graph_.location(id));
      values_[id] = split(graph_[id], graph_.location(id));
    }
    for (const NodeId output : graph_.outputs) {
      const Value& value = values_[output];
      const bool joins = value.whole == no_node;
      result_.outputs.push_back(joins ? result_.complex(graph_[output].type, value.parts.real, value.parts.imag)
                                      : value.whole);
    }
    return std::move(result_);
  }

 private:
  Value split(const Node& node, Location where) {
    const Value* first = node.arity > 0 ? &values_[node.operands[0]] : nullptr;
    switch (node.kind) {
      case NodeKind::cast:
        return cast(*first, node.type);
      case NodeKind::complex:
        return {no_node, {first->whole, values_[node.operands[1]].whole}};
      case NodeKind::real_part:
        return {first->parts.real, {}};
      case NodeKind::imag_part:
        return {first->parts.imag, {}};
      case NodeKind::operation:
        return operation(node, where);
      default:
        return kept(node, where);
    }
  }

  /// A node without complex operands; a complex leaf is split into its parts.
  Value kept(Node node, Location where) {
    for (std::size_t i = 0; i < node.arity; ++i) node.operands[i] = values_[node.operands[i]].whole;
    Value value{result_.adopt(graph_, node, where), {}};
    if (is_complex(node.type)) {
      const DType part = real_of(node.type);
      value.parts.real = builder_.primitive(NodeKind::real_part, part, {value.whole});
      value.parts.imag = builder_.primitive(NodeKind::imag_part, part, {value.whole});
    }
    return value;
  }

  Value cast(const Value& from, DType to) {
    Builder& b = builder_;
    const DType part = real_of(to);
    if (is_complex(to)) {
      if (from.is_complex()) return {no_node, {b.cast(from.parts.real, part), b.cast(from.parts.imag, part)}};
      return {no_node, {b.cast(from.whole, part), b.constant(part, 0.0)}};
    }
    if (!from.is_complex()) return {b.primitive(NodeKind::cast, to, {from.whole}), {}};
    if (to == DType::b1) return {is_true(from.parts), {}};
    return {b.cast(from.parts.real, to), {}};  // drops the imaginary part, as NumPy's astype
  }

  NodeId is_true(ComplexParts z) { return builder_.either(builder_.is_true(z.real), builder_.is_true(z.imag)); }

  /// Any operand as a truth value; a real one is left to legalize.
  NodeId truth_of(const Value& value) {
    return value.is_complex() ? is_true(value.parts) : builder_.is_true(value.whole);
  }

  Value operation(const Node& node, Location where) {
    Builder& b = builder_;
    if (node.op == Op::where && is_complex(node.type)) {
      const NodeId condition = values_[node.operands[0]].whole;
      const ComplexParts x = values_[node.operands[1]].parts, y = values_[node.operands[2]].parts;
      return {no_node, {b.where(condition, x.real, y.real), b.where(condition, x.imag, y.imag)}};
    }
    if (!values_[node.operands[0]].is_complex()) return kept(node, where);
    if (is_complex(node.type)) {
      std::array<ComplexParts, 3> operands;
      for (std::size_t i = 0; i < node.arity; ++i) operands[i] = values_[node.operands[i]].parts;
      return {no_node, lower_complex(b, node.op, {operands.data(), node.arity})};
    }
    return {real_result(node), {}};
  }

  /// Complex operands, real or bool result.
  NodeId real_result(const Node& node) {
    Builder& b = builder_;
    const Value& first = values_[node.operands[0]];
    const Value& second = values_[node.operands[node.arity - 1]];
    const ComplexParts x = first.parts, y = second.parts;
    switch (node.op) {
      case Op::eq:
        return b.both(b.eq(x.real, y.real), b.eq(x.imag, y.imag));
      case Op::ne:
        return b.either(b.ne(x.real, y.real), b.ne(x.imag, y.imag));
      case Op::logical_and:
        return b.both(truth_of(first), truth_of(second));
      case Op::logical_or:
        return b.either(truth_of(first), truth_of(second));
      case Op::logical_not:
        return b.invert(is_true(x));
      case Op::isnan:
        return b.either(b.is_nan(x.real), b.is_nan(x.imag));
      case Op::isinf:
        return b.either(b.is_inf(x.real), b.is_inf(x.imag));
      case Op::isfinite:
        return b.both(b.is_finite(x.real), b.is_finite(x.imag));
      case Op::abs:
        return b.op(Op::hypot, x.real, x.imag);
      case Op::real:
        return x.real;
      case Op::imag:
        return x.imag;
      case Op::arg:
        return b.op(Op::atan2, x.imag, x.real);
      default:
        break;
    }
    KILN_INTERNAL_CHECK(false, "no complex lowering of {}", detail::op_info(node.op).name);
    return no_node;
  }

  const Graph& graph_;
  Graph result_;
  Builder builder_;
  std::vector<Value> values_;
};

}  // namespace

Graph split_complex(const Graph& graph, const PassOptions&) { return Splitter(graph).run(); }

}  // namespace kiln::codegen
