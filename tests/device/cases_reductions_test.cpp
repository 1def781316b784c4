// tests/device/cases_reductions_test.cpp -- faults that users of similar systems reported about sums, extremes and
// normalisations, restated as inputs.
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/support/rows.h"
#include "tests/support/values.h"

namespace {

class ReductionCases : public OnEachDevice {};
KILN_ON_EACH_DEVICE(ReductionCases);

constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

template <class T>
kl::Array<T> line(const std::vector<T>& values) {
  return kl::from_host(values);
}

// ------------------------------------------------------------------ accuracy
/// 16-bit sums accumulate in f32 and round once; `every` second element is a view.
template <class T>
void expect_sum_and_mean(std::int64_t n, float value, float sum, float mean) {
  const kl::Array<T> dense = kl::full({n}, T(value)), wide = kl::full({2 * n}, T(value));
  const auto strided = wide(kl::range(kl::none, kl::none, 2));
  EXPECT_EQ(static_cast<float>(kl::sum(dense).item()), sum);
  EXPECT_EQ(static_cast<float>(kl::sum(strided).item()), sum);
  EXPECT_EQ(static_cast<float>(kl::mean(dense).item()), mean);
  EXPECT_EQ(static_cast<float>(kl::mean(strided).item()), mean);
  EXPECT_EQ(kl::sum(dense, kl::accumulate<float>).item(), static_cast<float>(n) * value);
}

TEST_P(ReductionCases, half_sums_do_not_stick) {  // A01
  expect_sum_and_mean<kl::half>(20000, 1, 20000, 1);
  expect_sum_and_mean<kl::bfloat16>(70000, 1, 70144, 1);  // neighbours in bf16 are 512 apart there
  expect_sum_and_mean<kl::half>(300, 500, inf, 500);      // 150000 > 65504
}

TEST_P(ReductionCases, long_sums_keep_their_digits) {  // A02
  EXPECT_NEAR(kl::sum(kl::full({1000000}, 0.1f)).item(), 100000.00149, 0.1) << "one by one gives 100958.34";
  const kl::Array<float> minus = kl::full({1, 1}, -1.0f), dense = kl::full({4500, 450}, -1.0f);
  EXPECT_EQ(kl::mean(minus.broadcast_to({4500, 4500})).item(), -1.0f);
  EXPECT_EQ(kl::mean(dense.unsqueeze(0).broadcast_to({10, 4500, 450})).item(), -1.0f);
  const std::vector<float> columns(4, 20000000.0f);  // one by one stops at 2^24
  EXPECT_EQ(kl::eval(kl::sum(kl::ones<float>({1, 4}).broadcast_to({20000000, 4}), 0)).to_host(), columns);
  const kl::Array<float> block = kl::ones<float>({1000, 4});
  EXPECT_EQ(kl::eval(kl::sum(block.unsqueeze(0).broadcast_to({20000, 1000, 4}), {0, 1})).to_host(), columns);
}

TEST_P(ReductionCases, sums_of_1e8_terms) {  // A02
  const std::vector<float> values = values::random<float>(10000, 21);
  const kl::Array<float> x = line(values);
  const auto many = x.broadcast_to({10000, 10000});
  rows::Expected sum = rows::sum(values), mean = rows::mean(values), var = rows::var(values, 0);
  sum.value *= 10000, sum.error *= 20000, mean.error *= 2, var.error *= 2;  // log2 of 1e8 is twice that of 1e4
  EXPECT_TRUE(rows::near<float>(kl::sum(many).item(), sum));
  EXPECT_TRUE(rows::near<float>(kl::mean(many).item(), mean));
  EXPECT_TRUE(rows::near<float>(kl::var(many).item(), var));
  const auto columns = kl::eval(kl::sum(many, 0)).to_host();
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(columns[i], 1e4 * values[i], 1e-6 * 1e4 * 256);
}

TEST_P(ReductionCases, variance_is_not_the_mean_of_squares) {  // A04
  std::vector<float> values;
  for (int i = 0; i < 1000; ++i) values.push_back(10000.0f + 0.25f * static_cast<float>(i % 4));
  const kl::Array<float> x = line(values), column = kl::eval(x.unsqueeze(1).broadcast_to({1000, 40}));
  EXPECT_NEAR(kl::var(x).item(), 0.078125, 1e-5 * 0.078125);
  EXPECT_NEAR(kl::std_(x).item(), 0.279508497, 1e-5 * 0.2795);
  const auto by_hand = kl::jit([](auto v) {
    auto d = v - kl::mean(v);
    return kl::mean(d * d);
  });
  EXPECT_NEAR(by_hand(x).item(), 0.078125, 1e-5 * 0.078125) << "must not become the one-pass form";
  for (const float v : kl::eval(kl::var(column, 0)).to_host()) ASSERT_NEAR(v, 0.078125, 1e-5 * 0.078125);
  for (const std::int64_t n : {1000, 4096, 1000000}) EXPECT_EQ(kl::var(kl::full({n}, 1e6f)).item(), 0.0f) << n;
  EXPECT_EQ(kl::eval(kl::var(kl::full({5000, 3}, 1e6f), 0)).to_host(), (std::vector<float>(3, 0)));
}

/// In every form that lengths and layouts bring: held rows, chunks, columns, everything, stored and computed elements.
/// `one_pass`: a GPU may join means of chunks, each within half a unit in the last place, so the standard deviation is
/// below that; everywhere else it is 0.
template <class T>
void expect_no_variance(std::int64_t n, bool one_pass) {
  for (const double x : {0.1, 1.00699997, 3.3333, -123.457, 1e-7, 9876.54}) {
    const T value(static_cast<float>(x));
    const std::string rule =
        std::string(kl::name_of(kl::dtype_of<T>)) + " " + std::to_string(x) + ", " + std::to_string(n);
    const double unit = one_pass ? std::ldexp(2 * x, kl::dtype_of<T> == kl::DType::f64 ? -53 : -24) : 0;
    const auto expect = [&](const char* what, const auto& got) {
      EXPECT_LE(static_cast<double>(got), unit * unit) << what << " of " << rule;
    };
    const kl::Array<T> line = kl::full({n}, value), rows = kl::full({3, n}, value), columns = kl::full({n, 3}, value);
    expect("var", kl::var(line).item());
    expect("var of a sum of products", kl::var(line * T(0.3f) + line * T(0.7f)).item());
    expect("var of rows", kl::max(kl::var(rows, 1)).item());
    expect("var of products", kl::max(kl::var(rows * T(1.7f), 1, kl::ddof(1))).item());
    expect("var of columns", kl::max(kl::var(columns, 0)).item());
    expect("var of everything", kl::max(kl::var(rows, {0, 1})).item());
  }
}

TEST_P(ReductionCases, equal_elements_have_no_variance) {  // A04: n x / n is not x where the sum is rounded
  for (const std::int64_t n : {2, 3, 10, 100, 1000, 4097, 5000, 20000, 70001, 300000}) {
    expect_no_variance<float>(n, on_gpu() && n > 16384);
    expect_no_variance<double>(n, on_gpu() && n > 8192);
  }
  for (const std::int64_t n : {10, 1000, 20000}) {
    expect_no_variance<kl::half>(n, on_gpu() && n > 16384);
    expect_no_variance<kl::bfloat16>(n, on_gpu() && n > 16384);
  }
  const std::complex<float> z(0.1f, 3.3333f);
  EXPECT_EQ(kl::var(kl::full({5000}, z)).item(), 0.0f);
}

// ------------------------------------------------------------------ NaN and infinities
template <class T>
void expect_nan_extremes() {
  const auto is_nan = [](T v) { return std::isnan(static_cast<double>(v)); };
  for (const std::size_t n : {3, 33, 8193}) {
    for (const std::size_t at : {std::size_t{0}, n / 2, n - 1}) {
      std::vector<T> values(3 * n, T(1.0f));
      values[n + at] = T(nan);
      const kl::Array<T> x = kl::from_host(values, {3, n}), columns = kl::eval(x.t());
      for (const auto& got : {kl::eval(kl::max(x, 1)).to_host(), kl::eval(kl::min(x, 1)).to_host(),
                              kl::eval(kl::max(columns, 0)).to_host(), kl::eval(kl::min(columns, 0)).to_host()}) {
        EXPECT_TRUE(!is_nan(got[0]) && is_nan(got[1]) && !is_nan(got[2])) << n << ", NaN at " << at;
      }
    }
    const kl::Array<T> all = kl::full({static_cast<std::int64_t>(n)}, T(nan));
    EXPECT_TRUE(is_nan(kl::max(all).item()) && is_nan(kl::min(all).item())) << n;
    const kl::Array<T> low = kl::full({static_cast<std::int64_t>(n)}, T(-inf));
    EXPECT_EQ(static_cast<float>(kl::max(low).item()), -inf) << "the identity is no finite number";
  }
}

TEST_P(ReductionCases, extremes_propagate_nan_from_any_place) {  // A06
  expect_nan_extremes<float>();
  expect_nan_extremes<double>();
  expect_nan_extremes<kl::half>();
}

template <class X>
void expect_positions(const X& x, std::int64_t largest, std::int64_t smallest) {
  EXPECT_EQ(kl::argmax(x).item(), largest);
  EXPECT_EQ(kl::argmin(x).item(), smallest);
}

TEST_P(ReductionCases, positions_of_nan_and_of_ties) {  // A07
  expect_positions(line(std::vector<float>{3, nan, 1, 5}), 1, 1);
  expect_positions(line(std::vector<float>{inf, nan, -inf}), 1, 1);
  expect_positions(line(std::vector<float>{1, 2, nan}), 2, 2);
  expect_positions(kl::full({100}, nan), 0, 0);
  expect_positions(kl::full({1000000}, 4.0f), 0, 0);
  expect_positions(kl::full({16}, 4), 0, 0);
  std::vector<float> values(512, 0.0f);
  values[5] = values[256] = 9.0f;
  kl::Array<float> x = line(values);
  expect_positions(x, 5, 0);
  expect_positions(x.flip(0), 511 - 256, 0);  // counted in the order of the view
  expect_positions(x(kl::range(kl::none, kl::none, 2)), 128, 0);
  expect_positions(x(kl::range(1, kl::none, 2)), 2, 0);
  values[300] = nan;
  x = line(values);
  expect_positions(x.flip(0), 511 - 300, 511 - 300);
  const auto planes = kl::eval(kl::argmax(x.reshape({2, 256}).t(), 0)).to_host();
  EXPECT_EQ(planes, (std::vector<std::int64_t>{5, 44}));
}

TEST_P(ReductionCases, producers_are_not_simplified) {  // A09, A10
  const kl::Array<float> one = line(std::vector<float>{1}), x = line(std::vector<float>{1, inf, -2});
  EXPECT_EQ(kl::sum(one / kl::lit(0.0f)).item(), inf);
  EXPECT_EQ(kl::sum(one / kl::lit(-0.0f)).item(), -inf) << "another kernel than with +0";
  EXPECT_TRUE(std::isnan(kl::sum(x * kl::lit(0.0f)).item()));
  EXPECT_TRUE(std::isnan(kl::sum(x - x).item()));
  EXPECT_TRUE(std::isnan(kl::max(x / x).item()));
  EXPECT_TRUE(std::isnan((kl::sum(x) * 0.0f - kl::sum(x)).item()));
}

TEST_P(ReductionCases, logsumexp_and_softmax_of_special_rows) {  // A12
  EXPECT_EQ(kl::logsumexp(kl::full({5}, -inf)).item(), -inf);
  EXPECT_EQ(kl::logsumexp(line(std::vector<float>{inf, 0})).item(), inf);
  EXPECT_NEAR(kl::logsumexp(line(std::vector<float>{1000, 1000})).item(), 1000.6931471805599, 6.2e-5);
  EXPECT_NEAR(kl::logsumexp(line(std::vector<double>{1000, 1000})).item(), 1000.6931471805599, 1e-12);
  const auto softmax = kl::jit([](auto v) {
    auto e = kl::exp(v - kl::max(v, -1, kl::keepdims));
    return e / kl::sum(e, -1, kl::keepdims);
  });
  const auto of = [&](const std::vector<float>& row) { return softmax(kl::from_host(row, {1, row.size()})).to_host(); };
  EXPECT_EQ(of({0, -inf, -inf}), (std::vector<float>{1, 0, 0}));
  EXPECT_EQ(of({5}), (std::vector<float>{1}));
  for (const float v : of({-inf, -inf, -inf})) EXPECT_TRUE(std::isnan(v)) << "0 / 0";
  for (const float v : of({1, nan})) EXPECT_TRUE(std::isnan(v));
  const auto infinite = of({inf, 0});
  EXPECT_TRUE(std::isnan(infinite[0]) && (std::isnan(infinite[1]) || infinite[1] == 0));
  for (const std::int64_t n : {1, 2, 3, 31, 33, 127, 129, 500, 1023}) {  // lanes without elements add nothing
    const kl::Array<float> x = kl::full({3, n}, -1e30f);
    for (const float v : softmax(x).to_host()) ASSERT_NEAR(v * static_cast<float>(n), 1, 1e-5) << n;
    const kl::Array<float> y = kl::full({3, n}, -100.0f);
    for (const float v : kl::eval(kl::logsumexp(y, 1)).to_host()) {
      ASSERT_NEAR(v, std::log(static_cast<double>(n)) - 100, 2e-5) << n;
    }
  }
}

// ------------------------------------------------------------------ what is reduced
TEST_P(ReductionCases, contraction_can_be_switched_off) {  // A13
  const kl::Array<float> a = kl::full({1000}, 2396747.0f), b = kl::full({1000}, 7.0f);
  const auto f =
      kl::jit([](auto p, auto q, auto r, auto s) { return kl::sum(p * q - r * s); }, kl::Options{.contract = false});
  EXPECT_EQ(f(a, b, a.clone(), b.clone()).item(), 0.0f) << "every product rounds to 16777228 by itself";
}

TEST_P(ReductionCases, integer_producers) {  // A14, A16, A18, A21
  constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min(), most = -(least + 1);
  const kl::Array<std::int32_t> a = line(std::vector<std::int32_t>{-6, 6, -7, least, 7});
  const kl::Array<std::int32_t> b = line(std::vector<std::int32_t>{5, -5, 3, -1, 0});
  EXPECT_EQ(kl::sum(kl::floor_divide(a, b)).item(), std::int64_t{-2 - 2 - 3} + least + 0);
  EXPECT_EQ(kl::sum(kl::remainder(a, b)).item(), 4 - 4 + 2 + 0 + 0);
  const kl::Array<std::int64_t> i = line(std::vector<std::int64_t>{123456789, 3});
  EXPECT_EQ(kl::max(kl::pow(i, 2)).item(), 15241578750190521);
  const kl::Array<std::int8_t> t = line(std::vector<std::int8_t>{3, 3});
  EXPECT_EQ(kl::sum(kl::pow(t, 5)).item(), -26) << "243 wraps to -13, then sums are exact";
  const kl::Array<float> f = line(std::vector<float>{nan, inf, -inf, 1e20f, -1e20f, -1.5f, 255.9f, 256});
  EXPECT_EQ(kl::sum(kl::cast<std::int32_t>(f)).item(), std::int64_t{2} * least + std::int64_t{2} * most - 1 + 511);
  EXPECT_EQ(kl::sum(kl::cast<std::uint8_t>(f)).item(), 255u * 4);
  EXPECT_EQ(kl::count_nonzero(kl::cast<bool>(f)).item(), 8);
  const kl::Array<std::uint8_t> u = line(std::vector<std::uint8_t>{200, 200});
  EXPECT_EQ(kl::sum((-kl::abs(u)).broadcast_to({2, 2})).item(), 224u) << "four times 56";
  EXPECT_EQ(kl::sum((u + 100) / 2).item(), 44u) << "300 wraps to 44 before it is halved";
  const kl::Array<std::int8_t> low = line(std::vector<std::int8_t>{-128, -128});
  EXPECT_EQ(kl::max(kl::abs(low)).item(), -128);
  const kl::Array<std::int16_t> s = line(std::vector<std::int16_t>{300, 300, 300});
  EXPECT_EQ(kl::sum((s * s) >> 8).item(), 3 * 95);
}

TEST_P(ReductionCases, small_integers_accumulate_in_64_bits) {  // A20
  EXPECT_EQ(kl::sum(kl::arange<std::int32_t>(100000) > 1).item(), 99998);
  EXPECT_EQ(kl::sum(kl::full({3}, 2147483647)).item(), 6442450941);
  EXPECT_EQ(kl::sum(kl::ones<std::uint8_t>({350})).item(), 350u);
  const kl::Array<std::int8_t> hundred = kl::full({2}, std::int8_t(100)), most = kl::full({3}, std::int8_t(127));
  EXPECT_EQ(kl::prod(hundred).item(), 10000);
  EXPECT_EQ(kl::mean(most).item(), 127.0);
  EXPECT_EQ(kl::sum(most, kl::accumulate<std::int8_t>).item(), 125) << "381 - 256";
  kl::Array<std::int8_t> out(kl::Shape{});
  kl::eval(kl::tie(out), kl::sum(most));
  EXPECT_EQ(out.item(), 125) << "a narrow destination wraps as a conversion does";
}

TEST_P(ReductionCases, subnormals_are_summed) {  // A22
  const kl::Array<float> x = kl::full({1000}, 0x1p-149f), least = kl::full({7}, 0x1p-126f);
  EXPECT_EQ(kl::sum(x).item(), 1000 * 0x1p-149f);
  EXPECT_EQ(kl::max(x).item(), 0x1p-149f);
  EXPECT_EQ(kl::count_nonzero(x).item(), 1000);
  EXPECT_EQ(kl::eval(kl::sum(x.reshape({100, 10}), 0)).to_host(), (std::vector<float>(10, 100 * 0x1p-149f)));
  EXPECT_EQ(kl::min(least * kl::lit(0.5f)).item(), 0x1p-127f);
  EXPECT_EQ(kl::sum(kl::full({1000}, 5e-324)).item(), 1000 * 5e-324);
}

TEST_P(ReductionCases, values_equal_their_own_maximum) {  // A24
  std::vector<kl::bfloat16> values;
  for (const float v : values::random<float>(64 * 1000, 22)) values.push_back(kl::bfloat16(v));
  const kl::Array<kl::bfloat16> x = kl::from_host(values, {64, 1000});
  const auto count = kl::jit([](auto v) {
    auto s = v / 3.0f;
    return std::tuple(kl::count_nonzero(s == kl::max(s, 1, kl::keepdims), 1), s);
  });
  const auto [fused, stored] = count(x);
  for (const std::int64_t n : fused.to_host()) ASSERT_GE(n, 1);
  const kl::Array<kl::bfloat16> largest = kl::max(stored, 1, kl::keepdims);  // both rounded
  for (const std::int64_t n : kl::eval(kl::count_nonzero(stored == largest, 1)).to_host()) ASSERT_GE(n, 1);
  const kl::Array<float> ties = line(std::vector<float>{1 + 0x1p-8f, 1 + 3 * 0x1p-8f});
  EXPECT_EQ(kl::sum(kl::cast<float>(kl::cast<kl::bfloat16>(ties))).item(), 2.015625f) << "casts are kept";
}
}  // namespace
