// tests/device/repeat_test.cpp -- kl::repeat: loops inside kernels agree with the same loops in plain C++.
#include <kiln/random_at.h>
#include <kiln/repeat.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/devices.h"

namespace {

class Repeat : public OnEachDevice {};
KILN_ON_EACH_DEVICE(Repeat);

using Floats = std::vector<float>;
using Integers = std::vector<std::int32_t>;

Integers numbers(std::size_t count) {
  Integers values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::int32_t>(i) - 3;
  return values;
}

TEST_P(Repeat, runs_so_many_turns_as_the_number_says_without_compiling_again) {
  const auto f = kl::jit([](auto x, auto n) { return kl::repeat(n, x, [](auto s) { return 3 * s + 1; }); });
  const Integers values = numbers(1003);
  const kl::Array<std::int32_t> x = kl::from_host(values);
  for (const int n : {0, 1, 2, 7, 1000, -5}) {
    const Integers got = kl::eval(f(x, n)).to_host();
    for (std::size_t i = 0; i < values.size(); ++i) {
      auto expected = static_cast<std::uint32_t>(values[i]);
      for (int turn = 0; turn < n; ++turn) expected = 3 * expected + 1;  // wraps, as kiln's integers do
      ASSERT_EQ(static_cast<std::uint32_t>(got[i]), expected) << n << " turns of " << values[i];
    }
  }
  EXPECT_EQ(f.specializations().size(), 1u);
  EXPECT_EQ(f.inspect(x, 5).kernels.size(), 1u);
}

TEST_P(Repeat, changes_all_states_at_once) {
  const auto f = kl::jit([](auto x, auto n) {
    auto [first, second] = kl::repeat(n, std::tuple(0 * x, x), [](auto a, auto b) { return std::tuple(b, a + b); });
    return std::tuple(first, second);
  });
  const Integers values = numbers(77);
  const auto [a, b] = f(kl::from_host(values), 20);
  for (std::size_t i = 0; i < values.size(); ++i) {  // Fibonacci: 6765 and 10946
    EXPECT_EQ(a.to_host()[i], 6765 * values[i]);
    EXPECT_EQ(b.to_host()[i], 10946 * values[i]);
  }
}

TEST_P(Repeat, tells_kernels_apart_that_return_different_states) {
  const auto body = [](auto a, auto b) { return std::tuple(a + 1, b + 2); };
  const auto f = kl::jit([&](auto x) { return std::get<0>(kl::repeat(5, std::tuple(x, x), body)); });
  const auto g = kl::jit([&](auto x) { return std::get<1>(kl::repeat(5, std::tuple(x, x), body)); });
  const kl::Array<std::int32_t> x = kl::zeros<std::int32_t>({40});
  EXPECT_EQ(kl::eval(f(x)).to_host(), Integers(40, 5));
  EXPECT_EQ(kl::eval(g(x)).to_host(), Integers(40, 10));
}

TEST_P(Repeat, ends_where_the_condition_holds_and_keeps_the_states_of_then) {
  const auto f = kl::jit([](auto x, auto most) {
    auto [last, taken] = kl::repeat(most, std::tuple(x, 0), [](auto n, auto steps) {
      auto next = kl::where(n % 2 == 0, n / 2, 3 * n + 1);
      return kl::break_if(n <= 1, std::tuple(next, steps + 1));
    });
    return std::tuple(last, taken);
  });
  for (const std::size_t count : {1u, 16u, 17u, 1000u}) {
    const Integers values = numbers(count);
    const auto [last, steps] = f(kl::from_host(values), 40);
    const Integers got_last = last.to_host(), got_steps = steps.to_host();
    for (std::size_t i = 0; i < count; ++i) {
      std::int32_t n = values[i], expected = 0;
      for (; expected < 40 && n > 1; ++expected) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
      ASSERT_EQ(got_last[i], n) << values[i];
      ASSERT_EQ(got_steps[i], expected) << values[i];
    }
  }
}

TEST_P(Repeat, has_complex_states_and_captures) {
  const auto f = kl::jit([](auto c, auto most) {
    auto [last, taken] = kl::repeat(most, std::tuple(0.0f * c, 0), [&](auto z, auto turns) {
      return kl::break_if(kl::real(z) * kl::real(z) + kl::imag(z) * kl::imag(z) > 4.0f,
                          std::tuple(z * z + c, turns + 1));
    });
    return std::tuple(taken, last);
  });
  using C = std::complex<float>;
  const std::vector<C> points = {{0, 0}, {-1, 0}, {0.5f, 0},       {0.25f, 0.5f}, {2, 0},
                                 {1, 1}, {-2, 0}, {-0.75f, 0.25f}, {3, 3}};
  const auto [turns, z] = f(kl::from_host(points), 100);
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::complex<double> w = 0, c = points[i];
    int expected = 0;
    for (; expected < 100 && std::norm(w) <= 4; ++expected) w = w * w + c;
    EXPECT_EQ(turns.to_host()[i], expected) << points[i];
    if (expected < 20) {
      EXPECT_NEAR(std::abs(C(z.to_host()[i]) - C(w)), 0, 1e-4 * std::abs(w)) << points[i];
    }
  }
}

TEST_P(Repeat, computes_what_it_captures_before_the_loop) {
  const auto f = kl::jit([](auto x, auto row, auto n) {
    auto mean = kl::mean(x, -1, kl::keepdims);
    return kl::repeat(n, x, [&](auto s) { return 0.5f * (s + mean) + row; });
  });
  Floats values(6 * 40), rows(40);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 13);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i) / 8;
  const Floats got = kl::eval(f(kl::from_host(values, {6, 40}), kl::from_host(rows), 6)).to_host();
  for (std::size_t r = 0; r < 6; ++r) {
    double mean = 0;
    for (std::size_t i = 0; i < 40; ++i) mean += double(values[r * 40 + i]) / 40;
    for (std::size_t i = 0; i < 40; ++i) {
      double s = double(values[r * 40 + i]);
      for (int turn = 0; turn < 6; ++turn) s = 0.5 * (s + mean) + double(rows[i]);
      ASSERT_NEAR(double(got[r * 40 + i]), s, 1e-5 * (1 + std::fabs(s)));
    }
  }
}

TEST_P(Repeat, is_an_operand_of_reductions_in_the_same_kernel) {
  const auto newton = [](auto x) { return kl::repeat(8, 0.5f * x + 0.5f, [&](auto s) { return 0.5f * (s + x / s); }); };
  const auto f = kl::jit([&](auto x) { return kl::sum(newton(x), -1); });
  const auto g = kl::jit([&](auto x) { return newton(x) / kl::max(newton(x), -1, kl::keepdims); });
  const auto h = kl::jit([&](auto x) { return kl::sum(newton(x), 0); });
  Floats values(30 * 50);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 90 + 1);
  const kl::Array<float> x = kl::from_host(values, {30, 50});
  const Floats rows = kl::eval(f(x)).to_host(), parts = kl::eval(g(x)).to_host(), columns = kl::eval(h(x)).to_host();
  std::vector<double> column_sums(50, 0);
  for (std::size_t r = 0; r < 30; ++r) {
    double sum = 0, most = 0;
    for (std::size_t i = 0; i < 50; ++i) {
      const double root = std::sqrt(double(values[r * 50 + i]));
      sum += root, most = std::fmax(most, root), column_sums[i] += root;
    }
    EXPECT_NEAR(double(rows[r]), sum, 1e-4);
    for (std::size_t i = 0; i < 50; ++i)
      ASSERT_NEAR(double(parts[r * 50 + i]), std::sqrt(double(values[r * 50 + i])) / most, 1e-6);
  }
  for (std::size_t i = 0; i < 50; ++i) EXPECT_NEAR(double(columns[i]), column_sums[i], 1e-4);
  EXPECT_EQ(f.inspect(x).kernels.size(), 1u);
}

TEST_P(Repeat, nests) {
  const auto f = kl::jit([](auto x, auto n) {
    return kl::repeat(n, x, [&](auto s) { return kl::repeat(n, s, [&](auto t) { return t + x; }) + 1; });
  });
  const Integers got = kl::eval(f(kl::from_host(numbers(35)), 3)).to_host();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::int32_t x = numbers(35)[i];
    EXPECT_EQ(got[i], 10 * x + 3);  // three times three times x, and three times 1
  }
}

TEST_P(Repeat, computes_half_states_in_f32) {
  const auto f = kl::jit([](auto x) { return kl::repeat(4096, x, [](auto s) { return s + 1.0f / 1024; }); });
  const kl::Array<kl::half> x = kl::full({33}, kl::half(2.0f));
  const kl::Array<kl::half> y = f(x);  // rounded in f16, 2 + 1/1024 would stay 2
  for (const kl::half v : y.to_host()) EXPECT_EQ(float(v), 6.0f);
}

TEST_P(Repeat, has_states_of_every_type) {
  const auto f = kl::jit([](auto x) {
    auto [truth, small, large] = kl::repeat(5, std::tuple(x > 0, kl::cast<std::uint8_t>(x), kl::cast<double>(x)),
                                            [](auto flag, auto byte, auto wide) {
                                              return std::tuple(!flag, kl::cast<std::uint8_t>(byte + byte), wide * 0.5);
                                            });
    return std::tuple(truth, small, large);
  });
  const Integers values = {0, 1, 2, 5, 100, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 200};
  const auto [flag, byte, wide] = f(kl::from_host(values));
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(bool(flag.to_host()[i]), values[i] <= 0);
    EXPECT_EQ(int(byte.to_host()[i]), values[i] * 32 % 256);
    EXPECT_EQ(wide.to_host()[i], values[i] / 32.0);
  }
}

TEST_P(Repeat, goes_on_past_nan_and_ends_at_the_number_of_turns) {
  const auto f = kl::jit([](auto x) {
    return kl::repeat(1000, std::tuple(x, 0),
                      [](auto s, auto turns) { return kl::break_if(s > 10.0f, std::tuple(s + 1.0f, turns + 1)); });
  });
  const auto [s, turns] = f(kl::from_host(Floats{NAN, 0, 20, -1e30f}));
  EXPECT_EQ(turns.to_host(), (Integers{1000, 11, 0, 1000}));
  EXPECT_TRUE(std::isnan(s.to_host()[0]));
  EXPECT_EQ(s.to_host()[1], 11);
}

TEST_P(Repeat, draws_the_same_random_numbers_as_arrays_do) {
  const auto f = kl::jit([](auto x, auto seed) {
    auto i = kl::index(x, 0);
    auto [total, turns] = kl::repeat(3, std::tuple(0.0f * x, 0 * i), [&](auto sum, auto turn) {
      return std::tuple(sum + kl::random::uniform_at(10 * turn + i, seed), turn + 1);
    });
    return total;
  });
  const Floats got = kl::eval(f(kl::zeros<float>({10}), 7)).to_host();
  const Floats stream = kl::random::uniform<float>({30}, 7).to_host();
  for (std::size_t i = 0; i < 10; ++i) EXPECT_FLOAT_EQ(got[i], stream[i] + stream[i + 10] + stream[i + 20]);
}

/// The message of the TypeError that `call` throws.
template <class F>
std::string refusal(const F& call) {
  try {
    call();
  } catch (const kl::TypeError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST_P(Repeat, refuses_what_a_body_cannot_hold) {
  const kl::Array<float> x = kl::ones<float>({8});
  const auto text = kl::function<float(float)>("twice", {"v"}, "return 2 * v;", [](float v) { return 2 * v; });
  const auto calls = kl::jit([&](auto v) { return kl::repeat(2, v, [&](auto s) { return text(s); }); });
  EXPECT_NE(refusal([&] { calls(x); }).find("calls twice"), std::string::npos);
  const auto sums = kl::jit([](auto v) { return kl::repeat(2, v, [](auto s) { return s + kl::sum(s); }); });
  EXPECT_NE(refusal([&] { sums(x); }).find("elementwise"), std::string::npos);
  const auto shifts =
      kl::jit([](auto v) { return kl::repeat(2, v, [](auto s) { return kl::shift(s, 1, kl::wrap); }); });
  EXPECT_NE(refusal([&] { shifts(x); }).find("repeat_test.cpp"), std::string::npos);
  const auto leaks = kl::jit([](auto v) {
    auto kept = v;
    auto result = kl::repeat(2, v, [&](auto s) {
      kept = s;
      return s + 1.0f;
    });
    return result + kept;
  });
  EXPECT_NE(refusal([&] { leaks(x); }).find("outside of the body"), std::string::npos);
  const auto many = kl::jit([](auto a, auto b, auto c, auto d, auto e, auto f, auto g, auto h) {
    return kl::repeat(2, a, [&](auto s) { return s + b * s + c / s + d * s + e / s + f * s + g / s + h * s; });
  });
  EXPECT_NE(refusal([&] { many(x, x, x, x, x, x, x, x); }).find("at most 7"), std::string::npos);
  const auto turns = kl::jit([](auto v) { return kl::repeat(kl::cast<int>(v), v, [](auto s) { return s + 1.0f; }); });
  EXPECT_NE(refusal([&] { turns(x); }).find("one number"), std::string::npos);
}

}  // namespace
