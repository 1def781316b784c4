// codegen/emit/llvm_state.h -- the state of one reduction or scan in vectors: identity, accumulation, join, result.
#pragma once

#include <utility>
#include <vector>

#include "codegen/emit/llvm_kernel.h"
#include "codegen/emit/llvm_ops.h"
#include "codegen/ir/reduction.h"

namespace kiln::codegen {

/// A state is one vector per component. These hold more than their result:
///   float sums    the sum, and the correction: all rounding errors so far, which join the result at the end.
///   logsumexp     the largest x, the sum of exp(x - base), base, the correction of the sum. The base follows
///                 the largest one
///                 only when that is above it by more than 1: what was summed is then scaled at most once per unit, so
///                 that no number of small steps adds up their roundings.
///   deviations    the number of elements, their mean, the sum of squares, the corrections of both: a mean that moves
///                 by less than its last place still moves.
///   f32 extremes  the extreme of what is no NaN, by one instruction that ignores the sign of zeros; a mask of lanes
///                 that saw a NaN; and the least of all bit patterns (max: unsigned, min: signed), which tells whether
///                 the zero that wins over the other occurred.
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
  /// True where a state keeps corrections, which rounding must not fill: `settled` moves them into what they correct,
  /// and leaves other states as they are.
  bool is_running() const {
    return form_ == Form::compensated || form_ == Form::exponentials || form_ == Form::deviations;
  }
  Parts settled(const Parts& state) const;

 private:
  enum class Form : std::uint8_t { plain, compensated, extreme, exponentials, deviations };
  /// Of these forms: pairs of a component and its correction.
  std::vector<std::pair<std::size_t, std::size_t>> corrections() const;
  Parts join_sums(const Parts& a, const Parts& b) const;
  Parts join_exponentials(const Parts& a, const Parts& b) const;
  Parts add_exponentials(const Parts& a, const std::vector<Parts>& elements) const;
  IrValue scale(const IrValue& from, const IrValue& to) const;
  Parts join_deviations(const Parts& a, const Parts& b) const;
  Parts add_deviations(const Parts& a, const std::vector<Parts>& elements) const;
  Parts total(const Parts& state) const;
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
