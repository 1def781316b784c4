// codegen/schedule/divisor.h -- division by a run-time extent through one multiplication (Granlund and Montgomery
// 1994).
#pragma once

#include <cstdint>

namespace kiln::codegen {

/// The value of a `divisor` argument: n / d = (mulhi(n, multiplier) + n) >> shift for every n < 2^31.
struct Divisor {
  std::uint32_t multiplier = 1;
  std::uint32_t shift = 0;
};

/// `extent` in [1, 2^31].
constexpr Divisor divisor_of(std::uint32_t extent) {
  std::uint32_t shift = 0;
  while (shift < 32 && (std::uint64_t{1} << shift) < extent) ++shift;
  const std::uint64_t excess = (std::uint64_t{1} << shift) - extent;
  return {static_cast<std::uint32_t>((excess << 32) / extent + 1), shift};
}

}  // namespace kiln::codegen
