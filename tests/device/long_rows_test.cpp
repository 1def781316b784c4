// tests/device/long_rows_test.cpp -- rows and columns too few and too long for one kernel; reductions of values that
// no memory holds; tuples of arrays that are read where they lie.
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <kiln/profile.h>

#include "tests/support/rows.h"
#include "tests/support/values.h"

namespace {

using rows::Real;

class LongRows : public OnEachDevice {};
KILN_ON_EACH_DEVICE(LongRows);

const auto softmax = kl::jit([](auto x) {
  auto e = kl::exp(x - kl::max(x, -1, kl::keepdims));
  return e / kl::sum(e, -1, kl::keepdims);
});
const auto softmax_of_columns = kl::jit([](auto x) {
  auto e = kl::exp(x - kl::max(x, 0, kl::keepdims));
  return e / kl::sum(e, 0, kl::keepdims);
});

/// Softmax of every row (`along`: elements of a row lie so far apart) within `relative` of that in long double, and
/// 2^-126 for what is below the smallest normal number.
template <class T>
void expect_softmax(const std::vector<T>& x, const std::vector<T>& got, std::size_t row_count, bool columns,
                    Real relative) {
  const std::size_t length = x.size() / row_count;
  for (std::size_t row = 0; row < row_count; ++row) {
    const auto at = [&](std::size_t i) { return columns ? i * row_count + row : row * length + i; };
    Real largest = -std::numeric_limits<Real>::infinity(), sum = 0;
    for (std::size_t i = 0; i < length; ++i) largest = std::max(largest, rows::real(x[at(i)]));
    for (std::size_t i = 0; i < length; ++i) sum += std::exp(rows::real(x[at(i)]) - largest);
    int failures = 0;
    for (std::size_t i = 0; i < length && failures < 3; ++i) {
      const Real want = std::exp(rows::real(x[at(i)]) - largest) / sum;
      const bool ok = std::fabs(rows::real(got[at(i)]) - want) <= relative * want + 0x1p-126L;
      EXPECT_TRUE(ok) << "row " << row << " of " << length << ", element " << i << ": "
                      << double(rows::real(got[at(i)])) << ", not " << double(want);
      failures += !ok;
    }
  }
}

template <class T>
void check_rows(std::int64_t row_count, std::int64_t length, Real relative) {
  const std::vector<T> x = values::random<T>(static_cast<std::size_t>(row_count * length), 11, 2);
  const kl::Array<T> array = kl::from_host(x, {row_count, length});
  expect_softmax(x, kl::Array<T>(softmax(array)).to_host(), static_cast<std::size_t>(row_count), false, relative);
}

// Rule: softmax is exp(x - max) by its sum, whether or not one kernel holds the row.
TEST_P(LongRows, softmax_of_f32) {
  check_rows<float>(2, 1500001, 0x1p-18L);
  check_rows<float>(1, 1 << 21, 0x1p-18L);
}
TEST_P(LongRows, softmax_of_f64) { check_rows<double>(2, 400001, 0x1p-46L); }
TEST_P(LongRows, softmax_of_bf16) { check_rows<kl::bfloat16>(2, 1 << 20, 0x1p-8L); }
TEST_P(LongRows, softmax_of_f16) {  // shares of so many are below the smallest normal f16, 2^-14
  const std::vector<kl::half> x = values::random<kl::half>(1 << 20, 5, 2);
  const auto got = kl::Array<float>(kl::jit([](auto v) {
                     auto e = kl::exp(v - kl::max(v));
                     return kl::cast<float>(e) / kl::cast<float>(kl::sum(e));
                   })(kl::from_host(x)))
                       .to_host();
  Real largest = -1e30L, sum = 0;
  for (const kl::half v : x) largest = std::max(largest, rows::real(v));
  for (const kl::half v : x) sum += std::exp(rows::real(v) - largest);
  for (const std::size_t i : {0u, 1u, 77777u, (1u << 20) - 1})
    EXPECT_NEAR(double(got[i]), double(std::exp(rows::real(x[i]) - largest) / sum), 0x1p-9 * double(got[i])) << i;
}

TEST_P(LongRows, softmax_of_columns) {
  for (const auto& [length, columns] : {std::pair<std::int64_t, std::int64_t>{200001, 8}, {60000, 17}, {1024, 1024}}) {
    const std::vector<float> x = values::random<float>(static_cast<std::size_t>(length * columns), 12, 2);
    const kl::Array<float> array = kl::from_host(x, {length, columns});
    expect_softmax(x, kl::Array<float>(softmax_of_columns(array)).to_host(), static_cast<std::size_t>(columns), true,
                   0x1p-18L);
  }
}

// Rule: a row with an infinite maximum or a NaN is NaN where the formula is; one that is -inf but for one element has
// there 1.
TEST_P(LongRows, softmax_of_special_rows) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr std::int64_t length = 1500001;
  std::vector<float> x(4 * length, 0.0f);
  const auto row = [&](std::int64_t r) { return x.begin() + r * length; };
  std::fill(row(0), row(1), -inf);
  row(1)[length - 2] = inf;
  row(2)[1234567] = std::numeric_limits<float>::quiet_NaN();
  std::fill(row(3), row(3) + length, -inf);
  row(3)[700000] = -1e30f;
  const std::vector<float> got = kl::Array<float>(softmax(kl::from_host(x, {4, length}))).to_host();
  for (const std::int64_t i : {std::int64_t{0}, std::int64_t{700000}, length - 2, length - 1}) {
    EXPECT_TRUE(std::isnan(got[static_cast<std::size_t>(i)])) << "-inf - -inf, " << i;
    EXPECT_TRUE(std::isnan(got[static_cast<std::size_t>(2 * length + i)])) << "NaN propagates, " << i;
    EXPECT_EQ(got[static_cast<std::size_t>(3 * length + i)], i == 700000 ? 1.0f : 0.0f) << i;
  }
  EXPECT_TRUE(std::isnan(got[static_cast<std::size_t>(2 * length - 2)])) << "inf - inf";
}

// Rule: sums of what is computed from positions are right and, in f64, within log2(n) u of sum |x|.
TEST_P(LongRows, sums_of_values_without_memory) {
  constexpr std::int64_t n = 20000001;
  const kl::Array<float> one = kl::ones<float>({1});
  const auto area = kl::jit([](auto v) {
    const auto t = (kl::cast<double>(kl::index(v, 0)) + 0.5) * (1.0 / 20000001);
    return kl::sum(4 / (1 + t * t)) * (1.0 / 20000001);
  });
  EXPECT_NEAR(kl::Array<double>(area(one.broadcast_to({n}))).item(), 3.141592653589793, 25 * 4 * 0x1p-53 + 1e-15)
      << "the midpoint rule is within 1 / (12 n^2)";
  const auto positions =
      kl::jit([](auto v) { return std::tuple(kl::sum(kl::index(v, 1), 1), kl::argmax(kl::index(v, 1) % 1000003, 1)); });
  const auto [sum, where] = positions(one.reshape({1, 1}).broadcast_to({3, n}));
  EXPECT_EQ(sum.to_host(), std::vector<std::int64_t>(3, n * (n - 1) / 2));
  EXPECT_EQ(where.to_host(), std::vector<std::int64_t>(3, 1000002));
  EXPECT_NEAR(double(kl::eval(kl::sum(one.broadcast_to({n}))).item()), 20000001.0, 1.0)
      << "f32 has no odd number there";
}

// Rule: arrays that a tuple refers to are read where they lie: one launch.
TEST_P(LongRows, tied_arrays_are_not_copied) {
  const kl::Array<float> x = kl::ones<float>({64, 1024}), y = kl::full({64, 1024}, 2.0f);
  const auto joined = [](auto a, auto b) {
    return std::tuple(std::get<0>(a) + std::get<0>(b), kl::maximum(std::get<1>(a), std::get<1>(b)));
  };
  const auto launches = [](auto&& work) {
    std::int64_t count = 0;
    for (const auto& row : kl::profile(work, {.print = false}))
      if (row.kind == kl::ProfileRow::Kind::kernel) count += row.count;
    return count;
  };
  kl::Array<float> sum, largest;
  EXPECT_EQ(launches([&] {
              auto [s, m] = kl::eval(kl::reduce(std::tie(x, y), 1, std::tuple(0.0f, 0.0f), joined));
              sum = std::move(s), largest = std::move(m);
            }),
            1);
  EXPECT_EQ(sum.to_host(), std::vector<float>(64, 1024));
  EXPECT_EQ(largest.to_host(), std::vector<float>(64, 2));
  EXPECT_EQ(launches([&] {
              auto [s, m] = kl::eval(kl::reduce(std::forward_as_tuple(x, x * y), 1, std::tuple(0.0f, 0.0f), joined));
              sum = std::move(s), largest = std::move(m);
            }),
            1);
  EXPECT_EQ(largest.to_host(), std::vector<float>(64, 2));
}

}  // namespace
