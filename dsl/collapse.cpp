// dsl/collapse.cpp -- joint collapse of loop axes over all accesses.
#include "dsl/collapse.h"

#include <algorithm>
#include <numeric>

namespace kiln::dsl {
namespace {

std::int64_t magnitude(std::int64_t value) { return value < 0 ? -value : value; }

/// `nest` with its axes in the order `axes` (a selection keeps only those).
LoopNest reordered(const LoopNest& nest, std::span<const int> axes) {
  LoopNest result = nest;
  result.shape = {static_cast<int>(axes.size()), {}};
  for (std::size_t to = 0; to < axes.size(); ++to) result.shape.extents[to] = nest.shape.extents[axes[to]];
  for (std::size_t i = 0; i < nest.walks.size(); ++i) {
    result.walks[i].strides = {};
    result.walks[i].folds = {};
    for (std::size_t to = 0; to < axes.size(); ++to) {
      result.walks[i].strides[to] = nest.walks[i].strides[axes[to]];
      result.walks[i].folds[to] = nest.walks[i].folds[axes[to]];
    }
  }
  return result;
}

using Precedence = std::vector<const LoopNest::Walk*>;

bool moves(const LoopNest& nest, const LoopNest::Walk& walk, int first_axis) {
  return std::any_of(walk.strides.begin() + first_axis, walk.strides.begin() + nest.shape.rank,
                     [](std::int64_t stride) { return stride != 0; });
}

/// Bytes that the walk touches, as a measure only.
double bytes_touched(const LoopNest& nest, const LoopNest::Walk& walk) {
  double bytes = walk.bytes;
  for (int axis = 0; axis < nest.shape.rank; ++axis)
    if (walk.strides[axis] != 0) bytes *= static_cast<double>(nest.shape.extents[axis]);
  return bytes;
}

bool same_steps(const LoopNest::Walk& a, const LoopNest::Walk& b) {
  return std::equal(a.strides.begin(), a.strides.end(), b.strides.begin(),
                    [](std::int64_t x, std::int64_t y) { return magnitude(x) == magnitude(y); });
}

/// Which accesses decide on the order of the axes, the most important first. Elementwise: outputs, then loads. With
/// reduced axes: those that move along them, by the bytes that move in the same steps; then the others.
Precedence precedence(const LoopNest& nest) {
  const std::size_t count = nest.walks.size();
  Precedence order;
  if (nest.reduced == 0) {
    for (std::size_t i = 0; i < count; ++i) order.push_back(&nest.walks[(nest.first_store + i) % count]);
    return order;
  }
  std::vector<std::pair<double, const LoopNest::Walk*>> weighted;
  for (const LoopNest::Walk& walk : nest.walks) {
    double weight = 0;
    if (moves(nest, walk, nest.shape.rank - nest.reduced)) {
      for (const LoopNest::Walk& other : nest.walks)
        if (same_steps(walk, other)) weight += bytes_touched(nest, other);
    }
    weighted.emplace_back(weight, &walk);
  }
  std::stable_sort(weighted.begin(), weighted.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [weight, walk] : weighted) order.push_back(walk);
  return order;
}

/// The axes of `nest` with more than one element (and the only reduced one), outermost first: by the steps of the
/// accesses, then as written. Kept axes stay outside reduced ones.
std::vector<int> sorted_axes(const LoopNest& nest) {
  const Precedence order = precedence(nest);
  std::vector<int> axes;
  for (int axis = 0; axis < nest.shape.rank; ++axis)
    if (nest.shape.extents[axis] != 1 || (nest.reduced == 1 && axis == nest.shape.rank - 1)) axes.push_back(axis);
  const int first_reduced = nest.shape.rank - nest.reduced;
  std::sort(axes.begin(), axes.end(), [&](int a, int b) {
    if ((a < first_reduced) != (b < first_reduced)) return a < b;
    for (const LoopNest::Walk* walk : order) {
      const std::int64_t step_a = magnitude(walk->strides[a]), step_b = magnitude(walk->strides[b]);
      if (step_a != step_b) return step_a > step_b;
    }
    return a < b;
  });
  return axes;
}

/// All reduced axes as one where joining them is trivial: nothing to reduce over, or a single element.
LoopNest with_trivial_reduction(const LoopNest& nest) {
  const int kept = nest.shape.rank - nest.reduced;
  std::int64_t elements = 1;
  for (int axis = kept; axis < nest.shape.rank; ++axis) elements *= nest.shape.extents[axis] != 0 ? 1 : 0;
  LoopNest result = nest;
  result.shape.rank = kept + 1;
  result.reduced = 1;
  std::fill(result.shape.extents.begin() + kept, result.shape.extents.end(), 0);
  result.shape.extents[kept] = elements;
  for (LoopNest::Walk& walk : result.walks) {
    const bool along = elements == 0 && moves(nest, walk, kept);
    std::fill(walk.strides.begin() + kept, walk.strides.end(), 0);
    walk.strides[kept] = along ? 1 : 0;
  }
  return result;
}

bool reduces_trivially(const LoopNest& nest) {
  const auto reduced = nest.shape.span().subspan(static_cast<std::size_t>(nest.shape.rank - nest.reduced));
  const auto is = [](std::int64_t value) { return [=](std::int64_t extent) { return extent == value; }; };
  return std::any_of(reduced.begin(), reduced.end(), is(0)) || std::all_of(reduced.begin(), reduced.end(), is(1));
}

LoopNest sorted(const LoopNest& nest) {
  std::vector<int> axes = sorted_axes(nest);
  LoopNest result = reordered(nest, axes);
  if (nest.reduced == 0) return result;
  const int first_reduced = nest.shape.rank - nest.reduced;
  result.reduced =
      static_cast<int>(std::count_if(axes.begin(), axes.end(), [=](int axis) { return axis >= first_reduced; }));
  return result;
}

void flip(LoopNest& nest, int axis) {
  for (LoopNest::Walk& walk : nest.walks) {
    walk.offset += walk.strides[axis] * (nest.shape.extents[axis] - 1);
    walk.strides[axis] = -walk.strides[axis];
    if (walk.folds[axis].is_active()) walk.folds[axis] = reversed(walk.folds[axis], nest.shape.extents[axis]);
  }
}

void flip_backward_axes(LoopNest& nest) {
  if (nest.first_store >= nest.walks.size()) return;
  const Precedence order = nest.reduced > 0 ? precedence(nest) : Precedence{&nest.walks[nest.first_store]};
  for (int axis = 0; axis < nest.shape.rank; ++axis) {
    if (nest.shape.extents[axis] == 0 || (nest.in_order && axis >= nest.shape.rank - nest.reduced)) continue;
    const auto decides = std::find_if(order.begin(), order.end(), [&](const LoopNest::Walk* walk) {
      return walk->strides[axis] != 0 && (nest.reduced == 0 || walk->bytes > 0);
    });
    if (decides != order.end() && (*decides)->strides[axis] < 0) flip(nest, axis);
  }
}

bool joins(const LoopNest& nest, int outer, int inner) {
  const std::int64_t extent = nest.shape.extents[inner];
  return std::all_of(nest.walks.begin(), nest.walks.end(), [&](const LoopNest::Walk& walk) {
    return walk.strides[outer] == walk.strides[inner] * extent && !walk.folds[outer].is_active() &&
           !walk.folds[inner].is_active();
  });
}

}  // namespace

LoopNest collapse(const LoopNest& nest) {
  LoopNest result = sorted(nest.reduced > 0 && reduces_trivially(nest) ? with_trivial_reduction(nest) : nest);
  flip_backward_axes(result);
  const int border = result.shape.rank - result.reduced;
  int kept = 0, joined_reduced = 0;  // axes [0, kept) are final, the last of them may still absorb the next
  for (int axis = 0; axis < result.shape.rank; ++axis) {
    const bool join = kept > 0 && axis != border && joins(result, kept - 1, axis);
    const int to = join ? kept - 1 : kept++;
    if (!join && axis >= border) ++joined_reduced;
    const std::int64_t extent = result.shape.extents[axis];
    result.shape.extents[to] = join ? result.shape.extents[to] * extent : extent;
    for (LoopNest::Walk& walk : result.walks) {
      walk.strides[to] = walk.strides[axis];
      walk.folds[to] = walk.folds[axis];
    }
  }
  for (int axis = kept; axis < result.shape.rank; ++axis) {
    result.shape.extents[axis] = 0;
    for (LoopNest::Walk& walk : result.walks) walk.strides[axis] = 0, walk.folds[axis] = {};
  }
  result.shape.rank = kept;
  result.reduced = joined_reduced;
  return result;
}

std::int64_t LoopNest::Walk::step(int axis) const {
  return folds[axis].is_active() ? folds[axis].stride : strides[axis];
}

std::vector<codegen::FoldedAxis> folded_axes(const LoopNest& nest, std::size_t walk) {
  const AxisFolds& folds = nest.walks[walk].folds;
  std::vector<codegen::FoldedAxis> classes;
  if (!any_active(folds)) return classes;
  for (int axis = 0; axis < nest.shape.rank; ++axis)
    classes.push_back({folds[axis].kind, !folds[axis].is_active() || folds[axis].step == 1});
  return classes;
}

std::vector<codegen::AxisClass> axis_classes(const LoopNest& nest, std::size_t walk) {
  std::vector<codegen::AxisClass> classes;
  for (int axis = 0; axis < nest.shape.rank; ++axis) {
    const std::int64_t stride = nest.walks[walk].step(axis);
    classes.push_back(stride == 1   ? codegen::AxisClass::contiguous
                      : stride == 0 ? codegen::AxisClass::broadcast
                                    : codegen::AxisClass::strided);
  }
  return classes;
}

std::uint8_t alignment_class(const LoopNest& nest, std::size_t walk, std::uint64_t base_address, DType type) {
  Extents strides = {};
  for (int axis = 0; axis < nest.shape.rank; ++axis) strides[axis] = nest.walks[walk].step(axis);
  const std::uint64_t element = size_of(type);
  std::uint64_t bits = base_address | 16;
  bool contiguous = false;
  for (int axis = 0; axis < nest.shape.rank; ++axis) {
    contiguous |= strides[axis] == 1;
    if (strides[axis] != 1) bits |= static_cast<std::uint64_t>(strides[axis]) * element;
  }
  const std::uint64_t lowest = bits & (~bits + 1);
  return static_cast<std::uint8_t>(contiguous ? lowest : std::min(lowest, element));
}

std::uint8_t dense_alignment(const LoopNest& nest, std::size_t walk, std::uint64_t base_address) {
  const int rank = nest.shape.rank;
  if (rank < 2 || nest.shape.extents[rank - 1] >= codegen::short_axis || any_active(nest.walks[walk].folds)) return 0;
  std::int64_t step = 1;
  for (int axis = rank; axis-- > 0; step *= nest.shape.extents[axis])
    if (nest.walks[walk].strides[axis] != step) return 0;
  const std::uint64_t bits = base_address | 16;
  return static_cast<std::uint8_t>(bits & (~bits + 1));
}

codegen::IndexWidth index_width(const LoopNest& nest, std::span<const DType> types) {
  // A block handles at most 2^18 elements at once (1024 threads, 16 vectors of 16), so indices may run past the end by
  // it.
  constexpr std::int64_t limit = (std::int64_t{1} << 31) - (std::int64_t{1} << 18);
  std::int64_t count = 1;
  for (const std::int64_t extent : nest.shape.span()) count *= extent;
  if (count > limit) return codegen::IndexWidth::bits64;
  for (std::size_t i = 0; i < nest.walks.size(); ++i) {
    std::int64_t reach = 1;
    for (int axis = 0; axis < nest.shape.rank; ++axis) {
      // A stride that is itself large overflows the product only where the layout would have been refused.
      const AxisFold& fold = nest.walks[i].folds[axis];
      const std::int64_t extent = fold.is_active() ? fold.length : nest.shape.extents[axis];
      reach += magnitude(nest.walks[i].step(axis)) * std::max<std::int64_t>(0, extent - 1);
      // Positions before folding, and past the end by a block.
      if (fold.is_active() && magnitude(fold.start) + fold.step * (nest.shape.extents[axis] + (1 << 18)) > limit)
        return codegen::IndexWidth::bits64;
    }
    if (reach > limit / static_cast<std::int64_t>(size_of(types[i]))) return codegen::IndexWidth::bits64;
  }
  return codegen::IndexWidth::bits32;
}

codegen::IotaRange iota_range(const Strided& view) {
  constexpr std::int64_t classes[] = {std::int64_t{1} << 24, (std::int64_t{1} << 31) - (std::int64_t{1} << 18)};
  using Wide = __int128;
  Wide low = view.offset, high = view.offset;
  for (int axis = 0; axis < view.shape.rank; ++axis) {
    const Wide step = view.strides[axis];
    (step < 0 ? low : high) += step * (view.shape.extents[axis] - 1);
  }
  for (const std::int64_t limit : classes)
    if (-limit <= low && high <= limit) return {low >= 0 ? 0 : -limit, limit};
  return {};
}

}  // namespace kiln::dsl
