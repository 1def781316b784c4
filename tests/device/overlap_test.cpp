// tests/device/overlap_test.cpp -- the right side behaves as if complete before the first write, whatever overlaps
// (B03).
#include <algorithm>
#include <vector>

#include "tests/support/devices.h"

namespace {

class Overlap : public OnEachDevice {};

constexpr int repeats = 20;  // a race shows sooner or later

std::vector<float> counted(std::size_t n) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i % 8191);
  return values;
}

TEST_P(Overlap, adding_the_own_transpose) {
  constexpr std::size_t n = 512;
  const std::vector<float> values = counted(n * n);
  std::vector<float> expected(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) expected[i * n + j] = values[i * n + j] + values[j * n + i];
  for (int repeat = 0; repeat < repeats; ++repeat) {
    kl::Array<float> h = kl::from_host(values, {n, n});
    h += h.t();
    ASSERT_EQ(h.to_host(), expected) << repeat;
  }
}

TEST_P(Overlap, dividing_by_the_left_neighbour) {
  const std::vector<float> values = {10, 11, 12, 13, 14, 13, 12, 11};
  std::vector<float> expected = values;
  for (std::size_t i = 1; i < values.size(); ++i) expected[i] = values[i] / values[i - 1];
  for (int repeat = 0; repeat < repeats; ++repeat) {
    kl::Array<float> a = kl::from_host(values);
    kl::View<float> tail = a(kl::range(1, kl::none));
    tail /= a(kl::range(0, -1));
    const std::vector<float> got = a.to_host();
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_FLOAT_EQ(got[i], expected[i]) << repeat << ", " << i;
  }
}

TEST_P(Overlap, shifting_rows_both_ways) {
  constexpr std::size_t rows = 5000, columns = 100, shift = 500;
  const std::vector<float> values = counted(rows * columns);
  std::vector<float> up = values, down = values;
  std::copy(values.begin() + shift * columns, values.end(), up.begin());
  std::copy(values.begin(), values.end() - shift * columns, down.begin() + shift * columns);
  for (int repeat = 0; repeat < repeats; ++repeat) {
    kl::Array<float> a = kl::from_host(values, {rows, columns});
    a(kl::range(0, -500)) = a(kl::range(500, kl::none));
    ASSERT_EQ(a.to_host(), up) << repeat;
    a = kl::from_host(values, {rows, columns});
    a(kl::range(500, kl::none)) = a(kl::range(0, -500));
    ASSERT_EQ(a.to_host(), down) << repeat;
  }
}

TEST_P(Overlap, reversing_in_place) {
  for (const std::size_t n : {std::size_t{5}, std::size_t{1000000}}) {
    const std::vector<float> values = counted(n);
    std::vector<float> expected(values.rbegin(), values.rend());
    for (float& value : expected) value += 1.0f;
    for (int repeat = 0; repeat < repeats; ++repeat) {
      kl::Array<float> a = kl::from_host(values);
      a = a(kl::range(kl::none, kl::none, -1)) + 1.0f;
      ASSERT_EQ(a.to_host(), expected) << n << ", " << repeat;
    }
  }
}

TEST_P(Overlap, identical_views_update_in_place) {
  constexpr std::size_t n = 100003;
  kl::Array<float> a = kl::from_host(counted(n));
  const float* const before = a.data();
  kl::View<float> whole = a(kl::range(0, n));
  whole += a;
  a = a + a(kl::range(0, n));
  EXPECT_EQ(a.data(), before);  // written in place, not reallocated
  std::vector<float> expected = counted(n);
  for (float& value : expected) value *= 4.0f;
  EXPECT_EQ(a.to_host(), expected);
}

TEST_P(Overlap, interleaved_views_do_not_touch) {
  constexpr std::size_t n = 20000;
  kl::Array<float> a = kl::from_host(counted(n));
  a(kl::range(0, kl::none, 2)) = a(kl::range(1, kl::none, 2)) * 2.0f;
  std::vector<float> expected = counted(n);
  for (std::size_t i = 0; i < n; i += 2) expected[i] = 2.0f * expected[i + 1];
  EXPECT_EQ(a.to_host(), expected);
}

TEST_P(Overlap, a_row_broadcast_over_its_own_array) {
  constexpr std::size_t rows = 300, columns = 257;
  const std::vector<float> values = counted(rows * columns);
  kl::Array<float> a = kl::from_host(values, {rows, columns});
  a += a(150);
  std::vector<float> expected = values;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) expected[i * columns + j] += values[150 * columns + j];
  EXPECT_EQ(a.to_host(), expected);
}

KILN_ON_EACH_DEVICE(Overlap);

}  // namespace
