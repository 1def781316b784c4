// tests/support/long_expressions.h -- families of expressions of any number of operations, for traced values and for
// plain numbers alike.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace long_expressions {

/// One operation needs the one before it. `number(i)` is the i-th constant as a value.
template <class V, class Number>
V chain(const std::vector<V>& x, int operations, Number number) {
  V y = x[0];
  for (int i = 0; i < operations; ++i) y = i % 2 ? y + x[static_cast<std::size_t>(i) % x.size()] : y * number(i % 7);
  return y;
}

/// A balanced sum of products.
template <class V, class Number>
V tree(const std::vector<V>& x, int operations, Number number) {
  std::vector<V> level;
  for (int i = 0; i < std::max(1, operations / 2); ++i)
    level.push_back(x[static_cast<std::size_t>(i) % x.size()] * number(i % 11));
  while (level.size() > 1) {
    std::vector<V> next;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2) next.push_back(level[i] + level[i + 1]);
    if (level.size() % 2) next.push_back(level.back());
    level = next;
  }
  return level[0];
}

/// Every value is used several times by some of the `window` values behind it, all of which wait at one time.
template <class V, class Number>
V shared(const std::vector<V>& x, int operations, Number number, std::size_t window = 200) {
  std::vector<V> values = x;
  unsigned state = 1;
  const auto pick = [&] {
    state = state * 1664525u + 1013904223u;
    return values[values.size() - 1 - (state >> 8) % std::min(values.size(), window)];
  };
  for (int i = 0; i < operations; ++i) {
    const V a = pick(), b = pick();
    values.push_back(i % 3 ? (a - b) * number(i % 5) : a + b);
  }
  V sum = values.back();
  const std::size_t last = std::min(values.size() - 1, window);
  for (std::size_t i = 1; i <= last; ++i) sum = sum - values[values.size() - 1 - i];
  return sum;
}

/// `operations / 3` values that all wait for the last of them.
template <class V, class Number>
V waiting(const std::vector<V>& x, int operations, Number number) {
  std::vector<V> values{x[0]};
  for (int i = 1; i < operations / 3; ++i) values.push_back(x[1 % x.size()] - values.back() * number(i % 3));
  V result = values.back();
  while (!values.empty()) {
    result = result - values.back();
    values.pop_back();
  }
  return result;
}

}  // namespace long_expressions
