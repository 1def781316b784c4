// dsl/levels.h -- facts about the reductions of a trace: order, sizes, and the axes they run along.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "dsl/contexts.h"
#include "dsl/source.h"

namespace kiln::dsl {

using codegen::NodeId;

/// The order in which kernels can compute the reductions, scans and views of a trace.
struct Levels {
  /// Reductions, scans, shifts, takes, and reshapes of values with such below, on the longest path that ends at a node.
  std::vector<int> level;
  /// Nodes that are computed once for all who need them, so that no kernel has more than `max_passes` reductions that
  /// need one another; and values whose elements are taken by index.
  std::vector<char> is_stored;
  std::vector<char> is_taken;      ///< the latter
  std::vector<char> is_displaced;  ///< of these, operands of shifts that are not computed again at every place
  std::vector<char> is_long;       ///< of these, operands of reductions that are too long to be computed in each pass

  /// Is `node` stored as the value that it is (and not, like a reduction, in its own right)?
  bool is_value(const codegen::Graph& graph, NodeId node) const;

  /// A kernel for a value of rank `r` reads temporaries of lower ranks only.
  int rank(const codegen::Graph& graph, NodeId node) const;
};
inline constexpr int max_passes = 8;
Levels levels_of(const Source& source);
bool is_shift(const codegen::Graph& graph, NodeId node);

/// The shape that a reduction or scan joins: its operands, broadcast together.
Shape operand_shape(const Source& source, NodeId node);
/// Number of elements that one element of the result of reduction `node` joins.
std::int64_t joined_elements(const Source& source, NodeId node);

/// Pairs the axes of `operand` in the set `reduced` (extents of 1 apart) with `loop_axes` of `loop`, all of them: the
/// owner of a loop axis is the operand's axis that runs along it, alone or as one of several whose extents multiply to
/// its own. nullopt where that cannot be; -1 for other loop axes.
std::optional<AxisMap> match_axes(const Shape& operand, std::uint8_t reduced, const Shape& loop,
                                  std::span<const int> loop_axes);

/// ShapeError: reduction `node` joins no element and has no identity.
[[noreturn]] void fail_empty_reduction(const Source& source, NodeId node);

/// "sum over axis 1 of (3, 4)", for notes and messages. Scans and reshapes have names too.
std::string reduction_text(const Source& source, NodeId node);

}  // namespace kiln::dsl
