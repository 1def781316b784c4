// dsl/segment.h -- from a trace to the kernels of a call: what is fused, what is computed first and kept.
//
// A kernel has one iteration space: kept axes, then reduced ones. A reduction joins the kernel of the value that needs
// it where its kept axes are all kept axes of the loop and its reduced axes run along the loop's reduced axes; any
// other reduction is computed by an earlier kernel into a temporary, and read like an operand. So there are never more
// kernels than reductions, scans, reshapes of values that need such, and output shapes together; of reductions that
// need one another in a long chain every eighth adds one, which stores the values that the rest of the chain starts
// from.
#pragma once

#include <string>
#include <vector>

#include "codegen/schedule/schedule.h"
#include "dsl/lower.h"

namespace kiln::dsl {

/// A value that one kernel computes and later ones read: C order. f16/bf16 values are kept in f32, unrounded.
struct Temporary {
  DType type = DType::f32;
  Shape shape;
};

/// Where output k of a segment's body goes.
struct SegmentOutput {
  bool is_temporary = false;
  std::uint32_t number = 0;  ///< of the target or the temporary
  /// The target's or temporary's shape, with axes split where a reshape in the expression needs it: a view of any
  /// memory of that shape.
  Shape shape;
  /// The loop axis along which each axis of `shape` runs; -1 for an axis of extent 1 that no loop axis has. Loop axes
  /// that do not occur are reduced ones: the output has one value per row.
  std::array<int, max_rank> axes = {};
};

/// One kernel before collapse.
struct Segment {
  Shape loop;       ///< kept axes, then `reduced` reduced ones
  int reduced = 0;  ///< 0: elementwise. A scan's axis counts as reduced, and is the only one
  std::vector<SegmentOutput> outputs;
  Body body;                        ///< as lowered: the passes have not run
  bool holds_rows = false;          ///< for PassOptions
  bool joins_exponentials = false;  ///< the same
};

struct Segmentation {
  std::vector<Segment> segments;  ///< producers before consumers
  std::vector<Temporary> temporaries;
  std::vector<std::string> notes;  ///< the reason for every split
};

/// `loops[t]` is the shape that target t is written over (the result broadcasts into it); targets without elements are
/// not computed.
Segmentation segment(const codegen::Graph& graph, std::span<const Shape> shapes, std::span<const Operand> operands,
                     std::span<const Shape> loops, const codegen::DeviceTraits& device);

}  // namespace kiln::dsl
