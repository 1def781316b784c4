// codegen/pass/narrow_integers.cpp -- 64-bit integer arithmetic in 32 bits where ranges prove that the value fits.
//
// GPUs have no 64-bit integer units, and vector units of CPUs neither multiply nor divide in 64 bits. A value is
// computed in 32 bits when that saves something: for a multiplication, a division, or a user that takes 32 bits.
#include <memory>
#include <vector>

#include "codegen/ir/op_info.h"
#include "codegen/ir/reduction.h"
#include "codegen/pass/builder.h"
#include "codegen/pass/integer_range.h"
#include "codegen/pass/passes.h"

namespace kiln::codegen {
namespace {

bool is_wide(DType type) { return is_integer(type) && size_of(type) == 8; }

bool fits(const MaybeRange& range, DType type) { return range && range->within(*range_of_type(type)); }

/// The low 32 bits of the result follow from the low 32 bits of the operands.
bool is_modular(Op op) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::neg:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
    case Op::bit_not:
    case Op::where:
      return true;
    default:
      return false;
  }
}

bool is_slow_in_64_bits(Op op) { return op == Op::mul || op == Op::div || op == Op::mod; }

class Narrowing {
 public:
  Narrowing(const Graph& graph, const PassOptions& options)
      : graph_(canonical(graph)),
        ranges_(integer_ranges(graph_, options)),
        types_(graph_.size()),
        wanted_(graph_.size(), 0),
        wide_(graph_.size(), no_node),
        narrow_(graph_.size(), no_node),
        builder_(result_) {}

  Graph run() {
    for (NodeId id = 0; id < graph_.size(); ++id) types_[id] = narrow_type(graph_[id], id);
    for (NodeId id = graph_.size(); id-- > 0;) choose(id);
    for (NodeId id = 0; id < graph_.size(); ++id) {
      builder_.at(graph_.location(id));
      emit(graph_[id], id);
    }
    for (const NodeId output : graph_.outputs) result_.outputs.push_back(wide(output));
    return std::move(result_);
  }

 private:
  using MaybeType = std::optional<DType>;

  /// i32 if all the values fit, else u32.
  static MaybeType common_type(std::initializer_list<MaybeRange> ranges) {
    for (const DType type : {DType::i32, DType::u32}) {
      if (std::all_of(ranges.begin(), ranges.end(), [&](const MaybeRange& r) { return fits(r, type); })) return type;
    }
    return std::nullopt;
  }

  const MaybeRange& range(const Node& node, std::size_t operand) const { return ranges_[node.operands[operand]]; }

  /// Division of values that are not negative is cheaper without a sign.
  MaybeType division_type(const Node& node, NodeId id) const {
    const MaybeRange& x = range(node, 0);
    const MaybeRange& y = range(node, 1);
    if (fits(x, DType::u32) && fits(y, DType::u32)) return DType::u32;
    const bool fit = fits(x, DType::i32) && fits(y, DType::i32) && fits(ranges_[id], DType::i32);
    const bool overflows = fit && x->contains(range_of_type(DType::i32)->low) && y->contains(-1);
    return fit && !overflows ? MaybeType(DType::i32) : std::nullopt;
  }

  MaybeType operation_type(const Node& node, NodeId id) const {
    if (is_modular(node.op)) return common_type({ranges_[id]});
    switch (node.op) {
      case Op::div:
      case Op::mod:
        return division_type(node, id);
      case Op::minimum:
      case Op::maximum:
        return common_type({range(node, 0), range(node, 1)});
      case Op::shl:
      case Op::shr: {
        if (!range(node, 1) || !range(node, 1)->within({0, 31})) return std::nullopt;
        return node.op == Op::shl ? common_type({ranges_[id]}) : common_type({ranges_[id], range(node, 0)});
      }
      default:
        return std::nullopt;
    }
  }

  /// The type in which the node can be computed instead of its own, if any.
  MaybeType narrow_type(const Node& node, NodeId id) const {
    const bool divides = node.kind == NodeKind::operation && (node.op == Op::div || node.op == Op::mod);
    if (node.type == DType::i32 && divides) {
      const MaybeType type = division_type(node, id);
      return type == DType::u32 ? type : std::nullopt;
    }
    const bool is_tuple = node.kind == NodeKind::tuple || gives_tuple(graph_, node);
    if (!is_wide(node.type) || is_tuple) return std::nullopt;
    return node.kind == NodeKind::operation ? operation_type(node, id) : common_type({ranges_[id]});
  }

  MaybeType comparison_type(const Node& node) const {
    if (node.kind != NodeKind::operation || !is_comparison(node.op) || !is_wide(graph_[node.operands[0]].type)) {
      return std::nullopt;
    }
    return common_type({range(node, 0), range(node, 1)});
  }

  bool is_decided(const Node& node) const {
    return node.kind == NodeKind::operation && is_comparison(node.op) && range(node, 0) && range(node, 1) &&
           decided(node.op, *range(node, 0), *range(node, 1));
  }

  /// Keeps the narrow type where it pays, and asks for narrow operands. Users come before their operands here.
  void choose(NodeId id) {
    const Node& node = graph_[id];
    if (is_decided(node)) return;
    if (joins_elements(node.kind) && types_[id]) {  // an extremum, whose range is that of its operand
      wanted_[node.operands[0]] = 1;
      return;
    }
    if (node.kind != NodeKind::operation) {
      if (!wanted_[id] && is_wide(node.type)) types_[id].reset();
      const bool takes_32_bits = node.kind == NodeKind::cast && (!is_wide(node.type) || types_[id]);
      if (takes_32_bits) wanted_[node.operands[0]] = 1;
      return;
    }
    if (types_[id] && !wanted_[id] && !is_slow_in_64_bits(node.op)) types_[id].reset();
    if (!types_[id] && !comparison_type(node)) return;
    for (std::size_t i = node.op == Op::where ? 1 : 0; i < node.arity; ++i) wanted_[node.operands[i]] = 1;
  }

  NodeId wide(NodeId id) {
    if (wide_[id] == no_node) wide_[id] = builder_.cast(narrow_[id], graph_[id].type);
    return wide_[id];
  }

  /// The low 32 bits of a value, in `type`.
  NodeId in_32_bits(NodeId id, DType type) {
    const Node& node = graph_[id];
    if (node.kind == NodeKind::literal) return builder_.bits(type, node.payload & mask_of(type));
    return builder_.cast(narrow_[id] != no_node ? narrow_[id] : wide(id), type);
  }

  void emit(const Node& node, NodeId id) {
    if (is_decided(node)) {
      wide_[id] = builder_.truth(*decided(node.op, *range(node, 0), *range(node, 1)));
    } else if (types_[id]) {
      narrow_[id] = narrowed(node, *types_[id]);
      // Conversions to floats are cheaper from signed integers.
      if (fits(ranges_[id], DType::i32)) narrow_[id] = builder_.cast(narrow_[id], DType::i32);
    } else if (const MaybeType type = comparison_type(node)) {
      wide_[id] = builder_.op(node.op, in_32_bits(node.operands[0], *type), in_32_bits(node.operands[1], *type));
    } else if (node.kind == NodeKind::cast && narrow_[node.operands[0]] != no_node) {
      wide_[id] = builder_.cast(narrow_[node.operands[0]], node.type);
    } else {
      wide_[id] = copied(node, id);
    }
  }

  NodeId copied(Node node, NodeId id) {
    for (std::size_t i = 0; i < node.arity; ++i) node.operands[i] = wide(node.operands[i]);
    if (!joins_elements(node.kind) || !graph_.reduction(node).combiner)
      return result_.adopt(graph_, node, graph_.location(id));
    ReductionSpec spec = graph_.reduction(node);
    spec.combiner = std::make_shared<const Graph>(narrow_integers(*spec.combiner, {}));
    return add_joining(result_, node, spec, graph_.location(id));
  }

  NodeId narrowed(Node node, DType type) {
    if (node.kind == NodeKind::literal) return builder_.bits(type, node.payload & mask_of(type));
    if (node.kind == NodeKind::cast) {
      const DType from = graph_[node.operands[0]].type;
      if (from == DType::b1 || is_integer(from)) return in_32_bits(node.operands[0], type);
    }
    if (node.kind != NodeKind::operation && !joins_elements(node.kind)) {
      for (std::size_t i = 0; i < node.arity; ++i) node.operands[i] = wide(node.operands[i]);
      return builder_.cast(result_.add(node), type);
    }
    for (std::size_t i = 0; i < node.arity; ++i) {
      const bool is_condition = node.op == Op::where && i == 0;
      node.operands[i] = is_condition ? wide(node.operands[i]) : in_32_bits(node.operands[i], type);
    }
    node.type = type;
    return result_.adopt(graph_, node);
  }

  Graph graph_;
  std::vector<MaybeRange> ranges_;
  std::vector<MaybeType> types_;  ///< of the narrow form, if it is to be made
  std::vector<char> wanted_;      ///< some user takes the narrow form
  std::vector<NodeId> wide_, narrow_;
  Graph result_;
  Builder builder_;
};

}  // namespace

Graph narrow_integers(const Graph& graph, const PassOptions& options) { return Narrowing(graph, options).run(); }

}  // namespace kiln::codegen
