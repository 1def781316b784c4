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

/// `view`, whose shape is that of `context`, over the coordinates of the context's parent space.
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
  const Strided order = pull(contiguous("reshape", outer.shape, {}), outer);
  const Strided digits = contiguous("reshape", operand, {});
  Context inner;
  inner.shape = operand;
  inner.parent = outer.parent;
  inner.space = outer.space;
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

SplitShape unsplit(const Shape& shape) {
  SplitShape split;
  split.parts = shape;
  for (int axis = 0; axis < shape.rank; ++axis) split.owner[axis] = axis;
  return split;
}

Contexts::Contexts(const Shape& loop) { intern(identity(loop), {}); }

int Contexts::intern(const Context& context, Where where) {
  std::vector<std::int64_t> key{context.parent};
  append(key, context.shape);
  append(key, context.space);
  for (int axis = 0; axis < context.shape.rank; ++axis) {
    key.push_back(context.offset[axis]);
    key.insert(key.end(), context.rows[axis].begin(), context.rows[axis].begin() + context.space.rank);
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
  Context result;
  result.shape = shape;
  result.parent = from.parent;
  result.space = from.space;
  const int skipped = from.shape.rank - shape.rank;
  for (int axis = 0; axis < shape.rank; ++axis) {
    if (shape.extents[axis] == 1) continue;  // one coordinate only, 0
    result.rows[axis] = from.rows[axis + skipped];
    result.offset[axis] = from.offset[axis + skipped];
  }
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
  Context inner;
  inner.shape = operand;
  inner.parent = outer.parent;
  inner.space = outer.space;
  int kept = 0;
  for (int axis = 0; axis < operand.rank; ++axis) {
    const bool is_reduced = (spec.axes >> axis & 1) != 0;
    if (!is_reduced) {
      inner.rows[axis] = outer.rows[kept];
      inner.offset[axis] = outer.offset[kept];
    }
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
  Context inner;
  inner.shape = operand;
  inner.parent = outer.parent;
  inner.space = outer.space;
  for (int axis = 0; axis < operand.rank; ++axis) {
    inner.offset[axis] = map->offset[axis];
    for (int middle = 0; middle < result.rank; ++middle) {
      const std::int64_t factor = map->rows[axis][middle];
      if (factor == 0) continue;
      inner.offset[axis] += factor * outer.offset[middle];
      for (int out = 0; out < outer.space.rank; ++out) inner.rows[axis][out] += factor * outer.rows[middle][out];
    }
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

Strided Contexts::resolve(const Strided& view, int context) const {
  Strided seen = view;
  for (;;) {
    const Context& at = contexts_[context];
    seen = pull(broadcast_to("broadcast", seen, at.shape, {}), at);
    if (at.parent < 0) return seen;
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
