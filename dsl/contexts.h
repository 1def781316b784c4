// dsl/contexts.h -- affine maps from loop coordinates to the coordinates of a node, interned.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "codegen/ir/graph.h"
#include "dsl/folds.h"
#include "dsl/shapes.h"

namespace kiln::dsl {

/// A coordinate below a shift: fold(start + row . parent), in [0, length). At most one number of `row` is not 0.
struct FoldedCoordinate {
  codegen::Fold kind = codegen::Fold::none;
  std::int64_t length = 0, start = 0;
  Extents row = {};
  friend bool operator==(const FoldedCoordinate&, const FoldedCoordinate&) = default;
};

/// `coordinate[k] = offset[k] + sum_j rows[k][j] * parent[j] + sum_v folded[k][v] * folds[v]` for each axis `k` of
/// `shape`. The parent space is the loop, or, below a reshape that is not affine, `space`: elements of `space` in C
/// order are those of context `parent`'s shape; there are no folds then.
struct Context {
  Shape shape;
  std::array<Extents, max_rank> rows = {};
  Extents offset = {};
  int parent = -1;
  Shape space;
  std::array<Extents, max_rank> folded = {};
  std::vector<FoldedCoordinate> folds;
  friend bool operator==(const Context&, const Context&) = default;
};

/// Loop axes by axis of a value; -1 for an axis of extent 1 that no loop axis has.
using AxisMap = std::array<int, max_rank>;

/// A shape with some axes split, in order: axis `owner[j]` of the shape is a run of axes j of `parts`.
struct SplitShape {
  Shape parts;
  AxisMap owner = {};
};
/// No axis split.
SplitShape unsplit(const Shape& shape);

/// Coordinate `axis` of a context less `by`, over its parent space: before folding.
struct Positions {
  Strided view;
  std::int64_t low = 0, high = 0;  ///< the least and the greatest
};
Positions positions(const Context& context, int axis, std::int64_t by);

/// An operand seen over a loop.
struct Placement {
  Strided view;     ///< without the folds
  AxisFolds folds;  ///< by loop axis
};

class Contexts {
 public:
  explicit Contexts(const Shape& loop);
  static constexpr int root = 0;

  /// The context of a view's operand of shape `operand`, where the view's result of shape `result` is reached in
  /// `context`.
  int below(int context, const codegen::ViewSpec& spec, const Shape& operand, const Shape& result, Where where);

  /// The context of a value of `shape`, split as `split` says, whose part j runs along loop axis `axes[j]`.
  int placed(const Shape& shape, const SplitShape& split, const AxisMap& axes);

  /// `below` where the map is affine; nullopt for a reshape whose axes cut across those of the context.
  std::optional<int> affine_below(int context, const codegen::ViewSpec& spec, const Shape& operand, const Shape& result,
                                  Where where);

  /// The context of the operand of shift `spec`, whose result of the same `shape` is reached in `context`. nullopt
  /// where one fold per loop axis does not describe it.
  std::optional<int> shifted(int context, const codegen::ViewSpec& spec, const Shape& shape);
  bool has_folds(int context) const { return !contexts_[context].folds.empty(); }

  /// The context of the operand, of shape `operand`, of a reduction whose result of shape `result` is reached in
  /// `context`. `owner[j]` is the operand's reduced axis that runs along loop axis j, -1 where none does.
  int reduced(int context, const codegen::ReductionSpec& spec, const Shape& operand, const Shape& result,
              const AxisMap& owner);

  /// The context of a value of `shape` whose axis k runs along axis `axes[k]` of a value of shape `from`, which is
  /// reached in `context`.
  int selected(int context, const Shape& from, const Shape& shape, const std::array<int, max_rank>& axes);

  /// The map to the coordinates of a value of `shape` that is broadcast to the context's shape.
  Context aligned(int context, const Shape& shape) const;
  const Context& operator[](int context) const { return contexts_[context]; }

  /// `view`, broadcast to the context's shape and seen over the loop. ShapeError when a reshape on the way needs a
  /// copy.
  Placement resolve(const Strided& view, int context) const;

 private:
  int intern(Context context, Where where);

  std::vector<Context> contexts_;
  std::vector<Where> places_;  ///< of the reshape that made a context with a parent
  std::map<std::vector<std::int64_t>, int> index_;
};

}  // namespace kiln::dsl
