// tests/support/shifts.h -- displaced arrays by definition: what lies beyond an axis, as a periodic list of positions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace shifts {

enum class Beyond { clamp, wrap, reflect, symmetric, constant };
inline constexpr Beyond every_boundary[] = {Beyond::clamp, Beyond::wrap, Beyond::reflect, Beyond::symmetric,
                                            Beyond::constant};

/// The element that stands at `position` of an axis of `n`; none where a constant does.
inline std::optional<std::int64_t> source(Beyond beyond, std::int64_t position, std::int64_t n) {
  if (position >= 0 && position < n) return position;
  std::vector<std::int64_t> period;
  switch (beyond) {
    case Beyond::constant:
      return std::nullopt;
    case Beyond::clamp:
      return position < 0 ? 0 : n - 1;
    case Beyond::wrap:
      for (std::int64_t i = 0; i < n; ++i) period.push_back(i);
      break;
    case Beyond::reflect:
      for (std::int64_t i = 0; i < n; ++i) period.push_back(i);
      for (std::int64_t i = n - 2; i > 0; --i) period.push_back(i);
      break;
    case Beyond::symmetric:
      for (std::int64_t i = 0; i < n; ++i) period.push_back(i);
      for (std::int64_t i = n - 1; i >= 0; --i) period.push_back(i);
      break;
  }
  const auto length = static_cast<std::int64_t>(period.size());
  return period[static_cast<std::size_t>(((position % length) + length) % length)];
}

/// result[i...] = values[i - by...] of an array in C order.
template <class T>
std::vector<T> shifted(const std::vector<T>& values, const std::vector<std::int64_t>& shape,
                       const std::vector<std::int64_t>& by, Beyond beyond, T constant) {
  std::vector<T> result(values.size());
  std::vector<std::int64_t> at(shape.size());
  for (std::size_t e = 0; e < values.size(); ++e) {
    std::int64_t rest = static_cast<std::int64_t>(e), from = 0;
    for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) at[axis] = rest % shape[axis];
    bool outside = false;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const auto position = source(beyond, at[axis] - by[axis], shape[axis]);
      outside = outside || !position;
      from = from * shape[axis] + position.value_or(0);
    }
    result[e] = outside ? constant : values[static_cast<std::size_t>(from)];
  }
  return result;
}

}  // namespace shifts
