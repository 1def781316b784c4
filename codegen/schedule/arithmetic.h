// codegen/schedule/arithmetic.h -- integer arithmetic of schedules.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace kiln::codegen {

constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The nearest power of two at or above n, and at or below it; 1 for n < 1.
constexpr std::int64_t power_of_two_up(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1))));
}
constexpr std::int64_t power_of_two_down(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1))));
}

}  // namespace kiln::codegen
