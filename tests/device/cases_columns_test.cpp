// tests/device/cases_columns_test.cpp -- reported faults restated for long columns and one very long row: positions of
// ties and NaN (A07), softmax and logsumexp of infinities and NaN (A12).
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/devices.h"

namespace {

class ColumnCases : public OnEachDevice {};
KILN_ON_EACH_DEVICE(ColumnCases);

using Index = std::int64_t;
constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

// ------------------------------------------------------------------ A07
template <class T>
bool is_nan(T value) {
  return value != value;
}
bool is_nan(kl::half value) { return std::isnan(static_cast<float>(value)); }

/// The rule, row after row: the first NaN, else the first of the largest (or smallest).
template <class T>
std::vector<Index> first_positions(const std::vector<T>& values, Index columns, bool largest) {
  std::vector<Index> best(static_cast<std::size_t>(columns), 0);
  const Index rows = static_cast<Index>(values.size()) / columns;
  for (Index c = 0; c < columns; ++c) {
    Index& at = best[static_cast<std::size_t>(c)];
    for (Index r = 1; r < rows; ++r) {
      const T now = values[static_cast<std::size_t>(at * columns + c)];
      const T next = values[static_cast<std::size_t>(r * columns + c)];
      if (is_nan(now)) break;
      const float a = static_cast<float>(now), b = static_cast<float>(next);
      if (is_nan(next) || (largest ? b > a : b < a)) at = r;
    }
  }
  return best;
}

/// A row whose extreme in the column is met again in other threads, vectors and chunks; small integers, exact in any
/// type, so that most of the values tie.
template <class T>
std::vector<T> tying_values(Index rows, Index columns) {
  std::vector<T> values;
  values.reserve(static_cast<std::size_t>(rows * columns));
  for (Index r = 0; r < rows; ++r) {
    for (Index c = 0; c < columns; ++c) {
      const Index mixed = (r * 7919 + c * 104729) % 1000003 % 90;
      values.push_back(static_cast<T>(static_cast<float>(c == 0 ? 4 : mixed)));  // column 0: all equal
    }
  }
  return values;
}

template <class T>
void expect_positions(const std::string& what, const std::vector<T>& values, Index columns) {
  const Index rows = static_cast<Index>(values.size()) / columns;
  const kl::Array<T> x = kl::from_host(values, {rows, columns});
  EXPECT_EQ(kl::eval(kl::argmax(x, 0)).to_host(), first_positions(values, columns, true)) << what;
  EXPECT_EQ(kl::eval(kl::argmin(x, 0)).to_host(), first_positions(values, columns, false)) << what;
  std::vector<T> reversed;  // counted in the order of the view
  for (Index r = rows; r-- > 0;)
    reversed.insert(reversed.end(), values.begin() + r * columns, values.begin() + (r + 1) * columns);
  EXPECT_EQ(kl::eval(kl::argmax(x.flip(0), 0)).to_host(), first_positions(reversed, columns, true)) << what;
  EXPECT_EQ(kl::eval(kl::argmin(x.flip(0), 0)).to_host(), first_positions(reversed, columns, false)) << what;
  const kl::Array<T> turned = x.t();  // the same as rows
  EXPECT_EQ(kl::eval(kl::argmax(turned, 1)).to_host(), first_positions(values, columns, true)) << what << ", rows";
}

// Rule: argmax and argmin give the first NaN, else the lowest index of ties (semantics).
TEST_P(ColumnCases, positions_in_long_columns) {
  for (const auto& [rows, columns] : {std::pair<Index, Index>{300000, 3}, {1000000, 4}}) {
    const std::string what = std::to_string(rows) + " x " + std::to_string(columns);
    std::vector<float> values = tying_values<float>(rows, columns);
    const auto put = [&](Index row, Index column, float value) {
      values[static_cast<std::size_t>(row * columns + column)] = value;
    };
    expect_positions(what + " with ties", values, columns);
    put(rows - 1, 1, 1000);  // the only largest one is the last
    put(rows / 2, 2, 1000), put(rows / 2 + 1, 2, 1000), put(rows - 2, 2, 1000);
    put(rows / 3, 1, -5), put(rows - 3, 1, -5);
    expect_positions(what + " with late extremes", values, columns);
    put(rows - 5, 1, nan), put(rows / 7, 2, nan), put(rows / 7 + 1, 2, nan), put(rows / 5, 2, inf);
    expect_positions(what + " with NaN", values, columns);
    for (Index r = 0; r < rows; ++r) put(r, 0, nan);
    expect_positions(what + " with a column of NaN", values, columns);
    for (Index r = 0; r < rows; ++r) put(r, 1, -inf);
    expect_positions(what + " with a column of -inf", values, columns);
  }
}

TEST_P(ColumnCases, positions_in_long_columns_of_other_types) {
  expect_positions("f64", tying_values<double>(300000, 3), 3);
  expect_positions("i32", tying_values<std::int32_t>(300000, 3), 3);
  expect_positions("i8", tying_values<std::int8_t>(300000, 3), 3);
  std::vector<kl::half> halves = tying_values<kl::half>(300000, 3);
  halves[3 * 299000 + 1] = kl::half(nan);
  expect_positions("f16", halves, 3);
}

// ------------------------------------------------------------------ A12
const auto softmax_of_columns = kl::jit([](auto v) {
  auto e = kl::exp(v - kl::max(v, 0, kl::keepdims));
  return e / kl::sum(e, 0, kl::keepdims);
});

double reference_logsumexp(const std::vector<double>& column) {
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const double v : column) {
    if (std::isnan(v)) return v;
    most = std::max(most, v);
  }
  if (std::isinf(most)) return most;
  for (const double v : column) sum += std::exp(v - most);
  return most + std::log(sum);
}

/// What IEEE arithmetic makes of exp(x - max) / sum, in f64.
std::vector<double> reference_softmax(const std::vector<double>& column) {
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const double v : column) most = std::isnan(v) || v > most ? v : most;
  std::vector<double> result;
  for (const double v : column) result.push_back(std::exp(v - most));
  for (const double e : result) sum += e;
  for (double& e : result) e /= sum;
  return result;
}

/// Exact for what is not finite and for 0 and 1, else within a few roundings of f32 (its exponential's argument may
/// lose some as well).
void expect_near(float got, double want, const std::string& what) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << what << ": " << got;
  } else if (std::isinf(want) || want == 0) {
    EXPECT_EQ(static_cast<double>(got), want) << what;
  } else {
    EXPECT_NEAR(got, want, 4e-6 * std::fabs(want)) << what;
  }
}

/// Column by column: all -inf; one finite among -inf; ordinary; a NaN; an infinity; all equal; very negative.
std::vector<std::vector<double>> special_columns(Index rows) {
  std::vector<std::vector<double>> columns(7, std::vector<double>(static_cast<std::size_t>(rows)));
  for (Index r = 0; r < rows; ++r) {
    const auto at = static_cast<std::size_t>(r);
    const double ordinary = static_cast<double>((r * 37) % 101) / 16.0 - 3.0;
    columns[0][at] = -std::numeric_limits<double>::infinity();
    columns[1][at] = r == rows * 2 / 3 ? 5.0 : -std::numeric_limits<double>::infinity();
    columns[2][at] = ordinary;
    columns[3][at] = r == rows - 1 ? std::numeric_limits<double>::quiet_NaN() : ordinary;
    columns[4][at] = r == rows / 2 ? std::numeric_limits<double>::infinity() : ordinary;
    columns[5][at] = 88.0;
    columns[6][at] = r == 0 ? std::numeric_limits<double>::quiet_NaN() : -std::numeric_limits<double>::infinity();
  }
  return columns;
}

// Rule: log(0) = -inf, so the logsumexp of nothing but -inf is -inf; its softmax is 0/0 = NaN; NaN spreads over its own
// column and no other; threads without elements add nothing.
TEST_P(ColumnCases, softmax_and_logsumexp_over_axis_0) {
  for (const Index rows : {1, 3, 33, 1000, 40000}) {
    const auto columns = special_columns(rows);
    const auto width = static_cast<Index>(columns.size());
    std::vector<float> values;
    for (Index r = 0; r < rows; ++r)
      for (const auto& column : columns) values.push_back(static_cast<float>(column[static_cast<std::size_t>(r)]));
    const kl::Array<float> x = kl::from_host(values, {rows, width});
    const std::vector<float> sums = kl::eval(kl::logsumexp(x, 0)).to_host(), shares = softmax_of_columns(x).to_host();
    const std::vector<float> of_rows = kl::eval(kl::logsumexp(kl::eval(x.t()), 1)).to_host();
    for (Index c = 0; c < width; ++c) {
      const auto& column = columns[static_cast<std::size_t>(c)];
      const std::string what = "column " + std::to_string(c) + " of " + std::to_string(rows) + " rows";
      expect_near(sums[static_cast<std::size_t>(c)], reference_logsumexp(column), "logsumexp, " + what);
      expect_near(of_rows[static_cast<std::size_t>(c)], reference_logsumexp(column), "logsumexp as a row, " + what);
      const std::vector<double> want = reference_softmax(column);
      for (Index r = 0; r < rows; ++r) {
        expect_near(shares[static_cast<std::size_t>(r * width + c)], want[static_cast<std::size_t>(r)],
                    "softmax, " + what + ", row " + std::to_string(r));
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(ColumnCases, a_row_of_a_million) {
  constexpr Index n = 1000000;
  const auto softmax = kl::jit([](auto v) {
    auto e = kl::exp(v - kl::max(v, -1, kl::keepdims));
    return e / kl::sum(e, -1, kl::keepdims);
  });
  for (const auto& row : special_columns(n)) {
    std::vector<float> values;
    for (const double v : row) values.push_back(static_cast<float>(v));
    const kl::Array<float> x = kl::from_host(values, {1, n});
    expect_near(kl::logsumexp(x).item(), reference_logsumexp(row), "logsumexp");
    expect_near(kl::eval(kl::logsumexp(x, 1)).to_host()[0], reference_logsumexp(row), "logsumexp of axis 1");
    const std::vector<double> want = reference_softmax(row);
    const std::vector<float> got = softmax(x).to_host();
    double total = 0;
    for (Index k = 0; k < n; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const bool close = std::isnan(want[at]) ? std::isnan(got[at])
                                              : std::fabs(static_cast<double>(got[at]) - want[at]) <= 4e-6 * want[at];
      ASSERT_TRUE(close) << "element " << k << " is " << got[at] << ", not " << want[at];
      total += static_cast<double>(got[at]);
    }
    EXPECT_TRUE(std::isnan(want[0]) || std::fabs(total - 1) <= 4e-6) << total;
  }
}

}  // namespace
