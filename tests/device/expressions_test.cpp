// tests/device/expressions_test.cpp -- what users type: ownership, types of scalars, views of expressions, let, several
// outputs, assignment. Expected values are computed by hand or with plain loops.
#include <cmath>
#include <complex>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/devices.h"
#include "tests/support/messages.h"

namespace {

using messages::message_of;

class Expressions : public OnEachDevice {};
KILN_ON_EACH_DEVICE(Expressions);

using Floats = std::vector<float>;

/// Case B13: the expression outlives its scalars, its array and the function that made it.
auto sine_of_scaled(const kl::Array<float>& x) {
  const float s = 0.01f;
  auto t = x * 2;
  return sin(t * s);
}

TEST_P(Expressions, own_their_operands) {
  auto x = std::make_unique<kl::Array<float>>(kl::from_host(Floats{1, 2, 3, 4}));
  auto e = sine_of_scaled(*x);
  x.reset();
  const std::vector<double> expected = {0.01999867, 0.03998933, 0.05996401, 0.07991469};  // as the report states
  std::vector<decltype(e)> stored;
  stored.push_back(e);
  stored.push_back(std::move(e));
  for (int round = 0; round < 2; ++round) {
    for (const auto& each : stored) {
      const Floats got = kl::eval(each).to_host();
      for (int i = 0; i < 4; ++i) EXPECT_NEAR(got[i], expected[i], 1e-7);
    }
  }
}

TEST_P(Expressions, assigning_one_expression_to_another_shares_its_operands) {
  kl::Array<float> x = kl::from_host(Floats{1, 2}), y = kl::from_host(Floats{5, 6});
  auto e = x + 1;
  {
    auto other = y + 10;
    e = other;
  }
  EXPECT_EQ(kl::eval(e).to_host(), (Floats{15, 16}));
}

TEST_P(Expressions, saxpy_in_place) {
  kl::Array<float> x = kl::from_host(Floats{1, 2, 3}), y = kl::from_host(Floats{10, 20, 30});
  const float* before = y.data();
  y = 2.5f * x + y;
  EXPECT_EQ(y.to_host(), (Floats{12.5f, 25, 37.5f}));
  EXPECT_EQ(y.data(), before) << "an array of the right shape is written, not replaced";
}

// ------------------------------------------------------------------ scalars
TEST_P(Expressions, numbers_take_the_kind_of_the_array) {
  kl::Array<float> f = kl::from_host(Floats{1});
  kl::Array<std::int32_t> i = kl::from_host(std::vector<std::int32_t>{3});
  kl::Array<bool> b = kl::from_host(std::vector<bool>{true});
  kl::Array<kl::half> h = f.astype<kl::half>();
  static_assert(decltype(f * 2.0)::dtype == kl::DType::f32);
  static_assert(decltype(h * 2.0)::dtype == kl::DType::f16);
  static_assert(decltype(i * 0.5)::dtype == kl::DType::f64);
  static_assert(decltype(b + 1)::dtype == kl::DType::i64);
  static_assert(decltype(f * std::complex<double>(0, 1))::dtype == kl::DType::c64);
  static_assert(decltype(i * std::complex<float>(0, 1))::dtype == kl::DType::c128);
  static_assert(decltype(i + f)::dtype == kl::DType::f64, "i32 + f32 promotes as in NumPy");
  static_assert(decltype(f + kl::scalar<double>(1))::dtype == kl::DType::f64, "a strong scalar promotes");
  EXPECT_EQ((i * 0.5).item(), 1.5);
  EXPECT_EQ((b + 1).item(), 2);
  EXPECT_EQ((f * 2.0).item(), 2.0f);
  EXPECT_EQ((i * std::complex<float>(0, 1)).item(), std::complex<double>(0, 3));
}

TEST_P(Expressions, integers_that_do_not_fit_are_refused_by_name) {
  kl::Array<std::int8_t> a = kl::from_host(std::vector<std::int8_t>{1});
  const std::string text = message_of([&] { kl::eval(a + 300); });
  EXPECT_NE(text.find("300"), std::string::npos) << text;
  EXPECT_NE(text.find("i8"), std::string::npos) << text;
  EXPECT_NE(text.find("expressions_test.cpp:" + std::to_string(__LINE__ - 3)), std::string::npos) << text;
  EXPECT_EQ(kl::eval(a + 100).to_host()[0], 101) << "the library stays usable";
}

TEST_P(Expressions, integer_comparisons_are_exact) {
  kl::Array<std::uint8_t> u = kl::from_host(std::vector<std::uint8_t>{44, 255});
  EXPECT_EQ(kl::eval(u == 300).to_host(), (std::vector<bool>{false, false}));
  EXPECT_EQ(kl::eval(u > -1).to_host(), (std::vector<bool>{true, true}));
  EXPECT_EQ(kl::eval(-1 < u).to_host(), (std::vector<bool>{true, true}));
}

TEST_P(Expressions, literals_and_conditions) {
  kl::Array<float> x = kl::from_host(Floats{-1, 0, 2});
  EXPECT_EQ(kl::eval(x * kl::lit(3) + kl::lit(0.5)).to_host(), (Floats{-2.5f, 0.5f, 6.5f}));
  EXPECT_EQ(kl::eval(kl::where(x > 0, x, 0.25f)).to_host(), (Floats{0.25f, 0.25f, 2}));
  EXPECT_EQ(kl::eval(kl::where(x, 1, 2)).to_host(), (std::vector<int>{1, 2, 1}))
      << "a condition that is not bool: != 0";
  EXPECT_EQ(kl::eval(kl::clip(x, -0.5, 1)).to_host(), (Floats{-0.5f, 0, 1}));
  for (int k = 0; k < 5; ++k)
    EXPECT_EQ(kl::eval(x * kl::lit(k)).to_host()[2], 2.0f * k) << "a literal is part of the key";
}

/// Arrays and expressions explain themselves where C++ wants a bool; that must not take part beside a bool or under !.
TEST_P(Expressions, logic_of_masks_and_a_bool) {
  kl::Array<bool> mask = kl::from_host(std::vector<bool>{true, false});
  const bool yes = true, no = false;
  const auto values = [](const kl::Array<bool>& a) { return a.to_host(); };
  EXPECT_EQ(values(kl::eval(!mask)), (std::vector<bool>{false, true}));
  EXPECT_EQ(values(kl::eval(mask && yes)), (std::vector<bool>{true, false}));
  EXPECT_EQ(values(kl::eval(no || mask)), (std::vector<bool>{true, false}));
  EXPECT_EQ(values(kl::eval((mask && no) || !mask)), (std::vector<bool>{false, true}));
  EXPECT_EQ(values(kl::jit([](auto m) { return !(m && true); })(mask)), (std::vector<bool>{false, true}));
}

TEST_P(Expressions, operands_may_be_mixed_freely) {
  kl::Array<float> x = kl::from_host(Floats{1, 2});
  kl::Array<std::int32_t> i = kl::from_host(std::vector<std::int32_t>{7, -7});
  EXPECT_EQ(kl::eval((i % 4) | 8).to_host(), (std::vector<std::int32_t>{3 | 8, -3 | 8}));
  EXPECT_EQ(kl::eval(~i ^ (i << 1)).to_host(), (std::vector<std::int32_t>{~7 ^ 14, ~-7 ^ -14}));
  EXPECT_EQ(kl::eval(!(x > 1) || (i >= 7 && x == 1)).to_host(), (std::vector<bool>{true, false}));
  EXPECT_EQ(kl::eval(1 - x / 2).to_host(), (Floats{0.5f, 0}));
  x += i;
  x *= 2;
  EXPECT_EQ(x.to_host(), (Floats{16, -10}));
}

// ------------------------------------------------------------------ views of expressions
Floats iota(int n, float first = 0) {
  Floats v(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = first + static_cast<float>(i);
  return v;
}

TEST_P(Expressions, views_of_expressions) {
  kl::Array<float> a = kl::from_host(iota(6), {2, 3}), row = kl::from_host(iota(3, 10));
  Floats transposed;
  for (int j = 0; j < 3; ++j) {
    for (int i = 0; i < 2; ++i) transposed.push_back(static_cast<float>(3 * i + j) + 10.0f + static_cast<float>(j));
  }
  const kl::Array<float> t = (a + row).t();
  EXPECT_EQ(t.shape(), (kl::Shape{3, 2}));
  EXPECT_EQ(t.to_host(), transposed);
  EXPECT_EQ(kl::eval((a * 2)(1, kl::range(kl::none, kl::none, -2))).to_host(), (Floats{10, 6}));
  EXPECT_EQ(kl::eval((a + row).flip(1)(0)).to_host(), (Floats{14, 12, 10}));
  EXPECT_EQ(kl::eval((a - 1).reshape({6})).to_host(), iota(6, -1));
  EXPECT_EQ(kl::eval((row + 1).unsqueeze(0).broadcast_to({2, 3})).to_host(), (Floats{11, 12, 13, 11, 12, 13}));
  EXPECT_EQ((a + row).shape(), (kl::Shape{2, 3}));
}

TEST_P(Expressions, index_is_the_coordinate_in_the_expression_it_was_taken_of) {
  kl::Array<float> a = kl::zeros<float>({2, 3});
  EXPECT_EQ(kl::eval(a + kl::index(a, 0) * 10 + kl::index(a, -1)).to_host(),
            (std::vector<double>{0, 1, 2, 10, 11, 12}));
  const auto e = kl::index(a, 1) + 0 * kl::cast<std::int64_t>(a);
  EXPECT_EQ(kl::eval(e(0, kl::range(kl::none, kl::none, -1))).to_host(), (std::vector<std::int64_t>{2, 1, 0}));
  EXPECT_THROW(kl::index(a, 2), kl::ShapeError);
}

// ------------------------------------------------------------------ let, several outputs
TEST_P(Expressions, let_keeps_types_small_and_values_right) {
  kl::Array<float> x = kl::from_host(Floats{1, 2, 0.5f});
  auto e = kl::let(x * 0.5f);
  for (int i = 0; i < 30; ++i) e = kl::let(e * 0.5f + e * 0.25f + x);  // 2^30 paths if it were expanded
  Floats expected(3);
  for (int k = 0; k < 3; ++k) {
    const float start = x.to_host()[static_cast<std::size_t>(k)];
    double v = 0.5 * start;
    for (int i = 0; i < 30; ++i) v = 0.75 * v + start;
    expected[static_cast<std::size_t>(k)] = static_cast<float>(v);
  }
  const Floats got = kl::eval(e).to_host();
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(got[k], expected[k], 1e-5);
  const auto shared = kl::let(x + 1);
  EXPECT_EQ(kl::eval((shared * shared)(kl::range(kl::none, kl::none, -1))).to_host(), (Floats{2.25f, 9, 4}));
}

TEST_P(Expressions, let_of_the_same_type_and_another_structure_is_another_kernel) {
  kl::Array<float> x = kl::from_host(Floats{3});
  const auto twice = [](const auto& e) { return kl::eval(e * e).to_host()[0]; };
  EXPECT_EQ(twice(kl::let(x + 1)), 16);
  EXPECT_EQ(twice(kl::let(x - 1)), 4);
  const auto a = kl::let(x + 1), b = kl::let(x + 2);
  const auto product = [](const auto& l, const auto& r) { return kl::eval(l * r).to_host()[0]; };
  EXPECT_EQ(product(a, a), 16);
  EXPECT_EQ(product(a, b), 20);
  EXPECT_EQ(product(b, a), 20);
}

TEST_P(Expressions, a_deep_chain_of_lets_needs_no_stack) {
  kl::Array<float> x = kl::from_host(Floats{1});
  auto e = kl::let(x + 1);
  for (int i = 0; i < 200000; ++i) e = kl::let(e + x);
  EXPECT_EQ(e.shape(), (kl::Shape{1}));
}

TEST_P(Expressions, several_outputs) {
  kl::Array<float> x = kl::from_host(Floats{1, 2, 3}), s, q({3});
  kl::eval(kl::tie(s, q), x + 1, x * x);
  EXPECT_EQ(s.to_host(), (Floats{2, 3, 4}));
  EXPECT_EQ(q.to_host(), (Floats{1, 4, 9}));
  auto [half, whole] = kl::eval(x / 2, kl::cast<std::int32_t>(x));
  static_assert(std::is_same_v<decltype(whole), kl::Array<std::int32_t>>);
  EXPECT_EQ(half.to_host(), (Floats{0.5f, 1, 1.5f}));
  EXPECT_EQ(whole.to_host(), (std::vector<std::int32_t>{1, 2, 3}));
  kl::eval(kl::tie(s, x), x - s, s + x);  // reads both before writing either
  EXPECT_EQ(s.to_host(), (Floats{-1, -1, -1}));
  EXPECT_EQ(x.to_host(), (Floats{3, 5, 7}));
}

// ------------------------------------------------------------------ assignment
TEST_P(Expressions, arrays_are_values_and_views_refer) {
  kl::Array<float> a = kl::from_host(Floats{1, 2, 3, 4});
  kl::Array<float> copy = a;
  kl::View<float> middle = a(kl::range(1, -1));
  middle = 7;
  EXPECT_EQ(a.to_host(), (Floats{1, 7, 7, 4}));
  EXPECT_EQ(copy.to_host(), (Floats{1, 2, 3, 4}));
  const float* data = a.data();
  kl::Array<float> moved = std::move(a);
  EXPECT_EQ(moved.data(), data);
  moved = kl::Array<float>();
  EXPECT_EQ(middle.to_host(), (Floats{7, 7})) << "a view keeps the storage alive";
  copy(kl::range(0, 2)) = copy(kl::range(2, 4));
  EXPECT_EQ(copy.to_host(), (Floats{3, 4, 3, 4}));
}

TEST_P(Expressions, assignment_resizes_arrays_and_checks_views) {
  kl::Array<float> x = kl::from_host(iota(6), {2, 3}), y;
  y = x * 2;
  EXPECT_EQ(y.shape(), (kl::Shape{2, 3}));
  y = x(0) + 1;
  EXPECT_EQ(y.to_host(), (Floats{1, 2, 3}));
  x(kl::all, kl::range(0, 2)) = x(kl::all, 2).unsqueeze(1);  // broadcast into the view
  EXPECT_EQ(x.to_host(), (Floats{2, 2, 2, 5, 5, 5}));
  EXPECT_THROW(x(0) = kl::zeros<float>({4}), kl::ShapeError);
  EXPECT_THROW(y += x, kl::ShapeError) << "an updated array keeps its shape";
  kl::Array<std::int32_t> i = kl::from_host(std::vector<float>{1.9f, -2.9f});
  EXPECT_EQ(i.to_host(), (std::vector<std::int32_t>{1, -2})) << "conversion truncates as in C++";
  x = 0.5;
  EXPECT_EQ(x.to_host(), Floats(6, 0.5f));
}

/// Case B03: the right side behaves as if it were complete before the first element is written.
TEST_P(Expressions, overlapping_operands) {
  kl::Array<float> a = kl::from_host(Floats{10, 11, 12, 13, 14, 13, 12, 11});
  a(kl::range(1, kl::none)) /= a(kl::range(kl::none, -1));
  const std::vector<double> expected = {10, 1.1, 1.0909091, 1.0833333, 1.0769231, 0.92857143, 0.92307692, 0.91666667};
  const Floats got = a.to_host();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6);
  kl::Array<float> h = kl::from_host(iota(64 * 64), {64, 64});
  h += h.t();
  const Floats symmetric = h.to_host();
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < 64; ++j) EXPECT_EQ(symmetric[64 * i + j], static_cast<float>(65 * (i + j)));
  }
  kl::Array<float> r = kl::from_host(iota(5));
  r = r(kl::range(kl::none, kl::none, -1)) + 1;
  EXPECT_EQ(r.to_host(), (Floats{5, 4, 3, 2, 1}));
}

TEST_P(Expressions, empty_and_single) {
  kl::Array<float> none = kl::zeros<float>({3, 0, 4});
  EXPECT_EQ(kl::eval(none + 1).shape(), (kl::Shape{3, 0, 4}));
  EXPECT_TRUE(kl::eval(none * none).to_host().empty());
  kl::Array<float> single(kl::Shape{});
  single = 4;
  EXPECT_EQ((single * single + 1).item(), 17.0f);
  EXPECT_EQ(single.ndim(), 0);
  EXPECT_THROW(none.item(), kl::ShapeError);
  kl::Array<float> unset;
  EXPECT_THROW(kl::eval(unset + 1), kl::ShapeError);
}

TEST_P(Expressions, shape_errors_name_both_shapes_and_the_line) {
  kl::Array<float> a({2, 3}), b({4});
  const std::string text = message_of([&] { kl::eval(a + b); });
  for (const char* part : {"(2, 3)", "(4,)", "expressions_test.cpp"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

// ------------------------------------------------------------------ making arrays
TEST_P(Expressions, filled_and_counted_arrays) {
  EXPECT_EQ(kl::arange<int>(0, 10, 3).to_host(), (std::vector<int>{0, 3, 6, 9}));
  EXPECT_EQ(kl::arange<int>(5, 0, -2).to_host(), (std::vector<int>{5, 3, 1}));
  EXPECT_EQ(kl::arange<float>(0, 1, 0.25f).to_host(), (Floats{0, 0.25f, 0.5f, 0.75f}));
  EXPECT_TRUE(kl::arange<int>(3, 3).to_host().empty());
  EXPECT_EQ(kl::linspace(0.f, 1.f, 5).to_host(), (Floats{0, 0.25f, 0.5f, 0.75f, 1}));
  EXPECT_EQ(kl::linspace(0.1, 0.7, 7).to_host().back(), 0.7) << "the end is exact";
  EXPECT_EQ(kl::eye<int>(2).to_host(), (std::vector<int>{1, 0, 0, 1}));
  EXPECT_EQ(kl::full({2}, 3.0f).to_host(), (Floats{3, 3}));
  EXPECT_EQ(kl::ones<std::int16_t>({2}).to_host(), (std::vector<std::int16_t>{1, 1}));
  EXPECT_THROW(kl::from_host(Floats{1, 2, 3}, {2, 2}), kl::ShapeError);
}

TEST_P(Expressions, random_arrays_depend_on_seed_and_position_alone) {
  const std::size_t n = 100000;
  const Floats u = kl::random::uniform<float>({n}, 42).to_host();
  double mean = 0;
  for (const float v : u) {
    ASSERT_TRUE(v >= 0 && v < 1);
    mean += v / static_cast<double>(n);
  }
  EXPECT_NEAR(mean, 0.5, 0.005);  // 5 sigma of the mean is 0.0046
  EXPECT_EQ(kl::random::uniform<float>({10, n / 10}, 42).to_host(), u) << "the shape plays no part";
  EXPECT_NE(kl::random::uniform<float>({n}, 43).to_host(), u);
  double sum = 0, squares = 0;
  for (const float v : kl::random::normal<float>({n}, 7).to_host()) sum += v, squares += static_cast<double>(v) * v;
  EXPECT_NEAR(sum / n, 0, 0.016);       // 5 / sqrt(n)
  EXPECT_NEAR(squares / n, 1, 0.0224);  // 5 * sqrt(2 / n)
}

}  // namespace
