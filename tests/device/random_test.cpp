// tests/device/random_test.cpp -- random arrays have the same bits on every device: those of Philox4x32-10, written out
// here.
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/support/devices.h"

namespace {

class RandomArrays : public OnEachDevice {};
KILN_ON_EACH_DEVICE(RandomArrays);

using Words = std::array<std::uint32_t, 4>;
constexpr std::uint64_t seed = 0x0123456789abcdefull;

/// Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011), for counter `block` and key
/// `seed`.
Words philox(std::uint64_t block) {
  Words c{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0};
  auto first = static_cast<std::uint32_t>(seed), second = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round, first += 0x9e3779b9u, second += 0xbb67ae85u) {
    const std::uint64_t left = 0xd2511f53ull * c[0], right = 0xcd9e8d57ull * c[2];
    c = {static_cast<std::uint32_t>(right >> 32) ^ c[1] ^ first, static_cast<std::uint32_t>(right),
         static_cast<std::uint32_t>(left >> 32) ^ c[3] ^ second, static_cast<std::uint32_t>(left)};
  }
  return c;
}

// Rule: element i of uniform<float> is the upper 24 bits of word i % 4 of block i / 4; of uniform<double> the upper 53
// of pair i % 2 of block i / 2.
TEST_P(RandomArrays, uniform_numbers_are_philox_to_the_bit) {
  const std::size_t n = 100'003;
  const auto single = kl::random::uniform<float>({n}, seed).to_host();
  const auto twice = kl::random::uniform<double>({n}, seed).to_host();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Words four = philox(i / 4), two = philox(i / 2);
    const std::uint64_t word = two[2 * (i % 2)] | static_cast<std::uint64_t>(two[2 * (i % 2) + 1]) << 32;
    wrong += single[i] != std::ldexp(static_cast<float>(four[i % 4] >> 8), -24);
    wrong += twice[i] != std::ldexp(static_cast<double>(word >> 11), -53);
  }
  EXPECT_EQ(wrong, 0u);
}

// Rule: normal<float> is Box and Muller's transform of the same words, within the accuracy of log, sqrt, sin and cos.
TEST_P(RandomArrays, normal_numbers_are_those_of_the_same_words) {
  const std::size_t n = 100'002;
  const auto got = kl::random::normal<float>({n}, seed).to_host();
  double worst = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Words words = philox(i / 4);
    const std::size_t pair = 2 * (i % 4 / 2);
    const double u = (words[pair] + 0.5) * 0x1p-32;
    const double angle = (words[pair + 1] >> 30) + (words[pair + 1] & 0x3fffffffu) * 0x1p-30 - 0.5;
    const double radius = std::sqrt(-2 * std::log(u)), turned = angle * 1.5707963267948966;
    worst = std::max(worst, std::abs(got[i] - radius * (i % 2 ? std::sin(turned) : std::cos(turned))));
  }
  EXPECT_LE(worst, 4e-6);
}

}  // namespace
