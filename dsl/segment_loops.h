// dsl/segment_loops.h -- the loops that a value may be computed over, and what is known of a kernel over one.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "codegen/schedule/schedule.h"
#include "dsl/lowering.h"

namespace kiln::dsl {

/// A loop and how a value lies in it.
struct LoopChoice {
  Shape loop;
  int reduced = 0;
  bool scans = false;
  SplitShape value;   ///< the value's shape, with axes split where a reshape on the way needs it
  AxisMap axes = {};  ///< of the parts of the value
  /// Extents in the order of the axes of the first reduction's operand, and which of them are reduced. Values whose
  /// loops agree in this are computed together: they read their operands in the same order.
  std::vector<std::pair<std::int64_t, bool>> order;

  /// Does the value change along a reduced axis?
  bool is_per_element() const;
};

LoopChoice elementwise_loop(const SplitShape& value);

/// `value` with axes split so that the reshape `node`, met in `context` of the value's own parts, is affine; nullopt
/// where that changes nothing.
std::optional<SplitShape> split_for_reshape(const Source& source, NodeId node, const Context& context,
                                            const SplitShape& value);

/// The loop of a value in which the reduction `node`, met in `context` of the value's own coordinates, runs;
/// nullopt where it cannot: its rows are not those of the value.
std::optional<LoopChoice> reduction_loop(const Source& source, NodeId node, const Context& context,
                                         const SplitShape& value);

/// The same for a scan.
std::optional<LoopChoice> scan_loop(const Source& source, NodeId node, const Context& context, const SplitShape& value);

codegen::ChainFacts chain_facts(std::span<const Leaf> leaves, const Shape& loop, int reduced);

/// The reductions (or scans) of `lowered` that another one needs.
std::vector<NodeId> needed_by_others(const Lowered& lowered);

/// Do the passes leave no reduction that another one needs, where they find a maximum and sums of exponentials relative
/// to it together?
bool becomes_one_pass(const Body& body);

/// Those that read memory along the other direction than `first`: their rows are contiguous where its are columns, or
/// the other way round. Over one loop one of the two would read a line of memory for every element.
std::vector<NodeId> misaligned(const Lowered& lowered, const LoopChoice& loop, NodeId first);

/// Those met in two contexts, or both fused and cut.
std::vector<NodeId> ambiguous(const Lowered& lowered, const codegen::Graph& graph);

}  // namespace kiln::dsl
