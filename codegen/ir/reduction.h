// codegen/ir/reduction.h -- a reduction or scan of a legalised body as what it joins: states, their identity, a join.
//
// Emitters can treat every reduction alike through this; those that know a faster way for a kind look at `kind`.
#pragma once

#include <span>
#include <vector>

#include "codegen/ir/graph.h"

namespace kiln::codegen {

/// One component of the state.
struct StateComponent {
  DType type = DType::f32;          ///< b1, integers, f32 or f64
  NodeId value = no_node;           ///< of the body: this component of the state of one element
  NodeId identity = no_node;        ///< of the body, never of an element; no_node: the literal `identity_bits`
  std::uint64_t identity_bits = 0;  ///< as Graph::literal takes them
};

/// Joining any states in any order and grouping gives the reduction, up to rounding. The identity is neutral to the
/// bit: of a float sum it is -0.0, so that a sum of negative zeros keeps its sign, as if its elements were added to one
/// another. (No element at all: PassOptions::empty_rows.)
struct Monoid {
  Reduction kind = Reduction::sum;
  std::vector<StateComponent> components;  ///< one to three
  /// A legalised body: `input` 0..k-1 are the components of the left state, k..2k-1 those of the right one; outputs
  /// 0..k-1 the joined state. Inputs that do not matter do not occur.
  Graph combine;
};

/// Of a reduce or scan node. One component: the node is the result. More: nodes `element c` of it are.
Monoid monoid_of(const Graph& body, NodeId node);

/// The neutral element of sum prod max min any all in a type that the kind has in legalised bodies (also b1 and the
/// narrow integers for max and min).
std::uint64_t identity_bits(Reduction kind, DType type);

/// The operation that joins two values of these kinds.
Op joining_operation(Reduction kind);

/// True where a kind needs no combiner.
constexpr bool is_plain(Reduction kind) { return kind <= Reduction::all; }

constexpr bool joins_elements(NodeKind kind) { return kind == NodeKind::reduce || kind == NodeKind::scan; }

/// The components of a state: the operands of a tuple, or the value itself (then the span is of `state`).
std::span<const NodeId> components_of(const Graph& graph, const NodeId& state);

/// True for a reduction or scan of tuples, whose results are `element` nodes.
bool gives_tuple(const Graph& graph, const Node& node);

}  // namespace kiln::codegen
