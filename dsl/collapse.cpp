// dsl/collapse.cpp -- joint collapse of loop axes over all accesses.
#include "dsl/collapse.h"

#include <algorithm>
#include <numeric>

namespace kiln::dsl {
namespace {

std::int64_t magnitude(std::int64_t value) { return value < 0 ? -value : value; }

/// `nest` with its axes in the order `axes` (a selection keeps only those).
LoopNest reordered(const LoopNest& nest, std::span<const int> axes) {
  LoopNest result{{static_cast<int>(axes.size()), {}}, {}, nest.first_store};
  for (std::size_t to = 0; to < axes.size(); ++to) result.shape.extents[to] = nest.shape.extents[axes[to]];
  for (const LoopNest::Walk& walk : nest.walks) {
    LoopNest::Walk moved{{}, walk.offset};
    for (std::size_t to = 0; to < axes.size(); ++to) moved.strides[to] = walk.strides[axes[to]];
    result.walks.push_back(moved);
  }
  return result;
}

/// True when axis `a` belongs outside axis `b`: by the step of the outputs, then of the other accesses, then as
/// written.
bool is_outer(const LoopNest& nest, int a, int b) {
  const std::size_t count = nest.walks.size();
  for (std::size_t i = 0; i < count; ++i) {
    const LoopNest::Walk& walk = nest.walks[(nest.first_store + i) % count];
    const std::int64_t step_a = magnitude(walk.strides[a]), step_b = magnitude(walk.strides[b]);
    if (step_a != step_b) return step_a > step_b;
  }
  return a < b;
}

LoopNest sorted(const LoopNest& nest) {
  std::vector<int> axes;
  for (int axis = 0; axis < nest.shape.rank; ++axis)
    if (nest.shape.extents[axis] != 1) axes.push_back(axis);
  std::sort(axes.begin(), axes.end(), [&](int a, int b) { return is_outer(nest, a, b); });
  return reordered(nest, axes);
}

void flip_backward_axes(LoopNest& nest) {
  if (nest.first_store >= nest.walks.size()) return;
  const LoopNest::Walk output = nest.walks[nest.first_store];
  for (int axis = 0; axis < nest.shape.rank; ++axis) {
    if (output.strides[axis] >= 0) continue;
    for (LoopNest::Walk& walk : nest.walks) {
      walk.offset += walk.strides[axis] * (nest.shape.extents[axis] - 1);
      walk.strides[axis] = -walk.strides[axis];
    }
  }
}

bool joins(const LoopNest& nest, int outer, int inner) {
  const std::int64_t extent = nest.shape.extents[inner];
  return std::all_of(nest.walks.begin(), nest.walks.end(),
                     [&](const LoopNest::Walk& walk) { return walk.strides[outer] == walk.strides[inner] * extent; });
}

}  // namespace

LoopNest collapse(const LoopNest& nest) {
  LoopNest result = sorted(nest);
  flip_backward_axes(result);
  int kept = 0;  // axes [0, kept) are final, the last of them may still absorb the next
  for (int axis = 0; axis < result.shape.rank; ++axis) {
    const bool join = kept > 0 && joins(result, kept - 1, axis);
    const int to = join ? kept - 1 : kept++;
    const std::int64_t extent = result.shape.extents[axis];
    result.shape.extents[to] = join ? result.shape.extents[to] * extent : extent;
    for (LoopNest::Walk& walk : result.walks) walk.strides[to] = walk.strides[axis];
  }
  for (int axis = kept; axis < result.shape.rank; ++axis) {
    result.shape.extents[axis] = 0;
    for (LoopNest::Walk& walk : result.walks) walk.strides[axis] = 0;
  }
  result.shape.rank = kept;
  return result;
}

std::vector<codegen::AxisClass> axis_classes(const LoopNest& nest, std::size_t walk) {
  std::vector<codegen::AxisClass> classes;
  for (int axis = 0; axis < nest.shape.rank; ++axis) {
    const std::int64_t stride = nest.walks[walk].strides[axis];
    classes.push_back(stride == 1   ? codegen::AxisClass::contiguous
                      : stride == 0 ? codegen::AxisClass::broadcast
                                    : codegen::AxisClass::strided);
  }
  return classes;
}

std::uint8_t alignment_class(const LoopNest& nest, std::size_t walk, std::uint64_t base_address, DType type) {
  const Extents& strides = nest.walks[walk].strides;
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
  if (rank < 2 || nest.shape.extents[rank - 1] >= codegen::short_axis) return 0;
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
      reach += magnitude(nest.walks[i].strides[axis]) * (nest.shape.extents[axis] - 1);
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
