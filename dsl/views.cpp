// dsl/views.cpp -- the view operations: transpose, reshape, squeeze, unsqueeze, flip and slices.
#include <algorithm>

#include "dsl/shapes.h"
#include "support/check.h"

namespace kiln::dsl {
namespace {

using Item = ViewSpec::Item;

/// Marks the named axes; each may be named once. None named marks nothing.
std::array<bool, max_rank> mark_axes(const char* operation, std::span<const std::int64_t> axes, const Shape& shape,
                                     Where where) {
  std::array<bool, max_rank> marked = {};
  for (const std::int64_t axis : axes) {
    const int i = checked_axis(operation, axis, shape, where);
    if (marked[i]) {
      fail<ShapeError>("[{}] axes {} of shape {} name axis {} twice{}; name each axis once", operation, to_text(axes),
                       to_text(shape), i, place(where));
    }
    marked[i] = true;
  }
  return marked;
}

void append_axis(Strided& view, std::int64_t extent, std::int64_t stride) {
  view.shape.extents[view.shape.rank] = extent;
  view.strides[view.shape.rank] = stride;
  ++view.shape.rank;
}

/// Reverses axis i: element 0 becomes the last one.
void flip_axis(Strided& view, int i) {
  if (view.shape.extents[i] < 2) return;
  view.offset += (view.shape.extents[i] - 1) * view.strides[i];
  view.strides[i] = -view.strides[i];
}

struct Bounds {
  std::int64_t start = 0, step = 1, length = 0;
};

/// CPython's clamping of a slice to an axis of `extent` elements.
Bounds clamp_slice(const Item& item, std::int64_t extent) {
  const bool backward = item.step < 0;
  const std::int64_t lowest = backward ? -1 : 0, highest = backward ? extent - 1 : extent;
  const auto clamp = [&](std::int64_t bound) {
    if (bound < 0) bound += extent;  // cannot overflow: bound is negative, extent is not
    return std::clamp(bound, lowest, highest);
  };
  const std::int64_t start = item.has_start ? clamp(item.start) : backward ? highest : lowest;
  const std::int64_t stop = item.has_stop ? clamp(item.stop) : backward ? lowest : highest;
  Bounds bounds{start, item.step, 0};
  const std::int64_t distance = backward ? start - stop : stop - start;
  // Unsigned: -step does not overflow for the least 64-bit step.
  const std::uint64_t stride =
      backward ? 0 - static_cast<std::uint64_t>(item.step) : static_cast<std::uint64_t>(item.step);
  if (distance > 0) bounds.length = static_cast<std::int64_t>((static_cast<std::uint64_t>(distance) - 1) / stride) + 1;
  return bounds;
}

/// Offset of an index item along axis `i`.
std::int64_t index_offset(const Strided& view, const Item& item, int i, Where where) {
  const std::int64_t extent = view.shape.extents[i];
  const std::int64_t index = item.start < 0 ? item.start + extent : item.start;
  if (index < 0 || index >= extent) {
    if (extent == 0) {
      fail<ShapeError>("[slice] index {} is out of range for shape {}{}: axis {} is empty", item.start,
                       to_text(view.shape), place(where), i);
    }
    fail<ShapeError>("[slice] index {} is out of range for axis {} of shape {}{}; use {} to {}", item.start, i,
                     to_text(view.shape), place(where), -extent, extent - 1);
  }
  return index * view.strides[i];
}

/// Strides of axes of extent 1 are never multiplied by an index but still computed: they may wrap.
std::int64_t wrapping_product(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

/// Groups of old axes that a group of new axes covers exactly, matched by equal products (the classic no-copy reshape).
bool reshape_strides(const Strided& view, Strided& result) {
  Strided packed;  // `view` without the axes of extent 1, which never matter
  for (int i = 0; i < view.shape.rank; ++i) {
    if (view.shape.extents[i] != 1) append_axis(packed, view.shape.extents[i], view.strides[i]);
  }
  const Extents& from = packed.shape.extents;
  const Extents& to = result.shape.extents;
  int i = 0, j = 0;
  while (i < packed.shape.rank && j < result.shape.rank) {
    std::int64_t old_product = from[i], new_product = to[j];
    int i_end = i + 1, j_end = j + 1;
    while (old_product != new_product) {
      // Neither product exceeds the element count, which fits.
      if (new_product < old_product) {
        new_product *= to[j_end++];
      } else {
        old_product *= from[i_end++];
      }
    }
    for (int k = i; k + 1 < i_end; ++k) {
      if (packed.strides[k] != wrapping_product(packed.strides[k + 1], from[k + 1])) return false;
    }
    std::int64_t stride = packed.strides[i_end - 1];
    for (int k = j_end - 1; k >= j; --k) {
      result.strides[k] = stride;
      stride = wrapping_product(stride, to[k]);
    }
    i = i_end;
    j = j_end;
  }
  for (; j < result.shape.rank; ++j) result.strides[j] = j > 0 ? result.strides[j - 1] : 1;  // extents of 1
  return true;
}

}  // namespace

Strided transpose(const Strided& view, std::span<const std::int64_t> axes, Where where) {
  const Shape& shape = view.shape;
  Strided result;
  result.offset = view.offset;
  if (axes.empty()) {
    for (int i = shape.rank - 1; i >= 0; --i) append_axis(result, shape.extents[i], view.strides[i]);
    return result;
  }
  if (axes.size() != static_cast<std::size_t>(shape.rank)) {
    fail<ShapeError>("[transpose] axes {} name {} of the {} axes of shape {}{}; give each axis exactly once",
                     to_text(axes), axes.size(), shape.rank, to_text(shape), place(where));
  }
  mark_axes("transpose", axes, shape, where);
  for (const std::int64_t axis : axes) {
    const int i = checked_axis("transpose", axis, shape, where);
    append_axis(result, shape.extents[i], view.strides[i]);
  }
  return result;
}

Shape reshaped(const Shape& from, std::span<const std::int64_t> extents, Where where) {
  const std::int64_t count = element_count("reshape", from, where);
  Shape to;
  int unknown = -1;
  if (extents.size() > static_cast<std::size_t>(max_rank)) make_shape("reshape", extents, where);  // throws
  to.rank = static_cast<int>(extents.size());
  for (int i = 0; i < to.rank; ++i) {
    if (extents[i] < -1 || (extents[i] == -1 && unknown >= 0)) {
      fail<ShapeError>("[reshape] shape {} for {}{}: extents must be 0 or more, and at most one may be -1 (computed)",
                       to_text(extents), to_text(from), place(where));
    }
    if (extents[i] == -1) unknown = i;
    to.extents[i] = extents[i] == -1 ? 1 : extents[i];
  }
  const std::int64_t others = element_count("reshape", to, where);
  const bool fits = unknown < 0 ? others == count : others > 0 && count % others == 0;
  if (!fits) {
    fail<ShapeError>("[reshape] {} elements of shape {} do not fit shape {}{}; {}", count, to_text(from),
                     to_text(extents), place(where),
                     unknown < 0 ? "the products of the extents must be equal"
                                 : "the other extents must divide the number of elements to leave a value for -1");
  }
  if (unknown >= 0) to.extents[unknown] = count / others;
  return to;
}

std::optional<Strided> reshape(const Strided& view, std::span<const std::int64_t> extents, Where where) {
  const Shape shape = reshaped(view.shape, extents, where);
  if (shape == view.shape) return view;
  Strided result = constant(shape);
  result.offset = view.offset;
  if (element_count("reshape", shape, where) == 0) {
    result.strides = contiguous("reshape", shape, where).strides;
    return result;
  }
  if (!reshape_strides(view, result)) return std::nullopt;
  return result;
}

Strided squeeze(const Strided& view, std::span<const std::int64_t> axes, Where where) {
  const Shape& shape = view.shape;
  const auto dropped = mark_axes("squeeze", axes, shape, where);
  Strided result;
  result.offset = view.offset;
  for (int i = 0; i < shape.rank; ++i) {
    if (dropped[i] && shape.extents[i] != 1) {
      fail<ShapeError>(
          "[squeeze] axis {} of shape {} has {} elements{}; only axes of extent 1 can be dropped. Use an index or a "
          "reduction",
          i, to_text(shape), shape.extents[i], place(where));
    }
    const bool drop = axes.empty() ? shape.extents[i] == 1 : dropped[i];
    if (!drop) append_axis(result, shape.extents[i], view.strides[i]);
  }
  return result;
}

Strided unsqueeze(const Strided& view, std::span<const std::int64_t> axes, Where where) {
  const std::size_t rank = static_cast<std::size_t>(view.shape.rank) + axes.size();
  if (rank > static_cast<std::size_t>(max_rank)) {
    fail<ShapeError>("[unsqueeze] shape {} with {} more axes has rank {}{}; kiln arrays have at most {} axes",
                     to_text(view.shape), axes.size(), rank, place(where), max_rank);
  }
  Shape target;  // only its rank matters: it is what axes count in
  target.rank = static_cast<int>(rank);
  target.extents.fill(1);
  const auto inserted = mark_axes("unsqueeze", axes, target, where);
  Strided result;
  result.offset = view.offset;
  for (int i = 0, old = 0; i < target.rank; ++i) {
    if (inserted[i]) {
      append_axis(result, 1, 0);
    } else {
      append_axis(result, view.shape.extents[old], view.strides[old]);
      ++old;
    }
  }
  return result;
}

Strided flip(const Strided& view, std::span<const std::int64_t> axes, Where where) {
  const auto flipped = mark_axes("flip", axes, view.shape, where);
  if (element_count("flip", view.shape, where) == 0) return view;  // there is no last element to begin at
  Strided result = view;
  for (int i = 0; i < view.shape.rank; ++i) {
    if (axes.empty() || flipped[i]) flip_axis(result, i);
  }
  return result;
}

Strided slice(const Strided& view, std::span<const Item> items, Where where) {
  const Shape& shape = view.shape;
  if (items.size() > static_cast<std::size_t>(shape.rank)) {
    fail<ShapeError>("[slice] {} indices for shape {}, which has {} axes{}; give at most one per axis", items.size(),
                     to_text(shape), shape.rank, place(where));
  }
  Strided result;
  std::int64_t offset = view.offset;
  bool empty = false;
  for (int i = 0; i < shape.rank; ++i) {
    const Item item = static_cast<std::size_t>(i) < items.size() ? items[i] : Item{};
    if (item.is_index) {
      offset += index_offset(view, item, i, where);
      continue;
    }
    if (item.step == 0) {
      fail<ShapeError>("[slice] the step along axis {} of shape {} is 0{}; use 1, or -1 to go backwards", i,
                       to_text(shape), place(where));
    }
    const Bounds bounds = clamp_slice(item, shape.extents[i]);
    empty = empty || bounds.length == 0;
    if (bounds.length > 0) offset += bounds.start * view.strides[i];
    // A step is only taken between two elements; it may be huge where there is one or none.
    append_axis(result, bounds.length, bounds.length > 1 ? bounds.step * view.strides[i] : view.strides[i]);
  }
  result.offset = empty ? view.offset : offset;  // empty views stay inside their memory
  return result;
}

}  // namespace kiln::dsl
