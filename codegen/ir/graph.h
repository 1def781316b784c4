// codegen/ir/graph.h -- the expression graph: an arena of hash-consed, typed nodes.
//
// Operands always precede their users, so every pass is a linear scan: depth costs no stack.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <kiln/dtype.h>
#include <kiln/op.h>

#include "codegen/ir/function.h"

namespace kiln::codegen {

using NodeId = std::uint32_t;
inline constexpr NodeId no_node = 0xffffffffu;

/// What a node is. `operation` nodes carry a kiln::Op from the table; the others are the leaves and glue of the graph.
enum class NodeKind : std::uint8_t {
  input,      ///< array argument `payload` as the user passed it (traced graphs)
  load,       ///< element of access `payload` at the current point (kernel bodies)
  gather,     ///< element of access `payload` at a computed place (kernel bodies); see Gather below
  iota,       ///< i64 value of the affine access `payload` at the current point (kernel bodies)
  index,      ///< i64 coordinate along axis `payload` in the index space of operand 0 (traced graphs)
  parameter,  ///< run-time scalar argument `payload`, converted to the node's type by the host
  literal,    ///< constant, `payload` holds its bits (low 64 bits; complex literals are `complex` of two literals)
  view,       ///< layout change `payload` of operand 0 (index into Graph::views; traced graphs). A shift is one, too
  cast,       ///< conversion of operand 0 to the node's type with the meaning of api.md section 8
  bitcast,    ///< same bits, another type of the same size
  complex,    ///< complex number from real operand 0 and imaginary operand 1
  real_part,  ///< real part of operand 0, as a primitive of kernel bodies
  imag_part,  ///< imaginary part of operand 0
  mulhi,      ///< upper half of the full product of two unsigned integers
  random,  ///< counter-based random number: operand 0 counter (u64), operand 1 key (u64); payload 0 uniform, 1 normal
  operation,  ///< the table operation `op`
  reduce,     ///< operand 0 reduced over axes, by reduction `payload` (index into Graph::reductions)
  scan,       ///< running reduction `payload` of operand 0 along one axis; the shape of the operand
  tuple,      ///< two or three values as one operand of a reduction or scan; has the type of the first
  element,    ///< component `payload` of the tuple that operand 0, a reduction or scan of tuples, gives
  extent,     ///< number of elements that reduction `payload` of operand 0 would join, as a scalar (traced graphs)
  take,       ///< elements of operand 0 at the indices operand 1 along an axis, `payload` a TakeSpec (traced graphs)
  call,       ///< the user's function `payload` (index into Graph::functions) of its operands, element by element
};

/// Operands of a gather, all i64. The element lies `displacement + affine` elements behind the address of the access.
/// Where the displacement is negative there is no element; where `affine` is not in [0, reach] the point lies past the
/// end of the loop. Nothing is read then, and the value is that of missing elements: NaN (complex: both parts), 0,
/// false.
enum GatherOperand : std::uint8_t { gather_displacement, gather_affine, gather_reach };

/// The bits of a missing element: a quiet NaN in floating types, else 0.
constexpr std::uint64_t missing_bits(DType type) {
  switch (type) {
    case DType::f16:
      return 0x7e00;
    case DType::bf16:
      return 0x7fc0;
    case DType::f32:
      return 0x7fc00000;
    case DType::f64:
      return 0x7ff8000000000000;
    default:
      return 0;
  }
}

/// What an index outside [-extent, extent) means, and how indices line up with the source. Payload of a take.
struct TakeSpec {
  enum Mode : std::uint8_t { missing, clip, wrap };
  std::uint8_t axis = 0;  ///< of the source, normalised
  bool along = false;     ///< the other axes of source and indices are the same axes (take_along_axis)
  Mode mode = missing;
  constexpr std::uint64_t payload() const { return axis | std::uint64_t{along} << 8 | std::uint64_t{mode} << 16; }
  static constexpr TakeSpec of(std::uint64_t payload) {
    return {static_cast<std::uint8_t>(payload), (payload >> 8 & 1) != 0, static_cast<Mode>(payload >> 16)};
  }
};

/// `payload` of an operation node that legalize wrote inside a function of the library: passes.h says what it may
/// compute. Operations that the user wrote have payload 0 and mean what the table says, whatever stands around them.
inline constexpr std::uint64_t library_form = 1;

/// `payload` of a cast to f16 or bf16 that changes the static type only: the value stays in f32 and is not rounded. It
/// stands where a value that was computed elsewhere, and kept in f32, takes the place of an f16/bf16 expression.
inline constexpr std::uint64_t unrounded_cast = 1;

/// Ids of a node's operands; the unused ones are `no_node`.
class NodeOperands {
 public:
  static constexpr std::size_t limit = 8;
  constexpr NodeOperands() { ids_.fill(no_node); }
  constexpr NodeOperands(std::initializer_list<NodeId> ids) : NodeOperands() {
    std::size_t i = 0;
    for (const NodeId id : ids) ids_[i++] = id;
  }
  constexpr NodeId& operator[](std::size_t i) { return ids_[i]; }
  constexpr const NodeId& operator[](std::size_t i) const { return ids_[i]; }
  constexpr const NodeId* data() const { return ids_.data(); }
  constexpr const NodeId* begin() const { return ids_.data(); }
  constexpr const NodeId* end() const { return ids_.data() + limit; }
  static constexpr std::size_t size() { return limit; }
  friend bool operator==(const NodeOperands&, const NodeOperands&) = default;

 private:
  std::array<NodeId, limit> ids_;
};

/// One value. Equal nodes of one graph have equal ids: kind, op, type, operands and payload bits are compared, never
/// values.
struct Node {
  NodeKind kind = NodeKind::literal;
  DType type = DType::f32;
  Op op = Op::add;
  std::uint8_t arity = 0;
  NodeOperands operands = {};
  std::uint64_t payload = 0;

  std::span<const NodeId> inputs() const { return {operands.data(), arity}; }
  friend bool operator==(const Node&, const Node&) = default;
};

/// All ones in the width of an integer type, as a node's payload holds it.
constexpr std::uint64_t mask_of(DType type) { return ~std::uint64_t{0} >> (64 - 8 * size_of(type)); }

/// A pure layout change recorded by a trace; resolved against concrete shapes when the graph is bound.
struct ViewSpec {
  enum class Kind : std::uint8_t { transpose, reshape, broadcast_to, squeeze, unsqueeze, flip, slice, shift };
  /// One NumPy slice item: `index` takes a single element and drops the axis; absent bounds are flagged.
  struct Item {
    bool is_index = false, has_start = false, has_stop = false;
    std::int64_t start = 0, stop = 0, step = 1;
    friend bool operator==(const Item&, const Item&) = default;
  };
  /// What kl::shift reads beyond the borders. `fill`: operand 1 of the node, a scalar of its type.
  enum class Boundary : std::uint8_t { clamp, wrap, reflect, symmetric, fill };
  Kind kind = Kind::transpose;
  std::vector<std::int64_t> numbers;  ///< permutation, shape, or the axis; shift: Boundary, then one number per axis
  std::vector<Item> items;            ///< slice only
  friend bool operator==(const ViewSpec&, const ViewSpec&) = default;
};

/// How elements are joined. Kinds from `argmax` to `squared_deviations` are lowered by a pass; all may carry a combiner
/// in kernel bodies, which then says what is computed, and the kind only how it may be computed faster.
enum class Reduction : std::uint8_t {
  sum,
  prod,
  max,  ///< NaN propagates, -0 < +0
  min,
  any,                 ///< of b1
  all,                 ///< of b1
  combine,             ///< a combiner of the user's
  argmax,              ///< operands: value and i64 position; gives the position (i64)
  argmin,              ///< the same
  logsumexp,           ///< log(sum(exp(x)))
  squared_deviations,  ///< sum((x - mean(x))^2); operands: value and number of elements, in the type it computes in
};

class Graph;

/// A reduction (NodeKind::reduce, extent) or scan. Equal specifications are stored once per graph.
struct ReductionSpec {
  Reduction kind = Reduction::sum;
  std::uint8_t axes = 0;  ///< bit a: axis a of the operand. Kernel bodies: 0, all reduced axes of the loop are meant
  bool keepdims = false;
  bool refuses_empty = false;  ///< combine: the identity is no value, so there is none of no elements
  std::int64_t subtract = 0;   ///< extent only: the number is max(0, elements - subtract)
  /// Joins two states of k components: `input` 0..k-1 are the left one, k..2k-1 the right one; k outputs of the same
  /// types. Its leaves are inputs and literals. Associative and commutative. Operand 0 of the node is the state of one
  /// element (k > 1: a tuple), operand 1 the identity.
  std::shared_ptr<const Graph> combiner;
  friend bool operator==(const ReductionSpec& a, const ReductionSpec& b);
};

/// Where the user wrote an operation: a string with static storage, or null when unknown.
struct Location {
  const char* file = nullptr;
  std::uint32_t line = 0;
};

class Graph {
 public:
  std::span<const Node> nodes() const { return nodes_; }
  const Node& operator[](NodeId id) const { return nodes_[id]; }
  NodeId size() const { return static_cast<NodeId>(nodes_.size()); }

  /// Returns the id of an equal node or appends `node`, whose operands must be nodes of this graph. The location of the
  /// first writer is kept for messages.
  NodeId add(const Node& node, Location where = {});

  NodeId input(std::uint64_t slot, DType type);
  NodeId load(std::uint64_t access, DType type);
  NodeId iota(std::uint64_t access);
  NodeId parameter(std::uint64_t slot, DType type);
  /// `bits` in the representation of `type` (f16/bf16: 16 bits; b1: 0 or 1), zero-extended.
  NodeId literal(DType type, std::uint64_t bits);
  NodeId literal_value(DType type, double value);  ///< rounded to `type`; integers must be exact
  /// complex from two real literals or values of the type of the parts.
  NodeId complex(DType type, NodeId real, NodeId imaginary, Location where = {});
  /// Converts if the types differ: what promotion inserts.
  NodeId cast(NodeId value, DType type, Location where = {});
  /// A cast that the user wrote. An f16/bf16 expression cast to its own type is rounded there (it computes in f32).
  NodeId user_cast(NodeId value, DType type, Location where = {});
  /// `fill` of a shift that has one.
  NodeId view(NodeId value, const ViewSpec& spec, Location where = {}, NodeId fill = no_node);
  NodeId operation(Op op, DType type, std::span<const NodeId> operands, Location where = {}, std::uint64_t payload = 0);
  /// A node of any other kind (index, bitcast, mulhi, random, real_part, ...).
  NodeId primitive(NodeKind kind, DType type, std::initializer_list<NodeId> operands, std::uint64_t payload = 0,
                   Location where = {});
  /// `operands` as the kind asks; `type` is that of the (first component of the) result.
  NodeId reduce(const ReductionSpec& spec, DType type, std::initializer_list<NodeId> operands, Location where = {});
  NodeId scan(const ReductionSpec& spec, DType type, std::initializer_list<NodeId> operands, Location where = {});
  NodeId extent(NodeId value, DType type, const ReductionSpec& spec, Location where = {});
  /// Operands have the types of the parameters. Equal functions are stored once.
  NodeId call(const std::shared_ptr<const Function>& function, std::span<const NodeId> operands, Location where = {});
  /// Appends a node of graph `from` whose operands are already ids of this graph (views, reductions and calls carry
  /// their specification along).
  NodeId adopt(const Graph& from, const Node& node, Location where = {});

  const ViewSpec& view_spec(const Node& node) const { return views_[node.payload]; }
  /// Of a reduce, scan or extent node.
  const ReductionSpec& reduction(const Node& node) const { return reductions_[node.payload]; }
  /// Of a call node.
  const Function& function(const Node& node) const { return *functions_[node.payload]; }
  std::span<const std::shared_ptr<const Function>> functions() const { return functions_; }
  Location location(NodeId id) const { return locations_[id]; }

  std::vector<NodeId> outputs;  ///< roots, in the user's order

 private:
  /// Where a node is found by its hash: open addressing over a power of two, at most half full.
  struct Slot {
    std::uint32_t hash = 0;
    NodeId id = no_node;
  };
  std::size_t find_slot(const Node& node, std::uint32_t hash) const;
  void grow_slots();
  std::uint64_t intern(const ReductionSpec& spec);
  std::uint64_t intern(const std::shared_ptr<const Function>& function);

  std::vector<Node> nodes_;
  std::vector<Location> locations_;
  std::vector<Slot> slots_;
  std::vector<ViewSpec> views_;
  std::vector<ReductionSpec> reductions_;
  std::vector<std::shared_ptr<const Function>> functions_;
  // From hashes of specifications to positions in the vectors, and of functions that were seen before by address.
  std::unordered_multimap<std::uint64_t, std::uint64_t> view_index_, reduction_index_, function_index_;
  std::unordered_map<const Function*, std::uint64_t> known_functions_;
};

/// Nodes reachable from the outputs in canonical order: post-order from the outputs, first operand first. Independent
/// of the order in which nodes were created (compilers evaluate operands in different orders).
std::vector<NodeId> canonical_order(const Graph& graph);

/// A copy of `graph` whose node ids are its canonical order; unreachable nodes are gone.
Graph canonical(const Graph& graph);

/// One line per reachable node in canonical order and numbering, then the outputs: `%3 = f32 mul %1, %2`. Equal graphs
/// print equal text, in whatever order they were built; literals show their bits.
std::string to_text(const Graph& graph);
/// Graphviz form of the same.
std::string to_dot(const Graph& graph);

/// Throws InternalError (support/check.h) naming the first node that breaks the grammar: operand order, arity, type
/// rules. `kernel_body` admits load and mulhi and forbids input/index/view.
void verify(const Graph& graph, bool kernel_body);

}  // namespace kiln::codegen
