// codegen/pass/lower_reductions.cpp -- every reduction as a plain one or as a combiner of states.
//
// logsumexp and squared_deviations take two passes over rows that a kernel holds, and one pass with a combiner over
// rows that it would have to read twice. The kind stays in the specification: it says what the combiner computes.
#include <algorithm>
#include <limits>
#include <memory>

#include "codegen/ir/reduction.h"
#include "codegen/pass/builder.h"
#include "codegen/pass/combiners.h"
#include "codegen/pass/integer_range.h"
#include "codegen/pass/passes.h"
#include "support/check.h"

namespace kiln::codegen {
namespace {

ReductionSpec plain(Reduction kind) {
  ReductionSpec spec;
  spec.kind = kind;
  return spec;
}

ReductionSpec with_combiner(Reduction kind, Graph combiner) {
  ReductionSpec spec = plain(kind);
  spec.combiner = std::make_shared<const Graph>(std::move(combiner));
  return spec;
}

class Lowering {
 public:
  Lowering(Builder& b, const PassOptions& options, Location where) : b_(b), options_(options), where_(where) {}

  /// Sum, product and extrema of a reduction or scan. no_node: it is legal as it is.
  NodeId plain_kind(const Node& node, Reduction kind) {
    const bool adds = kind == Reduction::sum, multiplies = kind == Reduction::prod;
    if (node.type == DType::b1) {
      if (adds || kind == Reduction::max) return joined(node.kind, Reduction::any, node.operands[0]);
      if (multiplies || kind == Reduction::min) return joined(node.kind, Reduction::all, node.operands[0]);
      return no_node;
    }
    // Arithmetic modulo 2^32 is arithmetic modulo 2^8 and 2^16.
    const bool is_narrow = is_integer(node.type) && size_of(node.type) < 4;
    if (!is_narrow || (!adds && !multiplies)) return no_node;
    const DType type = is_signed_integer(node.type) ? DType::i32 : DType::u32;
    return b_.cast(joined(node.kind, kind, b_.cast(node.operands[0], type)), node.type);
  }

  /// The position of the first NaN, or else of the first extremum.
  NodeId extreme_position(const Node& node, Reduction kind, bool short_positions) {
    const DType type = b_.type(node.operands[0]);
    const DType position = short_positions ? DType::i32 : DType::i64;
    const Reduction extremum = kind == Reduction::argmax ? Reduction::max : Reduction::min;
    const NodeId value = tuple(node.operands[0], b_.cast(node.operands[1], position));
    const NodeId identity =
        tuple(b_.bits(type, identity_bits(extremum, type)), b_.bits(position, identity_bits(Reduction::min, position)));
    const ReductionSpec spec = with_combiner(kind, position_combiner(kind, type, position));
    const NodeId best = b_.graph().reduce(spec, type, {value, identity}, where_);
    return b_.cast(element(best, position, 1), DType::i64);
  }

  NodeId logsumexp(NodeId x) {
    const DType type = b_.type(x);
    const NodeId zero = b_.constant(type, 0);
    NodeId largest = no_node, sum = no_node;
    if (options_.holds_rows) {
      largest = joined(NodeKind::reduce, Reduction::max, x);
      // An infinite or NaN maximum is the result, through the exponentials of the values as they are.
      const NodeId offset = b_.where(b_.is_finite(largest), largest, zero);
      sum = joined(NodeKind::reduce, Reduction::sum, b_.op(Op::exp, b_.sub(x, offset)));
      largest = offset;
    } else {
      const ReductionSpec spec = with_combiner(Reduction::logsumexp, logsumexp_combiner(type));
      const NodeId identity = tuple(b_.constant(type, -std::numeric_limits<double>::infinity()), zero);
      const NodeId state = b_.graph().reduce(spec, type, {tuple(x, b_.constant(type, 1)), identity}, where_);
      largest = element(state, type, 0);
      sum = element(state, type, 1);
    }
    return b_.add(b_.op(Op::log, sum), largest);
  }

  NodeId squared_deviations(NodeId x, NodeId count) {
    const DType type = b_.type(x);
    const NodeId zero = b_.constant(type, 0);
    if (options_.holds_rows) {
      const NodeId mean = b_.div(joined(NodeKind::reduce, Reduction::sum, x), count);
      const NodeId deviation = b_.sub(x, mean);
      const NodeId squares = joined(NodeKind::reduce, Reduction::sum, b_.mul(deviation, deviation));
      return about_the_exact_mean(squares, joined(NodeKind::reduce, Reduction::sum, deviation), count);
    }
    // |0 x| is 0 but for infinities and NaN, whose deviation from themselves is NaN.
    const NodeId own = b_.abs(b_.mul(x, zero));
    const ReductionSpec spec = with_combiner(Reduction::squared_deviations, deviations_combiner(type));
    const NodeId state =
        b_.graph().reduce(spec, type, {tuple(b_.constant(type, 1), x, own), tuple(zero, zero, zero)}, where_);
    return element(state, type, 2);
  }

  /// The mean that was subtracted is a rounded quotient of a rounded sum: what the deviations sum to says how far off
  /// it is (Chan, Golub and LeVeque 1983). Where all of them are that one error, as those of equal elements, what is
  /// left of the squares is their rounding: 0.
  NodeId about_the_exact_mean(NodeId squares, NodeId deviations, NodeId count) {
    const DType type = b_.type(squares);
    const NodeId excess = b_.mul(deviations, b_.div(deviations, count));
    const NodeId corrected = b_.sub(squares, excess);
    const NodeId roundings = b_.mul(squares, b_.constant(type, type == DType::f64 ? 0x1p-45 : 0x1p-16));
    const NodeId variance = b_.where(b_.lt(corrected, roundings), b_.constant(type, 0), corrected);
    return b_.where(b_.is_finite(excess), variance, squares);  // else infinite or NaN itself
  }

  /// What the reduction gives where it has nothing to join: a node, for tuples the tuple of the identity.
  NodeId of_nothing(const Node& node, const ReductionSpec& spec) {
    if (spec.combiner) return node.operands[1];
    switch (spec.kind) {
      case Reduction::sum:
      case Reduction::squared_deviations:
        return b_.constant(node.type, 0);
      case Reduction::logsumexp:
        return b_.constant(node.type, -std::numeric_limits<double>::infinity());
      default:
        break;
    }
    KILN_INTERNAL_CHECK(is_plain(spec.kind), "argmax or argmin over no elements");
    return b_.bits(node.type, identity_bits(spec.kind, node.type));
  }

  bool is_empty(const Node& node) const { return options_.empty_rows && node.kind == NodeKind::reduce; }

  NodeId element_of_nothing(const Node& node) {
    const Node& state = b_.node(node.operands[0]);
    return state.kind == NodeKind::tuple ? state.operands[node.payload] : no_node;
  }

 private:
  NodeId joined(NodeKind node, Reduction kind, NodeId value) {
    Graph& graph = b_.graph();
    const DType type = b_.type(value);
    return node == NodeKind::scan ? graph.scan(plain(kind), type, {value}, where_)
                                  : graph.reduce(plain(kind), type, {value}, where_);
  }
  template <class... Ids>
  NodeId tuple(NodeId first, Ids... rest) {
    return b_.primitive(NodeKind::tuple, b_.type(first), {first, rest...});
  }
  NodeId element(NodeId state, DType type, std::uint64_t number) {
    return b_.primitive(NodeKind::element, type, {state}, number);
  }

  Builder& b_;
  const PassOptions& options_;
  Location where_;
};

/// Positions that an i32 holds, and less than the largest i32.
bool is_short(const MaybeRange& positions) {
  return positions.has_value() && positions->within({0, std::numeric_limits<std::int32_t>::max() - 1});
}

/// `node` has the operands of the new graph; the second one may be known to be a short position. no_node: it stays.
NodeId lowered(Lowering lowering, const Graph& graph, const Node& node, bool short_positions) {
  if (node.kind == NodeKind::element) return lowering.element_of_nothing(node);
  if (!joins_elements(node.kind)) return no_node;
  const ReductionSpec& spec = graph.reduction(node);
  if (lowering.is_empty(node)) return lowering.of_nothing(node, spec);
  if (spec.combiner) return no_node;
  switch (spec.kind) {
    case Reduction::argmax:
    case Reduction::argmin:
      return lowering.extreme_position(node, spec.kind, short_positions);
    case Reduction::logsumexp:
      return lowering.logsumexp(node.operands[0]);
    case Reduction::squared_deviations:
      return lowering.squared_deviations(node.operands[0], node.operands[1]);
    default:
      return lowering.plain_kind(node, spec.kind);
  }
}

}  // namespace

Graph lower_reductions(const Graph& graph, const PassOptions& options) {
  const bool reduces = std::any_of(graph.nodes().begin(), graph.nodes().end(),
                                   [](const Node& node) { return joins_elements(node.kind); });
  if (!reduces) return graph;
  const Graph ordered = canonical(graph);
  const std::vector<MaybeRange> ranges = integer_ranges(ordered, options);
  Graph result;
  Builder builder(result);
  std::vector<NodeId> renamed(ordered.size(), no_node);
  for (NodeId id = 0; id < ordered.size(); ++id) {
    const Node& old = ordered[id];
    Node node = old;
    for (std::size_t i = 0; i < node.arity; ++i) node.operands[i] = renamed[old.operands[i]];
    const bool short_positions = old.arity > 1 && is_short(ranges[old.operands[1]]);
    builder.at(ordered.location(id));
    renamed[id] = lowered(Lowering(builder, options, ordered.location(id)), ordered, node, short_positions);
    if (renamed[id] == no_node) renamed[id] = result.adopt(ordered, node, ordered.location(id));
  }
  for (const NodeId output : ordered.outputs) result.outputs.push_back(renamed[output]);
  return result;
}

}  // namespace kiln::codegen
