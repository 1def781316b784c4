// dsl/lowering.h -- the walk behind lower() and segment(): a trace over one loop, with what is fused and what is cut.
#pragma once

#include <unordered_set>
#include <vector>

#include "dsl/contexts.h"
#include "dsl/levels.h"
#include "dsl/lower.h"

namespace kiln::dsl {

struct LeafHash {
  std::size_t operator()(const Leaf& leaf) const {
    std::uint64_t hash = static_cast<std::uint64_t>(leaf.slot) * 0x9e3779b97f4a7c15u + leaf.iota;
    hash ^= static_cast<std::uint64_t>(leaf.temporary) << 32 ^ static_cast<std::uint64_t>(leaf.step + leaf.gathers);
    for (int axis = 0; axis < leaf.view.shape.rank; ++axis)
      hash = (hash ^ static_cast<std::uint64_t>(leaf.view.strides[axis])) * 0x9e3779b97f4a7c15u;
    for (const AxisFold& fold : leaf.folds)  // the rest follows from the view
      hash = (hash ^ static_cast<std::uint64_t>(fold.start) ^ static_cast<std::uint64_t>(fold.kind) << 48) *
             0x9e3779b97f4a7c15u;
    return (hash ^ static_cast<std::uint64_t>(leaf.view.offset)) * 0x9e3779b97f4a7c15u;
  }
};

/// The loop that a trace is lowered over and what may be computed in it.
struct LoweringRules {
  Shape loop;
  int reduced = 0;                 ///< trailing axes that reductions run along; 0: every reduction is cut
  bool scans = false;              ///< the one trailing axis is a scan's: every reduction is cut
  int rank = -1;                   ///< temporaries of lower ranks may be read; < 0: all
  std::unordered_set<NodeId> cut;  ///< reductions and scans that are computed elsewhere whatever their context
  bool may_read(const Source& source, const Levels& levels, NodeId node) const {
    return rank < 0 || levels.rank(source.graph, node) < rank;
  }
};

/// A value to be computed: `node`, broadcast to `shape`, whose parts run along loop axes `axes`.
struct Root {
  NodeId node;
  Shape shape;
  SplitShape split;
  AxisMap axes;
};

/// A reduction or scan computed in the loop; once per context.
struct Fused {
  NodeId node;
  NodeId body;      ///< what it is in the body
  Context operand;  ///< the context of its operand
};

/// A value read from a temporary. `node`: a reduction, an `element` of one, a scan, a reshape or a stored operand.
struct Cut {
  NodeId node;
  Context context;
};

struct Lowered {
  Body body;  ///< one output per root; Leaf::temporary is the node that is read
  std::vector<Fused> fused;
  std::vector<Cut> cuts;
};

/// `levels` may be null for traces without reductions and scans.
Lowered lower_roots(const Source& source, const Levels* levels, const LoweringRules& rules,
                    std::span<const Root> roots);

}  // namespace kiln::dsl
