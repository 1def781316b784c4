// tests/golden/long_rows.cpp -- sums over long rows against extended precision, within the bound of the interface.
#include "tests/golden/long_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kiln::golden {
namespace {

constexpr std::int64_t n = 400000;
constexpr long double u = 0x1p-24L;

/// Exponents below the largest of a row: equal ones, and a maximum that keeps growing, or shrinking.
double exponent(std::int64_t row, std::int64_t element) {
  const double along = static_cast<double>(element) / static_cast<double>(n);
  if (row == 0) return element == n / 3 ? 0.0 : -0.3125;
  if (row == 1) return along;
  if (row == 2) return 3 - 2 * along;
  return std::floor(along * 40);
}

double deviating(std::int64_t row, std::int64_t element) {
  const auto i = static_cast<double>(element);
  return 1000 + (row == 0 ? 1 / (1 + 1e-3 * i) : std::sin(i));
}

}  // namespace

void expect_long_exponentials(const ReductionCase& test, bool shares, const LaunchRun& launch) {
  const bool is_bf16 = test.kernel.accesses[0].type == DType::bf16;
  ReductionRun run(test.kernel, {4, n});
  std::vector<std::vector<long double>> rows(4);
  run.fill_rows(0, [&](std::int64_t row, std::int64_t element) {
    auto x = static_cast<float>(exponent(row, element));
    if (is_bf16) x = static_cast<float>(bfloat16(x));
    rows[static_cast<std::size_t>(row)].push_back(x);
    return static_cast<double>(x);
  });
  launch(run);
  for (std::int64_t row = 0; row < 4; ++row) {
    const auto& values = rows[static_cast<std::size_t>(row)];
    const long double largest = *std::max_element(values.begin(), values.end());
    long double sum = 0, terms = 0;
    for (const long double x : values) {
      const long double term = std::exp(x - largest);
      sum += term, terms += u * term * (5 + 2 * std::fabs(x - largest));
    }
    const long double bound = std::log2(static_cast<long double>(n)) * u + terms / sum;
    if (shares) {  // a share of the sum shows its error
      const long double want = std::exp(values[5] - largest) / sum, got = run.result(0, row, 5);
      EXPECT_LE(std::fabs(got / want - 1), bound + u * (6 + 2 * std::fabs(values[5] - largest)))
          << test.name << ", row " << row << ": " << static_cast<double>((got / want - 1) / u) << " u";
      continue;
    }
    const long double want = std::log(sum) + largest, got = run.result(0, row);
    EXPECT_LE(std::fabs(got - want), bound + u * (4 * std::log(sum) + 1 + std::fabs(want)))
        << test.name << ", row " << row << ": " << static_cast<double>((got - want) / u) << " u";
  }
}

void expect_long_variances(const ReductionCase& test, const LaunchRun& launch) {
  ReductionRun run(test.kernel, {2, n});
  std::vector<std::vector<long double>> rows(2);
  run.fill_rows(0, [&](std::int64_t row, std::int64_t element) {
    const auto x = static_cast<float>(deviating(row, element));
    rows[static_cast<std::size_t>(row)].push_back(x);
    return static_cast<double>(x);
  });
  launch(run);
  for (std::int64_t row = 0; row < 2; ++row) {
    const auto& values = rows[static_cast<std::size_t>(row)];
    const long double mean = std::accumulate(values.begin(), values.end(), 0.0L) / n;
    long double squares = 0;
    for (const long double x : values) squares += (x - mean) * (x - mean);
    const long double depth = std::log2(static_cast<long double>(n)), shift = depth * u * 1004;
    EXPECT_LE(std::fabs(run.result(1, row) - squares / n), (depth + 6) * u * squares / n + shift * shift)
        << test.name << ", row " << row << ": " << run.result(1, row) << ", not " << static_cast<double>(squares / n);
  }
}

}  // namespace kiln::golden
