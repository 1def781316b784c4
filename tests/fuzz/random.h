// tests/fuzz/random.h -- SplitMix64: the same numbers on every machine.
#pragma once

#include <cstdint>
#include <vector>

namespace fuzz {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Sizes are at most `limit`: a smaller case of the same kind. Other numbers are drawn as before.
  void limit_sizes(int limit) { limit_ = limit; }
  int at_most_limit(int size) const { return size < limit_ ? size : limit_; }
  int size_below(int n) { return at_most_limit(below(n)); }
  /// In [0, n).
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  /// In [-1, 1).
  double signed_unit() { return static_cast<double>(next() >> 11) * 0x1p-52 - 1; }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(static_cast<int>(list.size())))];
  }

 private:
  std::uint64_t state_;
  int limit_ = 1 << 30;
};

}  // namespace fuzz
