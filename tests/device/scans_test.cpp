// tests/device/scans_test.cpp -- running sums, products and extremes along every axis and over every kind of layout,
// against plain loops.
#include <cmath>
#include <complex>
#include <limits>
#include <tuple>
#include <vector>

#include "tests/support/rows.h"
#include "tests/support/values.h"

namespace {

using rows::Expected;
using rows::Real;
using rows::Tensor;

class Scans : public OnEachDevice {};
KILN_ON_EACH_DEVICE(Scans);

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

template <class T>
Tensor<T> random_tensor(const rows::Extents& shape, std::uint64_t seed, int exponents = 3) {
  return {shape, values::random<T>(static_cast<std::size_t>(rows::count_of(shape)), seed, exponents)};
}
template <class T>
kl::Array<T> on_device(const Tensor<T>& t) {
  return kl::from_host(t.values, kl::Shape(t.shape));
}

/// Compares a scan along one axis with `step(row, i)`: what element i of a row becomes.
template <class R, class T, class Step>
void expect_scan(const std::string& rule, const kl::Array<R>& got, const Tensor<T>& t, int axis, Step step) {
  ASSERT_EQ(got.shape(), kl::Shape(t.shape)) << rule;
  const auto values = got.to_host();
  const auto got_rows = rows::of(Tensor<R>{t.shape, {values.begin(), values.end()}}, {axis});
  const auto each = rows::of(t, {axis});
  int failures = 0;
  for (std::size_t row = 0; row < each.size(); ++row) {
    for (std::size_t i = 0; i < each[row].size() && failures < 3; ++i) {
      if constexpr (std::is_same_v<decltype(step(each[row], i)), Expected>) {
        const auto ok = rows::near<R>(got_rows[row][i], step(each[row], i));
        EXPECT_TRUE(ok) << rule << ", row " << row << ", element " << i;
        failures += !ok;
      } else {
        const R want = step(each[row], i);
        EXPECT_EQ(got_rows[row][i], want) << rule << ", row " << row << ", element " << i;
        failures += got_rows[row][i] != want;
      }
    }
  }
}

/// The prefix of a row that element i joins.
template <class T>
std::vector<T> prefix(const std::vector<T>& row, std::size_t i) {
  return std::vector<T>(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(i) + 1);
}

template <class X, class T>
void check_floating(const std::string& rule, const X& x, const Tensor<T>& t, int axis) {
  using Row = std::vector<T>;
  expect_scan(rule + " cumsum", kl::eval(kl::cumsum(x, axis)), t, axis,
              [](const Row& r, std::size_t i) { return rows::sum(prefix(r, i)); });
  expect_scan(rule + " cumprod", kl::eval(kl::cumprod(x, axis)), t, axis,
              [](const Row& r, std::size_t i) { return rows::product(prefix(r, i)); });
  expect_scan(rule + " cummax", kl::eval(kl::cummax(x, axis)), t, axis,
              [](const Row& r, std::size_t i) { return rows::extreme(prefix(r, i), true); });
  expect_scan(rule + " cummin", kl::eval(kl::cummin(x, axis)), t, axis,
              [](const Row& r, std::size_t i) { return rows::extreme(prefix(r, i), false); });
}

TEST_P(Scans, along_every_axis_of_a_cube) {
  const Tensor<float> t = random_tensor<float>({4, 9, 40}, 1, 1);
  const kl::Array<float> x = on_device(t);
  for (const int axis : {0, 1, 2, -1, -3}) check_floating("axis " + std::to_string(axis), x, t, axis);
}

TEST_P(Scans, of_views) {
  const Tensor<double> base = random_tensor<double>({10, 12, 8}, 2, 1);
  const kl::Array<double> x = on_device(base);
  const auto check_view = [](const char* what, const auto& view) {
    const kl::Shape shape = view.shape();
    const Tensor<double> t{rows::Extents(shape.begin(), shape.end()), view.to_host()};
    for (const int axis : {0, 1, 2}) check_floating(what + std::to_string(axis), view, t, axis);
  };
  check_view("transposed ", x.transpose({1, 2, 0}));
  check_view("strided ", x(kl::range(1, kl::none, 2), kl::all, kl::range(0, kl::none, 3)));
  check_view("backwards ", x.flip());
  check_view("broadcast ", x(kl::all, kl::range(0, 1), kl::all).broadcast_to({10, 12, 8}));
}

TEST_P(Scans, of_every_length) {
  for (const std::int64_t n : {1, 2, 3, 31, 32, 33, 127, 129, 1023, 1024, 1025, 4099, 70001, 300000}) {
    const auto values = values::random<std::int32_t>(static_cast<std::size_t>(n), static_cast<std::uint64_t>(n));
    const kl::Array<std::int32_t> x = kl::from_host(values);
    const auto sums = kl::eval(kl::cumsum(x)).to_host();
    const auto largest = kl::eval(kl::cummax(x)).to_host();
    std::int64_t sum = 0;
    std::int32_t best = std::numeric_limits<std::int32_t>::min();
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum += values[i];
      best = std::max(best, values[i]);
      ASSERT_EQ(sums[i], sum) << n << " elements, element " << i;
      ASSERT_EQ(largest[i], best) << n << " elements, element " << i;
    }
  }
}

template <class T>
void check_integers() {
  using Wide = std::conditional_t<std::is_unsigned_v<T> && !std::is_same_v<T, bool>, std::uint64_t, std::int64_t>;
  const Tensor<T> t = random_tensor<T>({5, 77}, 3);
  const kl::Array<T> x = on_device(t);
  static_assert(decltype(kl::cumsum(x, 1))::dtype == kl::dtype_of<Wide>);
  static_assert(decltype(kl::cummax(x, 1))::dtype == kl::dtype_of<T>);
  const std::string type = kl::name_of(kl::dtype_of<T>);
  for (const int axis : {0, 1}) {
    expect_scan(type + " cumsum", kl::eval(kl::cumsum(x, axis)), t, axis, [](const std::vector<T>& r, std::size_t i) {
      std::uint64_t total = 0;
      for (std::size_t k = 0; k <= i; ++k) total += static_cast<std::uint64_t>(r[k]);
      return static_cast<Wide>(total);
    });
    expect_scan(type + " cumprod", kl::eval(kl::cumprod(x, axis)), t, axis, [](const std::vector<T>& r, std::size_t i) {
      std::uint64_t total = 1;
      for (std::size_t k = 0; k <= i; ++k) total *= static_cast<std::uint64_t>(r[k]);
      return static_cast<Wide>(total);
    });
    expect_scan(type + " cummin", kl::eval(kl::cummin(x, axis)), t, axis,
                [](const std::vector<T>& r, std::size_t i) -> T {
                  return *std::min_element(r.begin(), r.begin() + static_cast<std::ptrdiff_t>(i) + 1);
                });
  }
}

TEST_P(Scans, integers_and_bool) {
  check_integers<std::int8_t>();
  check_integers<std::int64_t>();
  check_integers<std::uint16_t>();
  check_integers<bool>();
}

template <class T>
void check_storage_type() {
  const Tensor<T> t = random_tensor<T>({3, 200}, 4);
  const kl::Array<T> x = on_device(t);
  const std::string type = kl::name_of(kl::dtype_of<T>);
  expect_scan(type + " cumsum", kl::eval(kl::cumsum(x, 1)), t, 1,
              [](const std::vector<T>& r, std::size_t i) { return rows::sum(prefix(r, i)); });
  expect_scan(type + " cummax", kl::eval(kl::cummax(x, 0)), t, 0,
              [](const std::vector<T>& r, std::size_t i) { return rows::extreme(prefix(r, i), true); });
}

TEST_P(Scans, half_and_bfloat16_run_in_f32) {
  check_storage_type<kl::half>();
  check_storage_type<kl::bfloat16>();
}

TEST_P(Scans, complex) {
  using Z = std::complex<double>;
  const Tensor<Z> t = random_tensor<Z>({64}, 5);
  const auto got = kl::eval(kl::cumsum(on_device(t))).to_host();
  std::complex<Real> sum;
  for (std::size_t i = 0; i < got.size(); ++i) {
    sum += reference::widen(t.values[i]);
    EXPECT_LE(std::abs(reference::widen(got[i]) - sum), 1e-12L);
  }
}

TEST_P(Scans, nan_stays_from_where_it_stands) {
  const kl::Array<float> x = kl::from_host(std::vector<float>{1, 3, nan, 2, 5});
  for (const auto& got : {kl::eval(kl::cummax(x)).to_host(), kl::eval(kl::cumsum(x)).to_host()}) {
    EXPECT_FALSE(std::isnan(got[1]));
    for (const std::size_t i : {2u, 3u, 4u}) EXPECT_TRUE(std::isnan(got[i])) << i;
  }
}

TEST_P(Scans, of_no_and_one_element) {
  const kl::Array<float> none({0}), rows_of_none({3, 0}), one = kl::from_host(std::vector<float>{4});
  EXPECT_EQ(kl::eval(kl::cumsum(none)).shape(), (kl::Shape{0}));
  EXPECT_EQ(kl::eval(kl::cumprod(rows_of_none, 0)).shape(), (kl::Shape{3, 0}));
  EXPECT_EQ(kl::eval(kl::cummax(one)).to_host(), (std::vector<float>{4}));
  EXPECT_THROW(kl::eval(kl::cumsum(rows_of_none)), kl::ShapeError) << "two axes: one must be named";
}

// ------------------------------------------------------------------ in expressions
TEST_P(Scans, are_expressions) {
  const kl::Array<float> x = kl::from_host(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(kl::eval(kl::cumsum(x * 2, 1) + 1).to_host(), (std::vector<float>{3, 7, 13, 9, 19, 31}));
  EXPECT_EQ(kl::eval(kl::cumsum(x, 1) / kl::sum(x, 1, kl::keepdims) * 30).to_host(),
            (std::vector<float>{5, 15, 30, 8, 18, 30}));
  EXPECT_EQ(kl::eval(kl::cumsum(kl::cumsum(x, 0), 1)).to_host(), (std::vector<float>{1, 3, 6, 5, 12, 21}));
  EXPECT_EQ(kl::eval(kl::sum(kl::cumsum(x, 1), 0)).to_host(), (std::vector<float>{5, 12, 21}));
  EXPECT_EQ(kl::eval(kl::cumsum(x, 1).t()).to_host(), (std::vector<float>{1, 4, 3, 9, 6, 15}));
  EXPECT_EQ(kl::eval(kl::cumsum(x, 1)(kl::all, -1)).to_host(), (std::vector<float>{6, 15}));
  EXPECT_EQ(kl::eval(kl::cumsum(x.flip(1), 1).flip(1)).to_host(), (std::vector<float>{6, 5, 3, 15, 11, 6}));
}

TEST_P(Scans, in_place) {
  kl::Array<std::int64_t> x = kl::arange<std::int64_t>(1, 10001);
  x = kl::cumsum(x);
  const auto got = x.to_host();
  for (std::int64_t i = 0; i < 10000; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i)], (i + 1) * (i + 2) / 2);
  kl::Array<std::int64_t> square = kl::ones<std::int64_t>({50, 50});
  square = kl::cumsum(square.t(), 0);
  EXPECT_EQ(square(49, 7).to_host(), (std::vector<std::int64_t>{50}));
}

TEST_P(Scans, by_a_function_of_the_user) {
  const Tensor<std::int32_t> t{{6, 500}, values::random<std::int32_t>(3000, 7)};
  const kl::Array<std::int32_t> x = on_device(t);
  for (const int axis : {0, 1}) {
    expect_scan("xor", kl::eval(kl::scan(x, axis, 0, [](auto a, auto b) { return a ^ b; })), t, axis,
                [](const std::vector<std::int32_t>& r, std::size_t i) {
                  std::int32_t all = 0;
                  for (std::size_t k = 0; k <= i; ++k) all ^= r[k];
                  return all;
                });
  }
}

/// The composition of v -> a v + b with v -> c v + d: associative, and the order matters.
const auto composed = [](auto first, auto second) {
  const auto [a, b] = first;
  const auto [c, d] = second;
  return std::tuple(c * a, c * b + d);
};

TEST_P(Scans, a_linear_recurrence_keeps_the_order) {
  for (const std::int64_t n : {5, 1000, 70000, 4500001}) {
    const auto a = values::random<double>(static_cast<std::size_t>(n), 8, 0);
    const auto b = values::random<double>(static_cast<std::size_t>(n), 9, 1);
    const kl::Array<double> factor = kl::from_host(a) * 0.25, term = kl::from_host(b);
    const auto [product, state] = kl::scan(std::tuple(factor, term), 0, std::tuple(1, 0), composed);
    const auto got = kl::eval(state).to_host();
    Real want = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      want = want * (a[i] * 0.25L) + b[i];
      ASSERT_NEAR(got[i], static_cast<double>(want), 1e-12) << n << " elements, element " << i;
    }
  }
}

TEST_P(Scans, recurrences_along_columns_and_rows) {
  for (const rows::Extents& shape : {rows::Extents{60000, 3}, rows::Extents{700, 90}, rows::Extents{40, 1000}}) {
    const auto count = static_cast<std::size_t>(rows::count_of(shape));
    const Tensor<double> t{shape, values::random<double>(count, 10, 0)};
    const kl::Array<double> x = on_device(t);
    for (const int axis : {0, 1}) {
      const auto [product, state] = kl::scan(std::tuple(x * 0 + 0.5, x), axis, std::tuple(1, 0), composed);
      std::vector<Real> running;
      expect_scan("recurrence", kl::eval(state), t, axis, [&](const std::vector<double>& r, std::size_t i) {
        if (i == 0) running.assign(1, 0);
        running[0] = running[0] * 0.5L + r[i];
        return Expected{running[0], 1e-12L};
      });
    }
  }
}

TEST_P(Scans, in_a_compiled_function) {
  const auto distribution = kl::jit([](auto weights) {
    auto running = kl::cumsum(weights, -1);
    return running / kl::max(running, -1, kl::keepdims);
  });
  const kl::Array<double> got = distribution(kl::from_host(std::vector<double>{1, 3, 4, 8}));
  EXPECT_EQ(got.to_host(), (std::vector<double>{0.0625, 0.25, 0.5, 1}));
}

}  // namespace
