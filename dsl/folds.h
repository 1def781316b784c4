// dsl/folds.h -- displaced axes: where a shift reads, and what of it is affine.
#pragma once

#include <array>
#include <cstdint>

#include "codegen/ir/kernel.h"
#include "dsl/shapes.h"

namespace kiln::dsl {

/// One axis of a memory access that is read at position fold(start + step * coordinate), of `length` positions
/// `stride` elements apart. Without the fold it would be affine: `Strided::strides` and `offset` of the access are
/// those of that affine walk. `step` > 0.
struct AxisFold {
  codegen::Fold kind = codegen::Fold::none;
  std::int64_t start = 0, step = 1, length = 0, stride = 0;
  bool is_active() const { return kind != codegen::Fold::none; }
  friend bool operator==(const AxisFold&, const AxisFold&) = default;
};
using AxisFolds = std::array<AxisFold, max_rank>;

bool any_active(const AxisFolds& folds);

/// The same positions for a walk along the axis in the other direction: coordinate `extent - 1 - c`.
AxisFold reversed(const AxisFold& fold, std::int64_t extent);
/// With a negative step made positive: positions counted from the other end, which no kind of fold can tell.
AxisFold forward(const AxisFold& fold);

/// Offset, in elements, of position 0 of every folded axis, where `offset` is that of the affine walk.
std::int64_t unfolded_offset(std::int64_t offset, const AxisFolds& folds);

/// Every element that `view`, folded so, may reach: the affine axes as they are, the folded ones whole.
Strided reached(const Strided& view, const AxisFolds& folds);

// ------------------------------------------------------------------ kl::shift
struct Displacement {
  codegen::Fold kind = codegen::Fold::none;
  bool fills = false;   ///< positions outside have another value; the fold only keeps the read inside
  std::int64_t by = 0;  ///< result[i] = x[i - by]; |by| <= extent, so that one fold suffices
};
/// What the shift `spec` does along `axis` of `extent` elements.
Displacement displacement(const ViewSpec& spec, int axis, std::int64_t extent);

/// The position that `kind` makes of `position`, in [-length, 2 * length).
std::int64_t folded(codegen::Fold kind, std::int64_t position, std::int64_t length);

}  // namespace kiln::dsl
