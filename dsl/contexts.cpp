// dsl/contexts.cpp -- composes views into affine maps and applies them to operands.
#include "dsl/contexts.h"

#include <algorithm>
#include <cstdlib>

#include "support/check.h"

namespace kiln::dsl {
namespace {

Context identity(const Shape& shape) {
  Context context;
  context.shape = shape;
  context.space = shape;
  for (int axis = 0; axis < shape.rank; ++axis) context.rows[axis][axis] = 1;
  return context;
}

/// The matrix of a view: row k is the stride vector that a unit step along axis k of the operand becomes, `offset` the
/// start. nullopt when the view is a reshape that merges axes, which no affine map describes.
struct ViewMap {
  std::array<Extents, max_rank> rows = {};
  Extents offset = {};
};
std::optional<ViewMap> view_map(const codegen::ViewSpec& spec, const Shape& operand, Where where) {
  ViewMap map;
  for (int axis = 0; axis < operand.rank; ++axis) {
    Strided probe{operand, {}, 0};
    probe.strides[axis] = 1;
    const std::optional<Strided> seen = apply_view(probe, spec, where);
    if (!seen) return std::nullopt;
    for (int out = 0; out < seen->shape.rank; ++out)
      map.rows[axis][out] = seen->shape.extents[out] == 1 ? 0 : seen->strides[out];
    map.offset[axis] = seen->offset;
  }
  return map;
}

/// Coordinate `to` of `inner`, of the same parent space and folds, becomes `factor` times coordinate `from` of `outer`
/// more than it is.
void add_coordinate(Context& inner, int to, const Context& outer, int from, std::int64_t factor = 1) {
  if (factor == 0) return;
  inner.offset[to] += factor * outer.offset[from];
  for (int axis = 0; axis < outer.space.rank; ++axis) inner.rows[to][axis] += factor * outer.rows[from][axis];
  for (std::size_t v = 0; v < outer.folds.size(); ++v) inner.folded[to][v] += factor * outer.folded[from][v];
}

/// A context of `shape` with the parent space and folds of `outer`; every coordinate is 0.
Context beside(const Context& outer, const Shape& shape) {
  Context context;
  context.shape = shape;
  context.parent = outer.parent;
  context.space = outer.space;
  context.folds = outer.folds;
  return context;
}

/// Drops folds that no coordinate needs, so that equal maps are equal contexts.
void drop_unused_folds(Context& context) {
  std::size_t kept = 0;
  for (std::size_t v = 0; v < context.folds.size(); ++v) {
    const bool used = std::any_of(context.folded.begin(), context.folded.end(),
                                  [&](const Extents& coefficients) { return coefficients[v] != 0; });
    if (!used) continue;
    for (Extents& coefficients : context.folded) coefficients[kept] = coefficients[v];
    context.folds[kept++] = context.folds[v];
  }
  context.folds.resize(kept);
  for (Extents& coefficients : context.folded)
    std::fill(coefficients.begin() + static_cast<int>(kept), coefficients.end(), 0);
}

/// `view`, whose shape is that of `context`, over the coordinates of the context's parent space; without its folds.
Strided pull(const Strided& view, const Context& context) {
  Strided result{context.space, {}, view.offset};
  for (int axis = 0; axis < view.shape.rank; ++axis) {
    result.offset += view.strides[axis] * context.offset[axis];
    for (int out = 0; out < context.space.rank; ++out)
      result.strides[out] += view.strides[axis] * context.rows[axis][out];
  }
  return result;
}

/// A reshape seen from a context: the element's number in C order is an affine function of the context's space. Where
/// each axis of that space steps within one digit of that number, written in the extents of `operand`, and no sum
/// carries into the next digit, the digits are affine too.
std::optional<Context> through_digits(const Context& outer, const Shape& operand) {
  if (!outer.folds.empty()) return std::nullopt;
  const Strided order = pull(contiguous("reshape", outer.shape, {}), outer);
  const Strided digits = contiguous("reshape", operand, {});
  Context inner = beside(outer, operand);
  std::int64_t start = order.offset;  // the least number
  for (int axis = 0; axis < order.shape.rank; ++axis)
    start += std::min<std::int64_t>(0, order.strides[axis]) * (order.shape.extents[axis] - 1);
  Extents most = {};
  for (int k = 0; k < operand.rank; ++k) {
    if (operand.extents[k] <= 1) continue;
    most[k] = inner.offset[k] = start / digits.strides[k] % operand.extents[k];
  }
  for (int axis = 0; axis < order.shape.rank; ++axis) {
    const std::int64_t step = order.strides[axis], reach = order.shape.extents[axis] - 1;
    if (step == 0 || reach == 0) continue;
    int k = operand.rank - 1;
    while (k >= 0 && (operand.extents[k] <= 1 || std::abs(step) >= digits.strides[k] * operand.extents[k])) --k;
    if (k < 0 || step % digits.strides[k] != 0) return std::nullopt;
    inner.rows[k][axis] = step / digits.strides[k];
    most[k] += std::abs(inner.rows[k][axis]) * reach;
    if (step < 0) inner.offset[k] -= inner.rows[k][axis] * reach;
    if (most[k] >= operand.extents[k]) return std::nullopt;
  }
  return inner;
}

void append(std::vector<std::int64_t>& key, const Shape& shape) {
  key.push_back(shape.rank);
  key.insert(key.end(), shape.extents.begin(), shape.extents.begin() + shape.rank);
}

}  // namespace

Positions positions(const Context& context, int axis, std::int64_t by) {
  Positions result{constant(context.space)};
  Strided& view = result.view;
  view.offset = result.low = result.high = context.offset[axis] - by;
  for (int along = 0; along < context.space.rank; ++along) {
    const std::int64_t last = context.space.extents[along] - 1;
    if (last <= 0) continue;
    const std::int64_t step = view.strides[along] = context.rows[axis][along];
    (step < 0 ? result.low : result.high) += step * last;
  }
  return result;
}

SplitShape unsplit(const Shape& shape) {
  SplitShape split;
  split.parts = shape;
  for (int axis = 0; axis < shape.rank; ++axis) split.owner[axis] = axis;
  return split;
}

Contexts::Contexts(const Shape& loop) { intern(identity(loop), {}); }

int Contexts::intern(Context context, Where where) {
  drop_unused_folds(context);
  std::vector<std::int64_t> key{context.parent};
  append(key, context.shape);
  append(key, context.space);
  for (int axis = 0; axis < context.shape.rank; ++axis) {
    key.push_back(context.offset[axis]);
    key.insert(key.end(), context.rows[axis].begin(), context.rows[axis].begin() + context.space.rank);
  }
  for (std::size_t v = 0; v < context.folds.size(); ++v) {
    const FoldedCoordinate& fold = context.folds[v];
    key.insert(key.end(), {static_cast<std::int64_t>(fold.kind), fold.length, fold.start});
    key.insert(key.end(), fold.row.begin(), fold.row.begin() + context.space.rank);
    for (int axis = 0; axis < context.shape.rank; ++axis) key.push_back(context.folded[axis][v]);
  }
  const auto [entry, inserted] = index_.try_emplace(std::move(key), static_cast<int>(contexts_.size()));
  if (inserted) {
    contexts_.push_back(context);
    places_.push_back(where);
  }
  return entry->second;
}

Context Contexts::aligned(int context, const Shape& shape) const {
  const Context& from = contexts_[context];
  Context result = beside(from, shape);
  const int skipped = from.shape.rank - shape.rank;
  for (int axis = 0; axis < shape.rank; ++axis)
    if (shape.extents[axis] != 1) add_coordinate(result, axis, from, axis + skipped);  // else one coordinate only, 0
  drop_unused_folds(result);
  return result;
}

int Contexts::selected(int context, const Shape& from, const Shape& shape, const std::array<int, max_rank>& axes) {
  const Context outer = aligned(context, from);
  Context inner;
  inner.shape = shape;
  inner.parent = outer.parent;
  inner.space = outer.space;
  for (int axis = 0; axis < shape.rank; ++axis) {
    if (shape.extents[axis] == 1) continue;  // one coordinate only, 0
    inner.rows[axis] = outer.rows[axes[axis]];
    inner.offset[axis] = outer.offset[axes[axis]];
  }
  return intern(inner, places_[context]);
}

int Contexts::placed(const Shape& shape, const SplitShape& split, const AxisMap& axes) {
  Context context;
  context.shape = shape;
  context.space = contexts_[root].space;
  Extents steps;
  steps.fill(1);
  for (int part = split.parts.rank; part-- > 0;) {
    const int axis = split.owner[part];
    if (axes[part] >= 0) context.rows[axis][axes[part]] = steps[axis];
    steps[axis] *= split.parts.extents[part];
  }
  return intern(context, {});
}

int Contexts::reduced(int context, const codegen::ReductionSpec& spec, const Shape& operand, const Shape& result,
                      const AxisMap& owner) {
  const Context outer = aligned(context, result);
  Context inner = beside(outer, operand);
  int kept = 0;
  for (int axis = 0; axis < operand.rank; ++axis) {
    const bool is_reduced = (spec.axes >> axis & 1) != 0;
    if (!is_reduced) add_coordinate(inner, axis, outer, kept);
    kept += !is_reduced || spec.keepdims ? 1 : 0;
  }
  Extents steps;
  steps.fill(1);
  for (int at = inner.space.rank; at-- > 0;) {
    if (owner[at] < 0) continue;
    inner.rows[owner[at]][at] = steps[owner[at]];
    steps[owner[at]] *= inner.space.extents[at];
  }
  return intern(inner, places_[context]);
}

std::optional<int> Contexts::affine_below(int context, const codegen::ViewSpec& spec, const Shape& operand,
                                          const Shape& result, Where where) {
  const Context outer = aligned(context, result);
  const std::optional<ViewMap> map = view_map(spec, operand, where);
  if (!map) {
    const std::optional<Context> digits = through_digits(outer, operand);
    return digits ? std::optional(intern(*digits, places_[context])) : std::nullopt;
  }
  Context inner = beside(outer, operand);
  for (int axis = 0; axis < operand.rank; ++axis) {
    inner.offset[axis] = map->offset[axis];
    for (int middle = 0; middle < result.rank; ++middle)
      add_coordinate(inner, axis, outer, middle, map->rows[axis][middle]);
  }
  return intern(inner, places_[context]);
}

int Contexts::below(int context, const codegen::ViewSpec& spec, const Shape& operand, const Shape& result,
                    Where where) {
  if (const std::optional<int> affine = affine_below(context, spec, operand, result, where)) return *affine;
  const Context outer = aligned(context, result);
  Context inner = identity(operand);
  inner.parent = intern(outer, outer.parent < 0 ? where : places_[context]);
  return intern(inner, where);
}

std::optional<int> Contexts::shifted(int context, const codegen::ViewSpec& spec, const Shape& shape) {
  const Context outer = aligned(context, shape);
  Context inner = beside(outer, shape);
  for (int axis = 0; axis < shape.rank; ++axis) {
    const Displacement displaced = displacement(spec, axis, shape.extents[axis]);
    add_coordinate(inner, axis, outer, axis);
    if (displaced.by == 0) continue;
    const bool is_folded = std::any_of(outer.folded[axis].begin(), outer.folded[axis].end(),
                                       [](std::int64_t coefficient) { return coefficient != 0; });
    if (outer.parent >= 0 || is_folded) return std::nullopt;
    const Positions at = positions(outer, axis, displaced.by);
    inner.offset[axis] = at.view.offset;
    if (at.low >= 0 && at.high < shape.extents[axis]) continue;
    const auto moving =
        std::count_if(at.view.strides.begin(), at.view.strides.end(), [](auto step) { return step != 0; });
    if (moving > 1 || inner.folds.size() == max_rank) return std::nullopt;
    inner.rows[axis] = {};
    inner.offset[axis] = 0;
    if (moving == 0) {
      inner.offset[axis] = folded(displaced.kind, at.view.offset, shape.extents[axis]);
      continue;
    }
    inner.folded[axis][inner.folds.size()] = 1;
    inner.folds.push_back({displaced.kind, shape.extents[axis], at.view.offset, at.view.strides});
  }
  return intern(inner, places_[context]);
}

namespace {

/// Adds the folds of `context` to `seen`, an operand of the context's shape that has been pulled into `placed`.
void add_folds(const Strided& seen, const Context& context, Placement& placed) {
  for (std::size_t v = 0; v < context.folds.size(); ++v) {
    const FoldedCoordinate& fold = context.folds[v];
    std::int64_t stride = 0;
    for (int axis = 0; axis < seen.shape.rank; ++axis) stride += seen.strides[axis] * context.folded[axis][v];
    if (stride == 0) continue;
    const auto moving = std::find_if(fold.row.begin(), fold.row.end(), [](auto step) { return step != 0; });
    const auto along = static_cast<std::size_t>(moving - fold.row.begin());
    KILN_INTERNAL_CHECK(!placed.folds[along].is_active() && placed.view.strides[along] == 0,
                        "an operand moves in two ways along axis {}", along);
    placed.view.offset += stride * fold.start;
    placed.view.strides[along] = stride * *moving;
    placed.folds[along] = forward({fold.kind, fold.start, *moving, fold.length, stride});
  }
}

}  // namespace

Placement Contexts::resolve(const Strided& view, int context) const {
  Strided seen = view;
  for (;;) {
    const Context& at = contexts_[context];
    const Strided whole = broadcast_to("broadcast", seen, at.shape, {});
    seen = pull(whole, at);
    if (at.parent < 0) {
      Placement placed{seen, {}};
      add_folds(whole, at, placed);
      return placed;
    }
    const Shape& to = contexts_[at.parent].shape;
    const std::optional<Strided> next = reshape(seen, to.span(), places_[context]);
    if (!next) {
      fail<ShapeError>(
          "reshape of an expression from {} to {}{}: an operand of this layout cannot be seen in the new shape "
          "without a copy; write kl::eval(expression).reshape(...) to compute it first",
          to_text(at.space), to_text(to), place(places_[context]));
    }
    seen = *next;
    context = at.parent;
  }
}

}  // namespace kiln::dsl
