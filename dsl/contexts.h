// dsl/contexts.h -- affine maps from loop coordinates to the coordinates of a node, interned.
#pragma once

#include <array>
#include <map>
#include <span>
#include <vector>

#include "codegen/ir/graph.h"
#include "dsl/shapes.h"

namespace kiln::dsl {

/// `coordinate[k] = offset[k] + sum_j rows[k][j] * parent[j]` for each axis `k` of `shape`. The parent space is the
/// loop, or, below a reshape that is not affine, `space`: elements of `space` in C order are those of context
/// `parent`'s shape.
struct Context {
  Shape shape;
  std::array<Extents, max_rank> rows = {};
  Extents offset = {};
  int parent = -1;
  Shape space;
};

class Contexts {
 public:
  explicit Contexts(const Shape& loop);
  static constexpr int root = 0;

  /// The context of a view's operand of shape `operand`, where the view's result of shape `result` is reached in
  /// `context`.
  int below(int context, const codegen::ViewSpec& spec, const Shape& operand, const Shape& result, Where where);

  /// `view`, broadcast to the context's shape and seen over the loop. ShapeError when a reshape on the way needs a
  /// copy.
  Strided resolve(const Strided& view, int context) const;

 private:
  int intern(const Context& context, Where where);
  Context aligned(int context, const Shape& shape) const;

  std::vector<Context> contexts_;
  std::vector<Where> places_;  ///< of the reshape that made a context with a parent
  std::map<std::vector<std::int64_t>, int> index_;
};

}  // namespace kiln::dsl
