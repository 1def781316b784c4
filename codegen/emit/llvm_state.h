// codegen/emit/llvm_state.h -- the state of one reduction or scan in vectors: identity, accumulation, join, result.
#pragma once

#include <vector>

#include "codegen/emit/llvm_kernel.h"
#include "codegen/emit/llvm_ops.h"
#include "codegen/ir/reduction.h"

namespace kiln::codegen {

/// A state is one vector per component. Two kinds hold more than their result:
///   float sums    the sum, and the correction: all rounding errors so far, which join the result at the end.
///   f32 extremes  the extreme of what is no NaN, by one instruction that ignores the sign of zeros; a mask of lanes
///                 that saw a NaN; and the least of all bit patterns (max: unsigned, min: signed), which tells whether
///                 the zero that wins over the other occurred.
/// A logsumexp that needs a combiner rescales its sum once per batch.
class ReductionState {
 public:
  ReductionState(KernelFrame& frame, NodeId node);
  ReductionState(const ReductionState&) = delete;
  ReductionState& operator=(const ReductionState&) = delete;

  NodeId node() const { return node_; }
  const std::vector<Lane>& lanes() const { return lanes_; }

  /// Nodes of the body that an element's state consists of.
  std::vector<NodeId> operands() const;
  /// Nodes of the body that its identity consists of, literals left out.
  std::vector<NodeId> identities() const;
  std::vector<Lane> result_lanes() const {
    return {lanes_.begin(), lanes_.begin() + static_cast<std::ptrdiff_t>(monoid_.components.size())};
  }
  Parts identity(const BodyPrinter& body) const;
  /// The state of the current element.
  Parts element(const BodyPrinter& body) const;
  Parts join(const Parts& a, const Parts& b);
  /// `a` joined with a batch of elements, which are joined among themselves first: cheaper than join.
  Parts accumulate(const Parts& a, const std::vector<Parts>& elements);
  /// The values of the node.
  Parts result(const Parts& state) const;
  /// All lanes joined in a fixed tree; every lane of the result holds it.
  Parts join_lanes(Parts state);
  /// Lane k holds the join of the elements 0 .. k.
  Parts prefixes(const Parts& element, const Parts& identity);
  /// `a` joined with prefixes, or one of them.
  Parts absorb(const Parts& a, const Parts& prefixes);
  Parts last_lane(const Parts& state) const;  ///< in every lane

 private:
  enum class Form : std::uint8_t { plain, compensated, extreme, exponentials };
  Parts add_exponentials(const Parts& a, const std::vector<Parts>& elements);
  Parts batch_of(const std::vector<Parts>& elements);
  IrValue better(const IrValue& a, const IrValue& b) const;
  IrValue least_bits(const IrValue& a, const IrValue& b) const;
  Parts shuffled(const Parts& state, const Parts& other, const std::vector<int>& lanes) const;

  KernelFrame& frame_;
  NodeId node_;
  Monoid monoid_;
  Form form_ = Form::plain;
  std::vector<Lane> lanes_;
  BodyPrinter combine_;
};

}  // namespace kiln::codegen
