// tests/device/reductions_types_test.cpp -- reductions of every element type, special values, ties, empty operands,
// numerical accuracy, and functions of the user's.
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <tuple>
#include <vector>

#include "tests/support/rows.h"
#include "tests/support/values.h"

namespace {

using rows::Expected;
using rows::Tensor;

class ReductionTypes : public OnEachDevice {};
KILN_ON_EACH_DEVICE(ReductionTypes);

constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

template <class T>
Tensor<T> random_tensor(const rows::Extents& shape, std::uint64_t seed) {
  return {shape, values::random<T>(static_cast<std::size_t>(rows::count_of(shape)), seed, 3)};
}
template <class T>
kl::Array<T> on_device(const Tensor<T>& t) {
  return kl::from_host(t.values, kl::Shape(t.shape));
}
template <class T>
kl::Array<T> line(const std::vector<T>& values) {
  return kl::from_host(values);
}

// ------------------------------------------------------------------ element types
template <class T>
void check_integers() {
  using Wide = std::conditional_t<std::is_unsigned_v<T> && !std::is_same_v<T, bool>, std::uint64_t, std::int64_t>;
  const Tensor<T> t = random_tensor<T>({37, 130}, 11);
  const kl::Array<T> x = on_device(t);
  static_assert(decltype(kl::sum(x))::dtype == kl::dtype_of<Wide>);
  static_assert(decltype(kl::mean(x))::dtype == kl::DType::f64 && decltype(kl::norm(x))::dtype == kl::DType::f64);
  const std::string type = kl::name_of(kl::dtype_of<T>);
  const auto sum = [](const std::vector<T>& r) {
    std::uint64_t total = 0;
    for (const T v : r) total += static_cast<std::uint64_t>(v);
    return static_cast<Wide>(total);
  };
  const auto product = [](const std::vector<T>& r) {
    std::uint64_t total = 1;
    for (const T v : r) total *= static_cast<std::uint64_t>(v);
    return static_cast<Wide>(total);
  };
  for (const int axis : {0, 1}) {
    rows::expect_rows(type + " sum", kl::eval(kl::sum(x, axis)), t, {axis}, false, sum);
    rows::expect_rows(type + " prod", kl::eval(kl::prod(x, axis)), t, {axis}, false, product);
    rows::expect_rows(type + " max", kl::eval(kl::max(x, axis)), t, {axis}, false,
                      [](const std::vector<T>& r) -> T { return *std::max_element(r.begin(), r.end()); });
    rows::expect_rows(type + " min", kl::eval(kl::min(x, axis)), t, {axis}, false,
                      [](const std::vector<T>& r) -> T { return *std::min_element(r.begin(), r.end()); });
    rows::expect_rows(
        type + " argmax", kl::eval(kl::argmax(x, axis)), t, {axis}, false,
        [](const std::vector<T>& r) -> std::int64_t { return std::max_element(r.begin(), r.end()) - r.begin(); });
    rows::expect_rows(
        type + " argmin", kl::eval(kl::argmin(x, axis)), t, {axis}, false,
        [](const std::vector<T>& r) -> std::int64_t { return std::min_element(r.begin(), r.end()) - r.begin(); });
    rows::expect_rows(type + " count_nonzero", kl::eval(kl::count_nonzero(x, axis)), t, {axis}, false,
                      [](const std::vector<T>& r) -> std::int64_t {
                        return static_cast<std::int64_t>(r.size()) - std::count(r.begin(), r.end(), T(0));
                      });
    rows::expect_rows(type + " mean", kl::eval(kl::mean(x, axis)), t, {axis}, false,
                      [](const std::vector<T>& r) { return rows::mean(r); });
    rows::expect_rows(type + " var", kl::eval(kl::var(x, axis)), t, {axis}, false,
                      [](const std::vector<T>& r) { return rows::var(r, 0); });
  }
  EXPECT_EQ(kl::any(x != 0).item(), true);
  EXPECT_EQ(kl::all(x == x).item(), true);
}

TEST_P(ReductionTypes, integers_wrap_in_64_bits_only) {
  check_integers<std::int8_t>();
  check_integers<std::int16_t>();
  check_integers<std::int32_t>();
  check_integers<std::int64_t>();
}
TEST_P(ReductionTypes, unsigned_integers_and_bool) {
  check_integers<std::uint8_t>();
  check_integers<std::uint16_t>();
  check_integers<std::uint32_t>();
  check_integers<std::uint64_t>();
  check_integers<bool>();
}

template <class T>
void check_storage_type() {
  const Tensor<T> t = random_tensor<T>({9, 700}, 12);
  const kl::Array<T> x = on_device(t);
  using Row = std::vector<T>;
  static_assert(decltype(kl::sum(x))::dtype == kl::dtype_of<T> && decltype(kl::var(x))::dtype == kl::dtype_of<T>);
  const std::string type = kl::name_of(kl::dtype_of<T>);
  for (const int axis : {0, 1}) {
    rows::expect_rows(type + " sum", kl::eval(kl::sum(x, axis)), t, {axis}, false,
                      [](const Row& r) { return rows::sum(r); });
    rows::expect_rows(type + " mean", kl::eval(kl::mean(x, axis)), t, {axis}, false,
                      [](const Row& r) { return rows::mean(r); });
    rows::expect_rows(type + " std_", kl::eval(kl::std_(x, axis)), t, {axis}, false,
                      [](const Row& r) { return rows::root(rows::var(r, 0)); });
    rows::expect_rows(type + " norm", kl::eval(kl::norm(x, axis)), t, {axis}, false,
                      [](const Row& r) { return rows::norm(r); });
    rows::expect_rows(type + " max", kl::eval(kl::max(x, axis)), t, {axis}, false,
                      [](const Row& r) { return rows::extreme(r, true); });
    rows::expect_rows(type + " logsumexp", kl::eval(kl::logsumexp(x, axis)), t, {axis}, false,
                      [](const Row& r) { return rows::logsumexp(r); });
    rows::expect_rows(type + " argmin", kl::eval(kl::argmin(x, axis)), t, {axis}, false,
                      [](const Row& r) { return rows::position_of_extreme(r, false); });
    rows::expect_rows(type + " in float", kl::eval(kl::sum(x, axis, kl::accumulate<float>)), t, {axis}, false,
                      [](const Row& r) { return rows::sum(r); });
  }
}

TEST_P(ReductionTypes, half_and_bfloat16_accumulate_in_f32_and_round_once) {
  check_storage_type<kl::half>();
  check_storage_type<kl::bfloat16>();
  // 70000 ones: neither the sum nor the number of elements is a value of f16.
  const kl::Array<kl::half> ones = kl::full({70000}, kl::half(1.0f));
  EXPECT_EQ(static_cast<float>(kl::sum(ones).item()), inf);
  EXPECT_EQ(static_cast<float>(kl::mean(ones).item()), 1.0f);
  EXPECT_EQ(kl::sum(ones, kl::accumulate<float>).item(), 70000.0f);
  EXPECT_EQ(kl::cast<float>(kl::sum(ones) / 2.0f).item(), 35000.0f) << "not rounded before it is stored";
  // Sums beyond 2^8 of ones are not values of bf16, the running sum must not be one.
  EXPECT_EQ(static_cast<float>(kl::sum(kl::full({1024}, kl::bfloat16(1.0f))).item()), 1024.0f);
}

template <class F>
void check_complex() {
  using Z = std::complex<F>;
  const Tensor<Z> t = random_tensor<Z>({6, 90}, 13);
  const kl::Array<Z> z = on_device(t);
  static_assert(decltype(kl::sum(z))::dtype == kl::dtype_of<Z> && decltype(kl::var(z))::dtype == kl::dtype_of<F>);
  const auto sums = kl::eval(kl::sum(z, 1)).to_host();
  const auto means = kl::eval(kl::mean(z, 1)).to_host();
  const auto products = kl::eval(kl::prod(z(kl::all, kl::range(0, 6)), 1)).to_host();
  const auto variances = kl::eval(kl::var(z, 1, kl::ddof(1))).to_host();
  const auto norms = kl::eval(kl::norm(z, 1)).to_host();
  const auto each = rows::of(t, {1});
  for (std::size_t i = 0; i < each.size(); ++i) {
    std::complex<reference::Real> total, product = 1, center;
    reference::Real squares = 0, deviations = 0;
    for (const Z v : each[i]) {
      total += reference::widen(v);
      squares += std::norm(reference::widen(v));
    }
    center = total / static_cast<reference::Real>(each[i].size());
    for (const Z v : each[i]) deviations += std::norm(reference::widen(v) - center);
    for (std::size_t k = 0; k < 6; ++k) product *= reference::widen(each[i][k]);
    const reference::Real u = rows::unit<F>(), bound = 16 * u * std::sqrt(squares * 90);
    EXPECT_LE(std::abs(reference::widen(sums[i]) - total), bound);
    EXPECT_LE(std::abs(reference::widen(means[i]) - center), bound);
    EXPECT_LE(std::abs(reference::widen(products[i]) - product), 64 * u * std::abs(product));
    EXPECT_TRUE(rows::near<F>(variances[i], {deviations / 89, 32 * u * deviations / 89}));
    EXPECT_TRUE(rows::near<F>(norms[i], {std::sqrt(squares), 16 * u * std::sqrt(squares)}));
  }
  EXPECT_EQ(kl::count_nonzero(z).item(), 540);
  EXPECT_TRUE(kl::all(z).item());
  EXPECT_FALSE(kl::any(z - z).item());
}

TEST_P(ReductionTypes, complex) {
  check_complex<float>();
  check_complex<double>();
}

TEST_P(ReductionTypes, accumulate_chooses_the_type) {
  const std::vector<std::int32_t> values = values::random<std::int32_t>(1000, 14);
  const kl::Array<std::int32_t> x = line(values);
  double exact = 0;
  for (const std::int32_t v : values) exact += v;
  EXPECT_EQ(kl::sum(x, kl::accumulate<double>).item(), exact);
  std::int32_t wrapped = 0;
  for (const std::int32_t v : values) wrapped = reference::wrap<std::int32_t>(static_cast<reference::Int>(wrapped) + v);
  EXPECT_EQ(kl::sum(x, kl::accumulate<std::int32_t>).item(), wrapped);
  EXPECT_NEAR(kl::mean(x, kl::accumulate<double>).item(), exact / 1000, std::fabs(exact) * 1e-15);
  const kl::Array<float> f = line(std::vector<float>{1e30f, 1e30f});
  EXPECT_EQ(kl::prod(f, kl::accumulate<double>).item(), static_cast<double>(1e30f) * static_cast<double>(1e30f));
  EXPECT_EQ(kl::prod(f).item(), inf);
}

// ------------------------------------------------------------------ special values
TEST_P(ReductionTypes, nan_propagates_and_positions_name_the_first_one) {
  for (const std::size_t n : {3, 70, 5000}) {
    for (const std::size_t at : {std::size_t{0}, n / 2, n - 1}) {
      std::vector<float> values(n, 1.0f);
      values[at] = nan;
      values[n - 1] = nan;
      const kl::Array<float> x = line(values);
      EXPECT_TRUE(std::isnan(kl::max(x).item()));
      EXPECT_TRUE(std::isnan(kl::min(x).item()));
      EXPECT_TRUE(std::isnan(kl::sum(x).item()));
      EXPECT_TRUE(std::isnan(kl::mean(x).item()));
      EXPECT_TRUE(std::isnan(kl::var(x).item()));
      EXPECT_TRUE(std::isnan(kl::logsumexp(x).item()));
      EXPECT_EQ(kl::argmax(x).item(), static_cast<std::int64_t>(at)) << n;
      EXPECT_EQ(kl::argmin(x).item(), static_cast<std::int64_t>(at)) << n;
    }
  }
  EXPECT_TRUE(kl::any(line(std::vector<float>{0, nan, 0})).item()) << "NaN is true";
  EXPECT_TRUE(kl::all(line(std::vector<float>{1, nan})).item());
  EXPECT_EQ(kl::count_nonzero(line(std::vector<float>{0, nan, -0.0f, 2})).item(), 2);
}

TEST_P(ReductionTypes, infinities) {
  EXPECT_EQ(kl::sum(line(std::vector<float>{1, inf, 2})).item(), inf);
  EXPECT_EQ(kl::sum(line(std::vector<float>(3000, 3e38f))).item(), inf);
  EXPECT_TRUE(std::isnan(kl::sum(line(std::vector<float>{inf, -inf})).item()));
  EXPECT_EQ(kl::max(line(std::vector<float>{-inf, -inf})).item(), -inf);
  EXPECT_EQ(kl::argmax(line(std::vector<float>{-inf, -inf, -inf})).item(), 0);
  EXPECT_EQ(kl::argmin(line(std::vector<float>{inf, inf})).item(), 0);
  EXPECT_EQ(kl::norm(line(std::vector<float>{-inf, 1})).item(), inf);
  EXPECT_EQ(kl::logsumexp(line(std::vector<float>{-inf, -inf})).item(), -inf);
  EXPECT_EQ(kl::logsumexp(line(std::vector<float>{1, inf})).item(), inf);
  EXPECT_NEAR(kl::logsumexp(line(std::vector<float>{1000, 1000})).item(), 1000 + std::log(2.0), 1e-4);
  EXPECT_NEAR(kl::logsumexp(line(std::vector<float>{-inf, -1000, -inf})).item(), -1000, 1e-4);
}

TEST_P(ReductionTypes, signed_zeroes_are_ordered) {
  for (const std::vector<float>& values : {std::vector<float>{0.0f, -0.0f}, std::vector<float>{-0.0f, 0.0f}}) {
    EXPECT_FALSE(std::signbit(kl::max(line(values)).item()));
    EXPECT_TRUE(std::signbit(kl::min(line(values)).item()));
  }
  EXPECT_EQ(kl::argmax(line(std::vector<float>{-0.0f, 0.0f})).item(), 0) << "equal values: the first";
}

TEST_P(ReductionTypes, ties_take_the_lowest_index) {
  for (const std::size_t n : {5, 64, 1000, 40000}) {
    std::vector<std::int32_t> values(n, 7);
    values[0] = 3;
    const kl::Array<std::int32_t> x = line(values);
    EXPECT_EQ(kl::argmax(x).item(), 1);
    EXPECT_EQ(kl::argmin(x + 1).item(), 0);
    EXPECT_EQ(kl::argmax(kl::zeros<float>({static_cast<std::int64_t>(n)})).item(), 0);
  }
  // Over several axes: the position in C order.
  std::vector<float> values(6 * 50, 1.0f);
  values[137] = values[250] = 2.0f;
  const kl::Array<float> x = kl::from_host(values, {6, 50});
  EXPECT_EQ(kl::argmax(x).item(), 137);
  EXPECT_EQ(kl::eval(kl::argmax(x.reshape({2, 3, 50}), {1, 2})).to_host(), (std::vector<std::int64_t>{137, 100}));
}

// ------------------------------------------------------------------ few or no elements
TEST_P(ReductionTypes, of_no_elements) {
  const kl::Array<float> none({0}), rows_of_none({3, 0}), no_rows({0, 4});
  EXPECT_EQ(kl::sum(none).item(), 0.0f);
  EXPECT_EQ(kl::prod(none).item(), 1.0f);
  EXPECT_EQ(kl::any(none).item(), false);
  EXPECT_EQ(kl::all(none).item(), true);
  EXPECT_EQ(kl::count_nonzero(none).item(), 0);
  EXPECT_EQ(kl::norm(none).item(), 0.0f);
  EXPECT_TRUE(std::isnan(kl::mean(none).item()));
  EXPECT_TRUE(std::isnan(kl::var(none).item()));
  EXPECT_EQ(kl::logsumexp(none).item(), -inf);
  EXPECT_EQ(kl::eval(kl::sum(rows_of_none, 1) + 1).to_host(), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(kl::eval(kl::sum(rows_of_none, 0)).shape(), (kl::Shape{0}));
  EXPECT_EQ(kl::eval(kl::sum(no_rows, 0)).to_host(), (std::vector<float>(4, 0)));
  EXPECT_EQ(kl::eval(kl::max(no_rows, 1)).shape(), (kl::Shape{0})) << "there is nothing to have a maximum";
  EXPECT_THROW(kl::max(none).item(), kl::ShapeError);
  EXPECT_THROW(kl::eval(kl::min(rows_of_none, 1)), kl::ShapeError);
  EXPECT_THROW(kl::eval(kl::argmax(no_rows, 0)), kl::ShapeError);
  EXPECT_THROW(kl::eval(kl::argmin(none)), kl::ShapeError);
}

TEST_P(ReductionTypes, of_one_element) {
  const kl::Array<float> x = line(std::vector<float>{-2.5f});
  EXPECT_EQ(kl::sum(x).item(), -2.5f);
  EXPECT_EQ(kl::max(x, 0, kl::keepdims).item(), -2.5f);
  EXPECT_EQ(kl::norm(x).item(), 2.5f);
  EXPECT_EQ(kl::var(x).item(), 0.0f);
  EXPECT_TRUE(std::isnan(kl::var(x, kl::ddof(1)).item())) << "0 / 0";
  EXPECT_EQ(kl::argmax(x).item(), 0);
  kl::Array<float> single(kl::Shape{});
  single = 4.0f;
  EXPECT_EQ(kl::sum(single).item(), 4.0f);
  EXPECT_EQ(kl::argmin(single).item(), 0);
  EXPECT_EQ(kl::eval(kl::sum(x.unsqueeze(0), {})).to_host(), (std::vector<float>{-2.5f})) << "along no axes";
}

// ------------------------------------------------------------------ accuracy
TEST_P(ReductionTypes, variance_with_a_large_mean) {
  std::vector<float> values;
  for (int i = 0; i < 10000; ++i) values.push_back(1e6f + static_cast<float>(i % 4));
  EXPECT_NEAR(kl::var(line(values)).item(), 1.25, 0.02) << "E[x^2] - E[x]^2 would be off by thousands";
  std::vector<double> wide(values.begin(), values.end());
  for (double& v : wide) v += 1e9;
  EXPECT_NEAR(kl::var(line(wide)).item(), 1.25, 1e-5);
  const kl::Array<float> columns = kl::from_host(values, {5000, 2});
  for (const float v : kl::eval(kl::var(columns, 0)).to_host()) EXPECT_NEAR(v, 1.0, 0.02);
}

TEST_P(ReductionTypes, long_sums_meet_their_bound) {
  std::vector<float> values(1 << 20, 0.1f);
  values[0] = 1e6f;
  EXPECT_TRUE(rows::near<float>(kl::sum(line(values)).item(), rows::sum(values)));
}

TEST_P(ReductionTypes, the_same_bits_on_every_run) {
  const kl::Array<float> x = line(values::random<float>(300000, 15));
  const float first = kl::sum(x).item(), norm = kl::norm(x).item();
  for (int run = 0; run < 5; ++run) {
    EXPECT_EQ(kl::sum(x).item(), first);
    EXPECT_EQ(kl::norm(x).item(), norm);
  }
}

// ------------------------------------------------------------------ functions of the user's
TEST_P(ReductionTypes, reduce_by_a_function) {
  const Tensor<float> t = random_tensor<float>({40, 333}, 16);
  const kl::Array<float> x = on_device(t);
  const auto larger_magnitude = [](auto a, auto b) { return kl::where(kl::abs(a) < kl::abs(b), b, a); };
  for (const int axis : {0, 1}) {
    rows::expect_rows("largest magnitude", kl::eval(kl::reduce(kl::abs(x), axis, 0, larger_magnitude, kl::keepdims)), t,
                      {axis}, true, [](const std::vector<float>& r) {
                        float best = 0;
                        for (const float v : r) best = std::max(best, std::fabs(v));
                        return best;
                      });
  }
  const kl::Array<std::int32_t> i = line(std::vector<std::int32_t>{12, 10, 15, 9});
  EXPECT_EQ(kl::reduce(i, 0, [](auto a, auto b) { return a ^ b; }).item(), 12 ^ 10 ^ 15 ^ 9);
  EXPECT_EQ(kl::reduce(i, -1, [](auto a, auto b) { return a & b; }).item(), 8);
}

/// The position of the largest value; the lower one of equal values.
const auto first_largest = [](auto a, auto b) {
  const auto [v, i] = a;
  const auto [w, j] = b;
  auto left = (v > w) || ((v == w) && (i < j));
  return std::tuple(kl::where(left, v, w), kl::where(left, i, j));
};

TEST_P(ReductionTypes, argmax_written_by_a_user) {
  const Tensor<float> t = random_tensor<float>({30, 500}, 17);
  const kl::Array<float> x = on_device(t);
  for (const int axis : {0, 1}) {
    const auto [value, position] =
        kl::reduce(std::tuple(x, kl::index(x, axis)), axis, std::tuple(-inf, std::int64_t{1} << 40), first_largest);
    rows::expect_rows("value", kl::eval(value), t, {axis}, false,
                      [](const std::vector<float>& r) { return rows::extreme(r, true); });
    rows::expect_rows("position", kl::eval(position), t, {axis}, false,
                      [](const std::vector<float>& r) { return rows::position_of_extreme(r, true); });
  }
}

/// Count, mean and sum of squared deviations of two parts (Chan, Golub and LeVeque).
const auto welford = [](auto a, auto b) {
  const auto [n, m, s] = a;
  const auto [k, l, q] = b;
  auto count = n + k;
  auto share = kl::where(count > 0, k / kl::maximum(count, 1), 0);
  auto step = l - m;
  return std::tuple(count, m + step * share, s + q + step * step * n * share);
};

TEST_P(ReductionTypes, welford_written_by_a_user) {
  const Tensor<double> t = random_tensor<double>({20, 700}, 18);
  const kl::Array<double> x = on_device(t);
  for (const int axis : {0, 1}) {
    const auto [count, mean, squares] = kl::reduce(std::tuple(x * 0 + 1, x, x * 0), axis, std::tuple(0, 0, 0), welford);
    rows::expect_rows("count", kl::eval(count), t, {axis}, false,
                      [](const std::vector<double>& r) { return static_cast<double>(r.size()); });
    rows::expect_rows("mean", kl::eval(mean), t, {axis}, false,
                      [](const std::vector<double>& r) { return Expected{rows::mean(r).value, 1e-12L}; });
    rows::expect_rows("variance", kl::eval(squares / count), t, {axis}, false,
                      [](const std::vector<double>& r) { return Expected{rows::var(r, 0).value, 1e-11L}; });
  }
}

TEST_P(ReductionTypes, functions_in_a_compiled_function) {
  const Tensor<float> t = random_tensor<float>({7, 90}, 19);
  const kl::Array<float> x = on_device(t);
  const auto f = kl::jit([](auto v, kl::Const<int> axis) {
    auto [value, position] =
        kl::reduce(std::tuple(v, kl::index(v, 1)), axis, std::tuple(-inf, std::int64_t{1} << 40), first_largest);
    return std::tuple(value, position, kl::sum(v, axis, kl::accumulate<double>));
  });
  const auto [value, position, sum] = f(x, 1);
  rows::expect_rows("value", value, t, {1}, false, [](const auto& r) { return rows::extreme(r, true); });
  rows::expect_rows("position", position, t, {1}, false,
                    [](const auto& r) { return rows::position_of_extreme(r, true); });
  rows::expect_rows("sum", sum, t, {1}, false, [](const auto& r) { return rows::sum(r); });
}

}  // namespace
