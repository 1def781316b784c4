// tests/device/cases_dense_test.cpp -- case A02 over memory that is really there: sums of many elements in every
// layout, against exact integers and f64, where adding one by one loses digits.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/devices.h"

namespace {

class DenseSums : public OnEachDevice {};
KILN_ON_EACH_DEVICE(DenseSums);

// Rule (api.md, meaning of operations): an f32 sum of n values is off by at most log2(n) u sum|x|.
double allowed(double magnitude, std::int64_t n) { return std::ceil(std::log2(double(n))) * 0x1p-24 * magnitude; }

TEST_P(DenseSums, of_ones_beyond_2_24_are_exact) {
  const kl::Array<float> minus = kl::full({4500, 4500}, -1.0f);
  EXPECT_EQ(kl::mean(minus).item(), -1.0f) << "one by one stops at -16777216";
  EXPECT_EQ(kl::sum(minus).item(), -20250000.0f);
  EXPECT_EQ(kl::sum(minus.t()).item(), -20250000.0f);
  const kl::Array<float> table = kl::ones<float>({20000000, 4});
  EXPECT_EQ(kl::eval(kl::sum(table, 0)).to_host(), std::vector<float>(4, 20000000.0f));
  EXPECT_EQ(kl::eval(kl::sum(table.t(), 1)).to_host(), std::vector<float>(4, 20000000.0f));
  EXPECT_EQ(kl::eval(kl::mean(table, 0)).to_host(), std::vector<float>(4, 1.0f));
  EXPECT_EQ(kl::sum(table).item(), 80000000.0f);
  EXPECT_EQ(kl::sum(table(kl::all, 2)).item(), 20000000.0f) << "every fourth element";
  EXPECT_EQ(kl::eval(kl::sum(table.flip(0), 0)).to_host(), std::vector<float>(4, 20000000.0f));
}

TEST_P(DenseSums, of_a_million_tenths) {
  const kl::Array<float> x = kl::full({1000000}, 0.1f);
  const double exact = 1000000 * static_cast<double>(0.1f);
  float one_by_one = 0;
  for (int i = 0; i < 1000000; ++i) one_by_one += 0.1f;
  ASSERT_GT(std::fabs(static_cast<double>(one_by_one) - exact), 900) << "what this case is about";
  EXPECT_NEAR(static_cast<double>(kl::sum(x).item()), exact, 1e-6 * exact);
  EXPECT_NEAR(static_cast<double>(kl::eval(kl::sum(x.unsqueeze(1), 0)).item()), exact, 1e-6 * exact);
  EXPECT_NEAR(static_cast<double>(kl::eval(kl::cumsum(x)(-1)).item()), exact, 1e-6 * exact);
  EXPECT_NEAR(static_cast<double>(kl::mean(x).item()), static_cast<double>(0.1f), 1e-7);
}

/// Positive integers below 1024, without a period: their sums are known exactly.
std::uint32_t number(std::int64_t i) {
  std::uint64_t x = (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u;
  x ^= x >> 31;
  return static_cast<std::uint32_t>(x * 0xbf58476d1ce4e5b9u >> 54);
}

/// The sum of the elements begin, begin + step, ... of the line below, exactly.
double sum_of(std::int64_t begin, std::int64_t end, std::int64_t step) {
  std::int64_t sum = 0;
  for (std::int64_t i = begin; i < end; i += step) sum += number(i);
  return static_cast<double>(sum);
}

TEST_P(DenseSums, of_integers_in_every_layout) {
  constexpr std::int64_t n = 30'000'007;  // no power of two divides it
  std::vector<float> values(n);
  for (std::int64_t i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = static_cast<float>(number(i));
  const kl::Array<float> x = kl::from_host(values);
  const double whole = sum_of(0, n, 1);
  float one_by_one = 0;
  for (const float value : values) one_by_one += value;
  ASSERT_GT(std::fabs(static_cast<double>(one_by_one) - whole), 10 * allowed(whole, n)) << "what this case is about";
  const auto near = [](const char* what, float got, double want, std::int64_t count) {
    EXPECT_NEAR(static_cast<double>(got), want, allowed(want, count)) << what;
  };
  near("dense", kl::sum(x).item(), whole, n);
  near("reversed", kl::sum(x.flip(0)).item(), whole, n);
  near("unaligned", kl::sum(x(kl::range(1, kl::none))).item(), whole - number(0), n - 1);
  near("every third", kl::sum(x(kl::range(2, kl::none, 3))).item(), sum_of(2, n, 3), n / 3);
  near("every second, reversed", kl::sum(x(kl::range(kl::none, kl::none, -2))).item(), sum_of(0, n, 2), n / 2 + 1);
  near("scaled and beside another", kl::sum(x * 0.5f).item(), whole / 2, n);
  near("of f64", static_cast<float>(kl::sum(kl::cast<double>(x)).item()), whole, n);
  EXPECT_EQ(kl::sum(kl::cast<std::int32_t>(x)).item(), static_cast<std::int64_t>(whole)) << "integers are exact";
  EXPECT_EQ(kl::sum(x, kl::accumulate<double>).item(), whole) << "below 2^53 f64 is exact";
  const auto planes = x(kl::range(0, 30'000'000)).reshape({3, 2'500'000, 4});
  const std::vector<float> middle = kl::eval(kl::sum(planes, 1)).to_host();
  for (std::int64_t k = 0; k < 12; ++k)
    near("a middle axis", middle[static_cast<std::size_t>(k)],
         sum_of(k / 4 * 10'000'000 + k % 4, (k / 4 + 1) * 10'000'000, 4), 2'500'000);
  const std::vector<float> outer = kl::eval(kl::sum(planes, {0, 1})).to_host();
  for (std::int64_t k = 0; k < 4; ++k)
    near("both outer axes", outer[static_cast<std::size_t>(k)], sum_of(k, 30'000'000, 4), 7'500'000);
  const std::vector<float> rows = kl::eval(kl::sum(planes, {1, 2})).to_host();
  for (std::int64_t k = 0; k < 3; ++k)
    near("rows", rows[static_cast<std::size_t>(k)], sum_of(k * 10'000'000, (k + 1) * 10'000'000, 1), 10'000'000);
}

/// A01: in f32, rounded once; a sum in the type itself stops at 2048 or 256.
template <class T>
void check_halves(const char* name, double unit) {
  constexpr std::int64_t rows = 1000, columns = 3000;
  std::vector<T> values;
  std::vector<double> of_rows(rows), of_columns(columns);
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    values.push_back(T(static_cast<float>(number(i) % 8)));  // small integers, exact in both types
    of_rows[static_cast<std::size_t>(i / columns)] += number(i) % 8;
    of_columns[static_cast<std::size_t>(i % columns)] += number(i) % 8;
  }
  const kl::Array<T> x = kl::from_host(values, {rows, columns});
  const auto check = [&](const std::vector<T>& got, const std::vector<double>& want, double count, const char* what) {
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t k = 0; k < want.size(); ++k) {
      const double expected = want[k] / count;
      ASSERT_NEAR(static_cast<double>(static_cast<float>(got[k])), expected, unit * expected) << name << what << k;
    }
  };
  check(kl::eval(kl::sum(x, 1)).to_host(), of_rows, 1, ", row ");
  check(kl::eval(kl::sum(x, 0)).to_host(), of_columns, 1, ", column ");
  check(kl::eval(kl::mean(x, 1)).to_host(), of_rows, columns, ", mean of row ");
  check(kl::eval(kl::mean(x, 0)).to_host(), of_columns, rows, ", mean of column ");
  check(kl::eval(kl::sum(x.flip(1)(kl::all, kl::range(0, kl::none, 1)), 1)).to_host(), of_rows, 1, ", reversed row ");
  std::vector<float> exact(of_rows.begin(), of_rows.end());
  EXPECT_EQ(kl::eval(kl::sum(x, 1, kl::accumulate<float>)).to_host(), exact) << name;
  EXPECT_EQ(kl::eval(kl::sum(kl::cast<float>(x), 1)).to_host(), exact) << name;
}

TEST_P(DenseSums, of_16_bit_rows_and_columns) {
  check_halves<kl::half>("f16", 0x1p-11);
  check_halves<kl::bfloat16>("bf16", 0x1p-8);
}

}  // namespace
