// codegen/pass/split_complex.cpp -- complex values become pairs of real nodes; only loads, parameters and outputs stay
// whole.
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "codegen/ir/reduction.h"
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
    split_all();
    for (const NodeId output : graph_.outputs) {
      const Value& value = values_[output];
      const bool joins = value.whole == no_node;
      result_.outputs.push_back(joins ? result_.complex(graph_[output].type, value.parts.real, value.parts.imag)
                                      : value.whole);
    }
    return std::move(result_);
  }

  /// The same for a combiner: inputs and outputs become those of states whose complex components are two real ones.
  Graph run_combiner(const std::vector<DType>& components) {
    components_ = components;
    split_all();
    for (const NodeId output : graph_.outputs) append_parts(output, result_.outputs);
    return std::move(result_);
  }

 private:
  void split_all() {
    for (const NodeId id : canonical_order(graph_)) {
      builder_.at(graph_.location(id));
      values_[id] = split(graph_[id], graph_.location(id));
    }
  }

  void append_parts(NodeId old, std::vector<NodeId>& parts) const {
    const Value& value = values_[old];
    if (value.is_complex()) {
      parts.insert(parts.end(), {value.parts.real, value.parts.imag});
    } else {
      parts.push_back(value.whole);
    }
  }

  Value split(const Node& node, Location where) {
    const Value* first = node.arity > 0 ? &values_[node.operands[0]] : nullptr;
    switch (node.kind) {
      case NodeKind::cast:
        return first->is_complex() || is_complex(node.type) ? cast(*first, node.type) : kept(node, where);
      case NodeKind::complex:
        return {no_node, {first->whole, values_[node.operands[1]].whole}};
      case NodeKind::real_part:
        return {first->parts.real, {}};
      case NodeKind::imag_part:
        return {first->parts.imag, {}};
      case NodeKind::operation:
        return operation(node, where);
      case NodeKind::input:
        return input(node);
      case NodeKind::tuple:
        return {};  // rebuilt for each reduction of it
      case NodeKind::element:
        return component(node.operands[0], node.payload);
      case NodeKind::reduce:
      case NodeKind::scan:
        return graph_.reduction(node).combiner ? combined(node, where) : reduced(node, where);
      case NodeKind::call:
        return called(node, where);
      default:
        return kept(node, where);
    }
  }

  /// The user's functions take and give whole complex values.
  Value called(const Node& node, Location where) {
    for (const NodeId operand : node.inputs()) {
      Value& value = values_[operand];
      if (value.whole == no_node)
        value.whole = builder_.primitive(NodeKind::complex, graph_[operand].type, {value.parts.real, value.parts.imag});
    }
    return kept(node, where);
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
    if (to == DType::b1) return {is_true(from.parts), {}};
    return {b.cast(from.parts.real, to), {}};  // drops the imaginary part, as NumPy's astype
  }

  /// An input of a combiner.
  Value input(const Node& node) {
    std::size_t before = 0;  // real inputs that precede it
    for (std::size_t i = 0; i < node.payload; ++i) before += real_components(components_[i % components_.size()]);
    if (!is_complex(node.type)) return {result_.input(before, node.type), {}};
    const DType part = real_of(node.type);
    return {no_node, {result_.input(before, part), result_.input(before + 1, part)}};
  }

  /// A reduction or scan of a plain kind: the sum of the parts, or the product by a combiner.
  Value reduced(const Node& node, Location where) {
    if (!is_complex(node.type)) return kept(node, where);
    const ReductionSpec& spec = graph_.reduction(node);
    const ComplexParts x = values_[node.operands[0]].parts;
    const DType part = real_of(node.type);
    if (spec.kind == Reduction::sum)
      return {no_node, {joined(node, spec, part, {x.real}), joined(node, spec, part, {x.imag})}};
    KILN_INTERNAL_CHECK(spec.kind == Reduction::prod, "reduction {} of complex numbers", static_cast<int>(spec.kind));
    ReductionSpec product = spec;
    product.combiner = complex_product(part);
    const NodeId one = builder_.constant(part, 1.0), zero = builder_.constant(part, 0.0);
    const NodeId product_of = joined(node, product, part,
                                     {builder_.primitive(NodeKind::tuple, part, {x.real, x.imag}),
                                      builder_.primitive(NodeKind::tuple, part, {one, zero})});
    return {no_node, {element(product_of, part, 0), element(product_of, part, 1)}};
  }

  static std::shared_ptr<const Graph> complex_product(DType part) {
    Graph graph;
    Builder b(graph);
    const ComplexParts left = {graph.input(0, part), graph.input(1, part)};
    const ComplexParts right = {graph.input(2, part), graph.input(3, part)};
    const ComplexParts product = complex_multiply(b, left, right);
    graph.outputs = {product.real, product.imag};
    return std::make_shared<const Graph>(std::move(graph));
  }

  /// A reduction or scan with a combiner: the same over real components.
  Value combined(const Node& node, Location where) {
    ReductionSpec spec = graph_.reduction(node);
    std::vector<DType> types;
    for (const NodeId component : components_of(graph_, node.operands[0])) types.push_back(graph_[component].type);
    spec.combiner = std::make_shared<const Graph>(Splitter(*spec.combiner).run_combiner(types));
    builder_.at(where);
    const NodeId value = state(node, node.operands[0], where), identity = state(node, node.operands[1], where);
    const NodeId result = joined(node, spec, builder_.type(value), {value, identity});
    if (types.size() > 1 || !is_complex(types[0])) return {result, {}};
    return {no_node, {element(result, real_of(types[0]), 0), element(result, real_of(types[0]), 1)}};
  }

  /// A state of real components.
  NodeId state(const Node& joining, NodeId old, Location where) {
    std::vector<NodeId> parts;
    for (const NodeId component : components_of(graph_, old)) append_parts(component, parts);
    switch (parts.size()) {
      case 1:
        return parts[0];
      case 2:
        return builder_.primitive(NodeKind::tuple, builder_.type(parts[0]), {parts[0], parts[1]});
      case 3:
        return builder_.primitive(NodeKind::tuple, builder_.type(parts[0]), {parts[0], parts[1], parts[2]});
      default:
        break;
    }
    fail<TypeError>(
        "kl::{}{} joins {} numbers per element, a complex one counting as two, but a state has at most three: "
        "join kl::real and kl::imag in calls of their own, or fewer values at once",
        joining.kind == NodeKind::scan ? "scan" : "reduce",
        where.file ? fmt::format(" at {}:{}", where.file, where.line) : "", parts.size());
  }

  /// Component `number` of an old reduction of tuples.
  Value component(NodeId old, std::uint64_t number) {
    const std::span<const NodeId> components = components_of(graph_, graph_[old].operands[0]);
    std::size_t before = 0;
    for (std::size_t c = 0; c < number; ++c) before += real_components(graph_[components[c]].type);
    const DType type = graph_[components[number]].type, part = real_of(type);
    const NodeId joined_tuple = values_[old].whole;
    if (!is_complex(type)) return {element(joined_tuple, type, before), {}};
    return {no_node, {element(joined_tuple, part, before), element(joined_tuple, part, before + 1)}};
  }

  NodeId joined(const Node& old, const ReductionSpec& spec, DType type, std::initializer_list<NodeId> operands) {
    return old.kind == NodeKind::scan ? result_.scan(spec, type, operands) : result_.reduce(spec, type, operands);
  }

  NodeId element(NodeId joined_tuple, DType type, std::uint64_t number) {
    return builder_.primitive(NodeKind::element, type, {joined_tuple}, number);
  }

  static std::size_t real_components(DType type) { return is_complex(type) ? 2 : 1; }

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
  std::vector<DType> components_;  ///< of the states that a combiner joins
};

}  // namespace

Graph split_complex(const Graph& graph, const PassOptions&) { return Splitter(graph).run(); }

}  // namespace kiln::codegen
