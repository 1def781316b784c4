// tests/fuzz/shapes.cpp -- views and broadcasting by moving element numbers about one by one.
#include <algorithm>

#include "tests/fuzz/program.h"
#include "tests/support/shifts.h"

namespace fuzz {
namespace {

/// Index of element `number` of a C-order array.
Shape unravel(std::int64_t number, const Shape& shape) {
  Shape index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = number % shape[axis];
    number /= shape[axis];
  }
  return index;
}

std::int64_t ravel(const Shape& index, const Shape& shape) {
  std::int64_t number = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) number = number * shape[axis] + index[axis];
  return number;
}

/// Elements between neighbours along each axis, in C order.
Shape strides_of(const Shape& shape) {
  Shape strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) strides[axis] = stride;
  return strides;
}

/// Elements at `strides` from `offset` on, in C order of `shape`.
std::vector<std::int64_t> strided(const Shape& shape, const Shape& strides, std::int64_t offset) {
  const std::int64_t n = count(shape);
  std::vector<std::int64_t> source(static_cast<std::size_t>(n));
  Shape index(shape.size());
  for (std::int64_t& element : source) {
    element = offset;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++index[axis] < shape[axis]) break;
      offset -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return source;
}

/// First element, step and length of one slice item by Python's rules.
struct Range {
  std::int64_t start = 0, step = 1, length = 0;
};
Range range_of(const std::int64_t* item, std::int64_t extent) {
  const std::int64_t step = item[3];
  const auto bound = [&](std::int64_t flag, std::int64_t value, std::int64_t missing) {
    if ((item[0] & flag) == 0) return missing;
    if (value < 0) value += extent;
    return step > 0 ? std::clamp<std::int64_t>(value, 0, extent) : std::clamp<std::int64_t>(value, -1, extent - 1);
  };
  const std::int64_t start = bound(kiln::detail::slice_has_start, item[1], step > 0 ? 0 : extent - 1);
  const std::int64_t stop = bound(kiln::detail::slice_has_stop, item[2], step > 0 ? extent : -1);
  const std::int64_t span = step > 0 ? stop - start : start - stop;
  const std::int64_t magnitude = step > 0 ? step : -step;
  return {start, step, span > 0 ? (span + magnitude - 1) / magnitude : 0};
}

Mapping sliced(const View& view, const Shape& from) {
  Mapping result;
  const Shape steps = strides_of(from);
  Shape strides;
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    const std::int64_t* item = 4 * axis < view.numbers.size() ? &view.numbers[4 * axis] : nullptr;
    if (item && (item[0] & kiln::detail::slice_is_index) != 0) {
      offset += (item[1] < 0 ? item[1] + from[axis] : item[1]) * steps[axis];
      continue;
    }
    const Range range = item ? range_of(item, from[axis]) : Range{0, 1, from[axis]};
    offset += range.start * steps[axis];
    result.shape.push_back(range.length);
    strides.push_back(range.step * steps[axis]);
  }
  result.source = strided(result.shape, strides, offset);
  return result;
}

Mapping shifted(const View& view, const Shape& from) {
  Mapping result{from, {}};
  const auto beyond = static_cast<shifts::Beyond>(view.numbers[0]);
  for (std::int64_t i = 0; i < count(from); ++i) {
    Shape index = unravel(i, from);
    bool inside = true;
    for (std::size_t axis = 0; axis < from.size(); ++axis) {
      const auto position = shifts::source(beyond, index[axis] - view.numbers[axis + 1], from[axis]);
      inside = inside && position;
      index[axis] = position.value_or(0);
    }
    result.source.push_back(inside ? ravel(index, from) : -1);
  }
  return result;
}

}  // namespace

bool broadcast(Shape& into, const Shape& other) {
  if (into.size() < other.size()) into.insert(into.begin(), other.size() - into.size(), 1);
  for (std::size_t i = 0; i < other.size(); ++i) {
    std::int64_t& extent = into[into.size() - 1 - i];
    const std::int64_t theirs = other[other.size() - 1 - i];
    if (extent != theirs && extent != 1 && theirs != 1) return false;
    if (extent == 1) extent = theirs;
  }
  return true;
}

std::vector<std::int64_t> broadcast_source(const Shape& from, const Shape& shape) {
  const Shape own = strides_of(from);
  Shape strides(shape.size());
  for (std::size_t axis = 0; axis < from.size(); ++axis)
    if (from[axis] != 1) strides[shape.size() - from.size() + axis] = own[axis];
  return strided(shape, strides, 0);
}

Mapping apply_view(const View& view, const Shape& from) {
  Mapping result;
  const auto& numbers = view.numbers;
  const auto rank = from.size();
  const auto has = [&](std::size_t axis) {
    return std::find(numbers.begin(), numbers.end(), static_cast<std::int64_t>(axis)) != numbers.end();
  };
  switch (view.kind) {
    case ViewKind::slice:
      return sliced(view, from);
    case ViewKind::broadcast_to:
      return {numbers, broadcast_source(from, numbers)};
    case ViewKind::reshape:
      result.shape = numbers;
      break;
    case ViewKind::squeeze:
      for (std::size_t axis = 0; axis < rank; ++axis)
        if (!has(axis)) result.shape.push_back(from[axis]);
      break;
    case ViewKind::unsqueeze: {
      std::size_t next = 0;
      for (std::size_t axis = 0; axis < rank + numbers.size(); ++axis)
        result.shape.push_back(has(axis) ? 1 : from[next++]);
      break;
    }
    case ViewKind::transpose: {
      const Shape own = strides_of(from);
      Shape strides;
      for (const std::int64_t axis : numbers) {
        result.shape.push_back(from[static_cast<std::size_t>(axis)]);
        strides.push_back(own[static_cast<std::size_t>(axis)]);
      }
      result.source = strided(result.shape, strides, 0);
      return result;
    }
    case ViewKind::flip: {
      result.shape = from;
      Shape strides = strides_of(from);
      std::int64_t offset = 0;
      for (const std::int64_t axis : numbers) {
        std::int64_t& stride = strides[static_cast<std::size_t>(axis)];
        offset += stride * (from[static_cast<std::size_t>(axis)] - 1);
        stride = -stride;
      }
      result.source = strided(from, strides, offset);
      return result;
    }
    case ViewKind::shift:
      return shifted(view, from);
  }
  for (std::int64_t i = 0; i < count(from); ++i) result.source.push_back(i);  // C order is kept
  return result;
}

Mapping view_of(const Operand& operand) {
  Mapping result{operand.base, {}};
  for (std::int64_t i = 0; i < count(operand.base); ++i) result.source.push_back(i);
  for (const View& view : operand.views) {
    Mapping step = apply_view(view, result.shape);
    for (std::int64_t& source : step.source) source = result.source[static_cast<std::size_t>(source)];
    result = std::move(step);
  }
  return result;
}

}  // namespace fuzz
