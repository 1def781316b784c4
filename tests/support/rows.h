// tests/support/rows.h -- reductions and scans without kiln: which elements a result joins, and how close it must be.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/devices.h"
#include "tests/support/reference.h"

namespace rows {

using reference::Int;
using reference::Real;
using Extents = std::vector<std::int64_t>;
using Axes = std::vector<int>;

/// Elements in C order, with their shape.
template <class T>
struct Tensor {
  Extents shape;
  std::vector<T> values;
};

inline std::int64_t count_of(const Extents& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

/// One flag per axis; negative axes count from the end.
inline std::vector<bool> marked(const Axes& axes, std::size_t rank) {
  std::vector<bool> marks(rank);
  for (const int axis : axes) marks[static_cast<std::size_t>(axis < 0 ? axis + static_cast<int>(rank) : axis)] = true;
  return marks;
}

inline Axes all_axes(std::size_t rank) {
  Axes axes;
  for (std::size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int>(i));
  return axes;
}

/// The elements that each result joins, in C order of the reduced axes; results in C order of the kept ones.
template <class T>
std::vector<std::vector<T>> of(const Tensor<T>& tensor, const Axes& axes) {
  const std::vector<bool> reduced = marked(axes, tensor.shape.size());
  std::int64_t rows = 1;
  for (std::size_t i = 0; i < reduced.size(); ++i) rows *= reduced[i] ? 1 : tensor.shape[i];
  std::vector<std::vector<T>> result(static_cast<std::size_t>(rows));
  Extents at(tensor.shape.size(), 0);
  for (std::size_t element = 0; element < tensor.values.size(); ++element) {
    std::int64_t row = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (!reduced[i]) row = row * tensor.shape[i] + at[i];
    }
    result[static_cast<std::size_t>(row)].push_back(tensor.values[element]);
    for (std::size_t i = at.size(); i-- > 0;) {
      if (++at[i] < tensor.shape[i]) break;
      at[i] = 0;
    }
  }
  return result;
}

inline kl::Shape shape_after(const Extents& shape, const Axes& axes, bool keepdims) {
  const std::vector<bool> reduced = marked(axes, shape.size());
  Extents kept;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!reduced[i] || keepdims) kept.push_back(reduced[i] ? 1 : shape[i]);
  }
  return kl::Shape(kept);
}

// ------------------------------------------------------------------ references of one row
template <class T>
Real real(T value) {
  return static_cast<Real>(reference::widen(value));
}

/// A value and how far a result may be from it before it is rounded to its type.
struct Expected {
  Real value = 0, error = 0;
};

/// Unit roundoff of the type in which T is computed.
template <class T>
Real unit() {
  return std::is_same_v<T, double> || !reference::is_float<T> ? 0x1p-53L : 0x1p-24L;
}
inline Real log2_of(std::size_t n) {
  return std::max<Real>(1, std::ceil(std::log2(static_cast<Real>(std::max<std::size_t>(n, 2)))));
}

/// The rule: error <= log2(n) u sum|x|.
template <class T>
Expected sum(const std::vector<T>& row) {
  Real total = 0, magnitude = 0;
  for (const T x : row) {
    total += real(x);
    magnitude += std::fabs(real(x));
  }
  return {total, log2_of(row.size()) * unit<T>() * magnitude};
}

template <class T>
Expected mean(const std::vector<T>& row) {
  const Expected total = sum(row);
  const auto n = static_cast<Real>(row.size());
  return {total.value / n, total.error / n + 2 * unit<T>() * std::fabs(total.value / n)};
}

/// Two-pass: the error of the mean enters squared, that of the sum as for any sum.
template <class T>
Expected var(const std::vector<T>& row, int ddof) {
  const Real center = mean(row).value, n = static_cast<Real>(row.size());
  Real squares = 0, largest = 0;
  for (const T x : row) {
    squares += (real(x) - center) * (real(x) - center);
    largest = std::max(largest, std::fabs(real(x)));
  }
  const Real divisor = std::max<Real>(0, n - ddof);
  const Real shift = 4 * log2_of(row.size()) * unit<T>() * largest;  // of the mean, and of each difference
  return {squares / divisor,
          (4 * log2_of(row.size()) * unit<T>() * squares + n * shift * shift + 2 * shift * std::sqrt(n * squares)) /
              divisor};
}

template <class T>
Expected norm(const std::vector<T>& row) {
  Real squares = 0;
  for (const T x : row) squares += real(x) * real(x);
  return {std::sqrt(squares), (log2_of(row.size()) + 2) * unit<T>() * std::sqrt(squares)};
}

template <class T>
Expected logsumexp(const std::vector<T>& row) {
  Real largest = -std::numeric_limits<Real>::infinity();
  for (const T x : row) largest = reference::maximum(largest, real(x));
  if (std::isinf(largest) || std::isnan(largest)) return {largest, 0};
  Real total = 0;
  for (const T x : row) total += std::exp(real(x) - largest);
  return {largest + std::log(total), (log2_of(row.size()) + 8) * unit<T>() * (1 + std::fabs(largest))};
}

template <class T>
Expected product(const std::vector<T>& row) {
  Real total = 1;
  for (const T x : row) total *= real(x);
  return {total, static_cast<Real>(row.size()) * unit<T>() * std::fabs(total)};
}

inline Expected root(const Expected& square) {
  const Real value = std::sqrt(square.value);
  const Real error = value > 0 ? square.error / value + 0x1p-22L * value : std::sqrt(square.error);
  return {value, error};
}

/// NaN first, else the first extreme one.
template <class T>
std::int64_t position_of_extreme(const std::vector<T>& row, bool largest) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (real(row[i]) != real(row[i])) return static_cast<std::int64_t>(i);
    if (largest ? real(row[i]) > real(row[best]) : real(row[i]) < real(row[best])) best = i;
  }
  return static_cast<std::int64_t>(best);
}

template <class T>
T extreme(const std::vector<T>& row, bool largest) {
  return row[static_cast<std::size_t>(position_of_extreme(row, largest))];
}

template <class T>
bool any(const std::vector<T>& row, Real bound) {
  return std::any_of(row.begin(), row.end(), [&](T x) { return real(x) > bound; });
}
template <class T>
bool any_not_above(const std::vector<T>& row, Real bound) {
  return std::any_of(row.begin(), row.end(), [&](T x) { return !(real(x) > bound); });
}

// ------------------------------------------------------------------ comparing
template <class R>
::testing::AssertionResult near(R got, const Expected& want) {
  const Real value = real(got);
  if (std::isnan(want.value) || std::isnan(value)) {
    if (std::isnan(want.value) && std::isnan(value)) return ::testing::AssertionSuccess();
  } else if (std::isinf(want.value) || std::isinf(value)) {
    if (want.value == value || std::fabs(want.value) + want.error > reference::largest<R>())
      return ::testing::AssertionSuccess();
  } else if (std::fabs(value - want.value) <= want.error + reference::ulp<R>(want.value) * 0.51L) {
    return ::testing::AssertionSuccess();
  }
  std::ostringstream text;
  text.precision(20);
  text << static_cast<double>(value) << ", expected " << static_cast<double>(want.value) << " within "
       << static_cast<double>(want.error);
  return ::testing::AssertionFailure() << text.str();
}

/// Compares every result of a reduction with that of its row; reports the first few that differ.
template <class R, class T, class Reference>
void expect_rows(const std::string& rule, const kl::Array<R>& got, const Tensor<T>& tensor, const Axes& axes,
                 bool keepdims, Reference reference_of) {
  EXPECT_EQ(got.shape(), shape_after(tensor.shape, axes, keepdims)) << rule;
  const auto values = got.to_host();
  const auto each = of(tensor, axes);
  ASSERT_EQ(values.size(), each.size()) << rule;
  int failures = 0;
  for (std::size_t i = 0; i < each.size() && failures < 3; ++i) {
    if constexpr (std::is_same_v<decltype(reference_of(each[i])), Expected>) {
      const auto ok = near<R>(values[i], reference_of(each[i]));
      EXPECT_TRUE(ok) << rule << ", result " << i;
      failures += !ok;
    } else {
      const R want = reference_of(each[i]);
      EXPECT_EQ(values[i], want) << rule << ", result " << i;
      failures += values[i] != want;
    }
  }
}

}  // namespace rows
