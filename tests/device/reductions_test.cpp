// tests/device/reductions_test.cpp -- every reduction along every choice of axes, over every kind of layout, against
// long double and plain loops over the elements.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "tests/support/rows.h"
#include "tests/support/values.h"

namespace {

using rows::Axes;
using rows::Expected;
using rows::Tensor;

class Reductions : public OnEachDevice {};
KILN_ON_EACH_DEVICE(Reductions);

template <class T>
Tensor<T> random_tensor(const rows::Extents& shape, std::uint64_t seed, int exponents = 3) {
  return {shape, values::random<T>(static_cast<std::size_t>(rows::count_of(shape)), seed, exponents)};
}
template <class T>
kl::Array<T> on_device(const Tensor<T>& t) {
  return kl::from_host(t.values, kl::Shape(t.shape));
}

/// Every function of a floating `x`, whose elements are those of `t` (not of extent 0), along `axes`.
template <class X, class T, class Option>
void check_all(const std::string& rule, const X& x, const Tensor<T>& t, const Axes& axes, Option keep) {
  constexpr bool keepdims = std::is_same_v<Option, kl::Keepdims>;
  const kl::Shape list(axes);
  using Row = std::vector<T>;
  const auto check = [&](const char* name, const auto& expression, const auto& reference_of) {
    rows::expect_rows(rule + " " + name, kl::eval(expression), t, axes, keepdims, reference_of);
  };
  check("sum", kl::sum(x, list, keep), [](const Row& r) { return rows::sum(r); });
  check("prod", kl::prod(x, list, keep), [](const Row& r) { return rows::product(r); });
  check("mean", kl::mean(x, list, keep), [](const Row& r) { return rows::mean(r); });
  check("var", kl::var(x, list, keep), [](const Row& r) { return rows::var(r, 0); });
  check("var ddof 1", kl::var(x, list, kl::ddof(1), keep), [](const Row& r) { return rows::var(r, 1); });
  check("std_", kl::std_(x, list, keep), [](const Row& r) { return rows::root(rows::var(r, 0)); });
  check("norm", kl::norm(x, list, keep), [](const Row& r) { return rows::norm(r); });
  check("logsumexp", kl::logsumexp(x, list, keep), [](const Row& r) { return rows::logsumexp(r); });
  check("max", kl::max(x, list, keep), [](const Row& r) { return rows::extreme(r, true); });
  check("min", kl::min(x, list, keep), [](const Row& r) { return rows::extreme(r, false); });
  check("argmax", kl::argmax(x, list, keep), [](const Row& r) { return rows::position_of_extreme(r, true); });
  check("argmin", kl::argmin(x, list, keep), [](const Row& r) { return rows::position_of_extreme(r, false); });
  check("any", kl::any(x > 2, list, keep), [](const Row& r) { return rows::any(r, 2); });
  check("all", kl::all(x > -9, list, keep), [](const Row& r) { return !rows::any_not_above(r, -9); });
  check("count_nonzero", kl::count_nonzero(kl::floor(x), list, keep), [](const Row& r) {
    return static_cast<std::int64_t>(
        std::count_if(r.begin(), r.end(), [](T v) { return std::floor(rows::real(v)) != 0; }));
  });
}

std::string text_of(const Axes& axes) {
  std::string text = "axes";
  for (const int axis : axes) text += " " + std::to_string(axis);
  return text;
}

TEST_P(Reductions, of_every_axis_of_a_cube) {
  const Tensor<float> t = random_tensor<float>({5, 7, 33}, 1);
  const kl::Array<float> x = on_device(t);
  for (const Axes& axes : {Axes{0}, Axes{1}, Axes{2}, Axes{-1}, Axes{-3}, Axes{0, 1}, Axes{0, 2}, Axes{2, 1},
                           Axes{-1, 0}, Axes{0, 1, 2}}) {
    check_all(text_of(axes), x, t, axes, kl::detail::Unset{});
  }
  for (const Axes& axes : {Axes{1}, Axes{0, -1}, Axes{0, 1, 2}}) check_all(text_of(axes), x, t, axes, kl::keepdims);
}

TEST_P(Reductions, in_double_of_rows_and_columns) {
  const Tensor<double> t = random_tensor<double>({129, 1030}, 2);
  const kl::Array<double> x = on_device(t);
  check_all("rows", x, t, {1}, kl::detail::Unset{});
  check_all("columns", x, t, {0}, kl::keepdims);
  check_all("whole", x, t, {0, 1}, kl::detail::Unset{});
}

TEST_P(Reductions, of_views) {
  const Tensor<float> base = random_tensor<float>({12, 18, 10}, 3);
  const kl::Array<float> x = on_device(base);
  const auto check_view = [](const char* what, const auto& view) {
    const kl::Shape shape = view.shape();
    const Tensor<float> t{rows::Extents(shape.begin(), shape.end()), view.to_host()};
    for (const Axes& axes : {Axes{0}, Axes{1}, Axes{2}, Axes{0, 2}, Axes{0, 1, 2}}) {
      rows::expect_rows(what + text_of(axes), kl::eval(kl::sum(view, kl::Shape(axes))), t, axes, false,
                        [](const auto& r) { return rows::sum(r); });
      rows::expect_rows(what + text_of(axes), kl::eval(kl::argmax(view, kl::Shape(axes))), t, axes, false,
                        [](const auto& r) { return rows::position_of_extreme(r, true); });
    }
  };
  check_view("transposed ", x.transpose({2, 0, 1}));
  check_view("strided ", x(kl::all, kl::range(0, kl::none, 3), kl::range(1, kl::none, 2)));
  check_view("backwards ", x.flip());
  check_view("unaligned ", x(kl::all, kl::all, kl::range(1, kl::none)));
  check_view("broadcast ", x(kl::all, kl::range(4, 5), kl::all).broadcast_to({12, 18, 10}));
}

TEST_P(Reductions, of_rows_of_every_length) {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 31, 32, 33, 127, 128, 129, 1000, 1023, 1024, 1025, 4096, 10000, 100003}) {
    const Tensor<float> t = random_tensor<float>({3, n}, static_cast<std::uint64_t>(n));
    const kl::Array<float> x = on_device(t);
    const std::string rule = "length " + std::to_string(n);
    const auto by_row = [](const std::vector<float>& r) { return rows::sum(r); };
    rows::expect_rows(rule + " rows", kl::eval(kl::sum(x, 1)), t, {1}, false, by_row);
    rows::expect_rows(rule + " whole", kl::eval(kl::sum(x)), t, {0, 1}, false, by_row);
    rows::expect_rows(rule + " columns", kl::eval(kl::sum(x.t(), 0)), t, {1}, false, by_row);
    rows::expect_rows(rule + " argmin", kl::eval(kl::argmin(x, 1)), t, {1}, false,
                      [](const std::vector<float>& r) { return rows::position_of_extreme(r, false); });
  }
}

TEST_P(Reductions, of_columns_of_every_width) {
  for (const std::int64_t n : {1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1030}) {
    const Tensor<float> t = random_tensor<float>({200, n}, static_cast<std::uint64_t>(n) + 100);
    const kl::Array<float> x = on_device(t);
    const std::string rule = "width " + std::to_string(n);
    rows::expect_rows(rule, kl::eval(kl::sum(x, 0)), t, {0}, false,
                      [](const std::vector<float>& r) { return rows::sum(r); });
    rows::expect_rows(rule + " var", kl::eval(kl::var(x, 0)), t, {0}, false,
                      [](const std::vector<float>& r) { return rows::var(r, 0); });
  }
}

/// Random shapes, axes and views; sums of integers are exact whatever the order.
TEST_P(Reductions, of_random_shapes_axes_and_views) {
  std::mt19937 engine(20);
  const auto below = [&](int n) { return static_cast<int>(engine() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 60; ++round) {
    rows::Extents shape;
    const int rank = 1 + below(6);
    for (int i = 0; i < rank; ++i) shape.push_back(below(8) == 0 ? 1 : 1 + below(rank <= 2 ? 300 : 7));
    const Tensor<std::int32_t> base = random_tensor<std::int32_t>(shape, static_cast<std::uint64_t>(round));
    const kl::Array<std::int32_t> x = on_device(base);
    std::vector<int> order = rows::all_axes(shape.size());
    std::shuffle(order.begin(), order.end(), engine);
    const auto view = x.transpose(kl::Shape(order)).flip(below(rank))(kl::range(below(2), kl::none, 1 + below(3)));
    const kl::Shape viewed = view.shape();
    const Tensor<std::int32_t> t{rows::Extents(viewed.begin(), viewed.end()), view.to_host()};
    rows::Axes axes;
    for (int axis = 0; axis < rank; ++axis) {
      if (below(2)) axes.push_back(below(2) ? axis : axis - rank);
    }
    const std::string rule = "round " + std::to_string(round) + ", rank " + std::to_string(rank) + ", " + text_of(axes);
    rows::expect_rows(
        rule, kl::eval(kl::sum(view, kl::Shape(axes))), t, axes, false,
        [](const std::vector<std::int32_t>& r) { return std::accumulate(r.begin(), r.end(), std::int64_t{0}); });
    if (t.values.empty() || axes.empty()) continue;
    rows::expect_rows(rule, kl::eval(kl::argmin(view, kl::Shape(axes), kl::keepdims)), t, axes, true,
                      [](const std::vector<std::int32_t>& r) { return rows::position_of_extreme(r, false); });
  }
}

// ------------------------------------------------------------------ in expressions
TEST_P(Reductions, maps_and_epilogues_are_part_of_the_expression) {
  const Tensor<float> t = random_tensor<float>({4, 300}, 5), u = random_tensor<float>({4, 300}, 6);
  const kl::Array<float> x = on_device(t), y = on_device(u);
  std::vector<float> products;
  for (std::size_t i = 0; i < t.values.size(); ++i) products.push_back(t.values[i] * u.values[i]);
  EXPECT_TRUE(rows::near<float>(kl::sum(x * y).item(), rows::sum(products)));
  const Expected root = rows::norm(t.values);
  EXPECT_TRUE(rows::near<float>(kl::sqrt(kl::sum(x * x)).item(), root));
  kl::Array<float> s, q;
  kl::eval(kl::tie(s, q), kl::sum(x), kl::sum(x * x));
  EXPECT_TRUE(rows::near<float>(s.item(), rows::sum(t.values)));
  EXPECT_TRUE(rows::near<float>(q.item(), {root.value * root.value, 3 * root.error * root.value}));
  const kl::Array<float> scaled = kl::sum(x, 0) * 2 + y(1, kl::all);
  const auto columns = rows::of(t, {0});
  const auto got = scaled.to_host();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Expected total = rows::sum(columns[i]);
    EXPECT_TRUE(rows::near<float>(got[i], {total.value * 2 + u.values[300 + i], total.error * 2 + 1e-4L}));
  }
}

TEST_P(Reductions, views_of_results) {
  const Tensor<float> t = random_tensor<float>({6, 40}, 7);
  const kl::Array<float> x = on_device(t);
  const auto columns = rows::of(t, {0});
  const auto flipped = kl::eval(kl::sum(x, 0).flip()).to_host();
  const auto sliced = kl::eval(kl::sum(x, 0)(kl::range(5, kl::none, 7)) + 1).to_host();
  const auto folded = kl::eval(kl::max(x, 0).reshape({8, 5}).t()).to_host();
  ASSERT_EQ(flipped.size(), 40u);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_TRUE(rows::near<float>(flipped[39 - i], rows::sum(columns[i])));
  ASSERT_EQ(sliced.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    const Expected total = rows::sum(columns[5 + 7 * i]);
    EXPECT_TRUE(rows::near<float>(sliced[i], {total.value + 1, total.error + 1e-5L}));
  }
  ASSERT_EQ(folded.size(), 40u);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(folded[i % 5 * 8 + i / 5], rows::extreme(columns[i], true));
}

TEST_P(Reductions, reductions_of_reductions) {
  const Tensor<double> t = random_tensor<double>({9, 11, 13}, 8);
  const kl::Array<double> x = on_device(t);
  // max over rows of the sums of rows; then the distance from it
  double largest = -INFINITY;
  for (const auto& row : rows::of(t, {1, 2})) largest = std::max(largest, static_cast<double>(rows::sum(row).value));
  EXPECT_NEAR(kl::max(kl::sum(x, {1, 2})).item(), largest, 1e-9);
  EXPECT_NEAR(
      kl::sum(kl::abs(x - kl::mean(x))).item(),
      [&] {
        const Expected center = rows::mean(t.values);
        reference::Real total = 0;
        for (const double v : t.values) total += std::fabs(v - center.value);
        return static_cast<double>(total);
      }(),
      1e-8);
  const auto nested = kl::eval(kl::sum(kl::sum(x, 2, kl::keepdims) * x, 0)).to_host();
  const auto sums = rows::of(t, {2});
  for (std::size_t j = 0; j < 11; ++j) {
    for (std::size_t k = 0; k < 13; ++k) {
      reference::Real want = 0;
      for (std::size_t i = 0; i < 9; ++i) want += rows::sum(sums[i * 11 + j]).value * t.values[(i * 11 + j) * 13 + k];
      EXPECT_NEAR(nested[j * 13 + k], static_cast<double>(want), 1e-8);
    }
  }
}

TEST_P(Reductions, shared_and_stored_expressions) {
  const Tensor<float> t = random_tensor<float>({3, 50}, 9);
  const kl::Array<float> x = on_device(t);
  const auto total = kl::let(kl::sum(x, 1, kl::keepdims));
  const kl::Array<float> a = x / total, b = (x / total).t();
  const auto each = rows::of(t, {1});
  const auto got = a.to_host(), turned = b.to_host();
  for (std::size_t i = 0; i < 3; ++i) {
    const Expected sum = rows::sum(each[i]);
    for (std::size_t k = 0; k < 50; ++k) {
      const reference::Real want = each[i][k] / sum.value;
      const Expected expected{want, std::fabs(want) * (1e-6L + sum.error / std::fabs(sum.value))};
      EXPECT_TRUE(rows::near<float>(got[i * 50 + k], expected));
      EXPECT_EQ(turned[k * 3 + i], got[i * 50 + k]);
    }
  }
}

TEST_P(Reductions, write_in_place_and_into_views) {
  const Tensor<float> t = random_tensor<float>({8, 16}, 10);
  kl::Array<float> x = on_device(t);
  const auto each = rows::of(t, {1});
  kl::Array<float> target = kl::zeros<float>({8, 2});
  target(kl::all, 1) = kl::sum(x, 1);
  x = x - kl::max(x, 1, kl::keepdims);  // reads what it overwrites
  const auto written = target.to_host(), got = x.to_host();
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(written[2 * i], 0);
    EXPECT_TRUE(rows::near<float>(written[2 * i + 1], rows::sum(each[i])));
    for (std::size_t k = 0; k < 16; ++k) EXPECT_EQ(got[16 * i + k], each[i][k] - rows::extreme(each[i], true));
  }
  kl::Array<float> line = kl::from_host(std::vector<float>{1, 2, 3, 4});
  line = line / kl::sum(line);
  EXPECT_EQ(line.to_host(), (std::vector<float>{0.1f, 0.2f, 0.3f, 0.4f}));
}

// ------------------------------------------------------------------ size
TEST_P(Reductions, of_more_than_2_to_the_32_elements) {
  const kl::Array<std::uint8_t> one = kl::ones<std::uint8_t>({1});
  const auto seconds_of = [&](std::int64_t n) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(kl::sum(one.broadcast_to({n, n})).item(), static_cast<std::uint64_t>(n) * static_cast<std::uint64_t>(n));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  seconds_of(4096);
  if (seconds_of(4096) > 0.02) GTEST_SKIP() << "this device would take more than 5 seconds";
  seconds_of(65537);
}

}  // namespace
