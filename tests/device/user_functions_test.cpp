// tests/device/user_functions_test.cpp -- kl::function: text and host versions agree with plain C++ in every place.
#include <cmath>
#include <complex>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/devices.h"

namespace {

class UserFunctions : public OnEachDevice {};
KILN_ON_EACH_DEVICE(UserFunctions);

using Floats = std::vector<float>;

float smoothstep(float a, float b, float x) {
  const float t = std::fmin(std::fmax((x - a) / (b - a), 0.0f), 1.0f);
  return t * t * (3.0f - 2.0f * t);
}

/// Multiples of 1/64, so that devices which contract products into sums give the same bits.
Floats ramp(std::size_t count) {
  Floats values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 128) / 64.0f - 0.5f;
  return values;
}

auto smooth() {
  return kl::function<float(float, float, float)>(
      "smooth", {"a", "b", "x"},
      "float t = fminf(fmaxf((x - a) / (b - a), 0.f), 1.f);\nreturn t * t * (3.f - 2.f * t);", smoothstep);
}

TEST_P(UserFunctions, computes_each_element_whatever_the_length) {
  const auto f = smooth();
  for (const std::size_t n : {1u, 7u, 64u, 1000u, 70001u}) {
    const Floats values = ramp(n);
    kl::Array<float> x = kl::from_host(values), y = f(0.0f, 1.0f, x);
    const Floats got = y.to_host();
    for (std::size_t i = 0; i < n; ++i) ASSERT_FLOAT_EQ(got[i], smoothstep(0, 1, values[i])) << i << " of " << n;
  }
}

TEST_P(UserFunctions, fuses_with_what_surrounds_it) {
  const auto f = smooth();
  const Floats values = ramp(300);
  kl::Array<float> x = kl::from_host(values);
  const auto info = kl::inspect(2.0f * f(0.25f, 1.0f, x * x) + x);
  EXPECT_EQ(info.kernels.size(), 1u);
  kl::Array<float> y = 2.0f * f(0.25f, 1.0f, x * x) + x;
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_FLOAT_EQ(y.to_host()[i], 2.0f * smoothstep(0.25f, 1.0f, values[i] * values[i]) + values[i]);
}

TEST_P(UserFunctions, broadcasts_and_reads_any_layout) {
  const auto f = smooth();
  const Floats values = ramp(35);
  kl::Array<float> x = kl::from_host(values, {5, 7}),
                   low = kl::from_host(Floats{-0.5f, -0.25f, 0, 0.25f, 0.5f}, {5, 1});
  kl::Array<float> y = f(low, 1.0f, x.t().t()), z = f(low.reshape({5}), 1.0f, x.t());
  ASSERT_EQ(y.shape(), (kl::Shape{5, 7}));
  ASSERT_EQ(z.shape(), (kl::Shape{7, 5}));
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 7; ++j) {
      const float want = smoothstep(-0.5f + 0.25f * static_cast<float>(i), 1, values[i * 7 + j]);
      EXPECT_FLOAT_EQ(y.to_host()[i * 7 + j], want);
      EXPECT_FLOAT_EQ(z.to_host()[j * 5 + i], want);
    }
  }
  try {
    kl::eval(f(low, x(0, kl::range(0, 3)), x));
    FAIL() << "(3) does not broadcast with (5, 7)";
  } catch (const kl::ShapeError& error) {
    EXPECT_NE(std::string(error.what()).find("smooth: operands of shapes"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("user_functions_test.cpp"), std::string::npos) << error.what();
  }
}

TEST_P(UserFunctions, numbers_are_run_time_parameters_of_the_parameter_type) {
  const auto f = smooth();
  const Floats values = ramp(40);
  kl::Array<float> x = kl::from_host(values);
  const auto g = kl::jit([f](auto v, auto a) { return f(a, 1, v) - f(a, 1, v); });
  const auto h = kl::jit([f](auto v, auto a) { return f(a, 1, v); });
  for (const double a : {-1.0, 0.0, 0.5}) {
    for (const float got : g(x, a).to_host()) EXPECT_EQ(got, 0.0f);
    const Floats got = h(x, a).to_host();
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_FLOAT_EQ(got[i], smoothstep(static_cast<float>(a), 1, values[i]));
  }
}

TEST_P(UserFunctions, takes_part_in_reductions_before_and_after) {
  const auto f = smooth();
  const Floats values = ramp(6 * 50);
  kl::Array<float> x = kl::from_host(values, {6, 50});
  kl::Array<float> rows = kl::sum(f(0.0f, 1.0f, x), -1), columns = kl::sum(f(0.0f, 1.0f, x), 0);
  kl::Array<float> after = f(-20.0f, 60.0f, kl::sum(x, 1));
  kl::Array<float> back = f(0.0f, 1.0f, x - kl::max(x, -1, kl::keepdims));
  for (std::size_t i = 0; i < 6; ++i) {
    double sum = 0, plain = 0;
    float top = -10;
    for (std::size_t j = 0; j < 50; ++j) {
      sum += static_cast<double>(smoothstep(0, 1, values[i * 50 + j]));
      plain += static_cast<double>(values[i * 50 + j]);
      top = std::fmax(top, values[i * 50 + j]);
    }
    EXPECT_NEAR(rows.to_host()[i], sum, 1e-4);
    EXPECT_FLOAT_EQ(after.to_host()[i], smoothstep(-20, 60, static_cast<float>(plain)));
    for (std::size_t j = 0; j < 50; ++j)
      EXPECT_FLOAT_EQ(back.to_host()[i * 50 + j], smoothstep(0, 1, values[i * 50 + j] - top));
  }
  for (std::size_t j = 0; j < 50; ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < 6; ++i) sum += static_cast<double>(smoothstep(0, 1, values[i * 50 + j]));
    EXPECT_NEAR(columns.to_host()[j], sum, 1e-4);
  }
}

TEST_P(UserFunctions, integers_keep_their_width_and_tails_divide_by_nothing) {
  const auto quotient = kl::function<std::int32_t(std::int32_t, std::int32_t)>(
      "quotient", {"a", "b"}, "a / b", [](std::int32_t a, std::int32_t b) { return a / b; });
  std::vector<std::int32_t> a(37), b(37);
  for (int i = 0; i < 37; ++i) a[static_cast<std::size_t>(i)] = 1000 - 77 * i, b[static_cast<std::size_t>(i)] = i + 1;
  kl::Array<std::int32_t> x = kl::from_host(a), y = kl::from_host(b), q = quotient(x, y);
  for (std::size_t i = 0; i < 37; ++i) EXPECT_EQ(q.to_host()[i], a[i] / b[i]);
  kl::Array<std::int64_t> sums = kl::sum(quotient(x, y));
  std::int64_t want = 0;
  for (std::size_t i = 0; i < 37; ++i) want += a[i] / b[i];
  EXPECT_EQ(sums.item(), want);
  const auto wide = kl::function<std::uint8_t(std::int64_t, bool)>(
      "low_byte", {"v", "flip"}, "return u8(flip ? ~v : v);",
      [](std::int64_t v, bool flip) { return static_cast<std::uint8_t>(flip ? ~v : v); });
  kl::Array<std::int64_t> w = kl::from_host(std::vector<std::int64_t>{-1, 1LL << 40, 259});
  kl::Array<bool> flip = kl::from_host(std::vector<std::uint8_t>{0, 1, 1}).astype<bool>();
  EXPECT_EQ(kl::eval(wide(w, flip)).to_host(), (std::vector<std::uint8_t>{255, 255, 252}));
}

TEST_P(UserFunctions, bool_results_are_conditions) {
  const auto inside = kl::function<bool(double, double)>("inside", {"x", "y"}, "return x * x + y * y < 1.0;",
                                                         [](double x, double y) { return x * x + y * y < 1.0; });
  kl::Array<double> x = kl::from_host(std::vector<double>{0, 0.5, 0.9, 1.5}),
                    y = kl::from_host(std::vector<double>{0, 0.5, 0.9, 0});
  EXPECT_EQ(kl::eval(kl::where(inside(x, y), x, -1)).to_host(), (std::vector<double>{0, 0.5, -1, -1}));
}

TEST_P(UserFunctions, half_and_bfloat16_are_float_inside_and_round_where_stored) {
  const auto f = kl::function<kl::half(kl::half, kl::bfloat16)>("scaled", {"a", "b"}, "return a * b + 0.125f;",
                                                                [](float a, float b) { return a * b + 0.125f; });
  kl::Array<kl::half> a = kl::from_host(Floats{1.5f, 1000, 3}).astype<kl::half>();
  kl::Array<kl::bfloat16> b = kl::from_host(Floats{0.25f, 100, 0.0078125f}).astype<kl::bfloat16>();
  kl::Array<kl::half> stored = f(a, b);
  kl::Array<float> unrounded = f(a, b) / 1000;  // 100000.125 is beyond f16, and is rounded to it nowhere
  EXPECT_EQ(float(stored.to_host()[0]), 0.5f);
  EXPECT_TRUE(std::isinf(float(stored.to_host()[1])));
  EXPECT_EQ(float(stored.to_host()[2]), float(kl::half(3 * 0.0078125f + 0.125f)));
  EXPECT_FLOAT_EQ(unrounded.to_host()[1], 100.000125f);
}

TEST_P(UserFunctions, complex_values_are_pairs) {
  using C = std::complex<float>;
  const auto f = kl::function<std::complex<float>(std::complex<float>, float)>(
      "turned", {"z", "s"}, "return make_float2(-z.y * s, z.x * s);",
      [](C z, float s) { return C(-z.imag() * s, z.real() * s); });
  std::vector<C> values;
  for (int i = 0; i < 19; ++i) values.emplace_back(static_cast<float>(i), static_cast<float>(2 * i - 7));
  kl::Array<C> z = kl::from_host(values), y = f(z + 1.0f, 2.0f) * 1.0f, direct = f(z, 1.0f);
  kl::Array<float> back = kl::real(f(z, 1.0f));
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(y.to_host()[i], (values[i] + 1.0f) * C(0, 2)) << i;
    EXPECT_EQ(direct.to_host()[i], values[i] * C(0, 1)) << i;
    EXPECT_EQ(back.to_host()[i], -values[i].imag()) << i;
  }
  kl::Array<C> total = kl::sum(f(z, 1.0f));
  EXPECT_EQ(total.item(), C(-(19 * 18 - 7 * 19), 19 * 9));
}

TEST_P(UserFunctions, functions_of_one_name_stay_apart_in_one_kernel) {
  const auto make = [](const char* text, float (*host)(float)) {
    return kl::function<float(float)>("f", {"x"}, text, host);
  };
  const auto add = make("x + k()", [](float x) { return x + 1; }).preamble("__device__ float k() { return 1.f; }");
  const auto times = make("x * k()", [](float x) { return x * 3; }).preamble("__device__ float k() { return 3.f; }");
  kl::Array<float> x = kl::from_host(Floats{1, 2, 4});
  EXPECT_EQ(kl::eval(add(x) - times(x)).to_host(), (Floats{-1, -3, -7}));
  EXPECT_EQ(kl::inspect(add(x) - times(x)).kernels.size(), 1u);
}

TEST_P(UserFunctions, host_versions_have_state_that_lives_as_long_as_it_is_needed) {
  if (on_gpu()) GTEST_SKIP() << "host versions run on the CPU device";
  kl::Array<float> x = kl::from_host(Floats{1, 2, 3}), y;
  std::weak_ptr<float> alive;
  {
    const auto make = [&](float step) {
      auto state = std::make_shared<float>(step);
      alive = state;
      return kl::function<float(float)>("step", {"x"}, "return x;", [state](float v) { return v + *state; });
    };
    const auto expression = make(10)(x);
    y = expression;
    EXPECT_EQ(y.to_host(), (Floats{11, 12, 13})) << "the function object is gone, its state is not";
    y = make(20)(x);
    EXPECT_EQ(y.to_host(), (Floats{21, 22, 23})) << "the same text with another state is another function";
  }
}

TEST_P(UserFunctions, without_a_host_version_the_cpu_says_what_to_give) {
  const auto f = kl::function<float(float)>("twice", {"x"}, "2.f * x");
  kl::Array<float> x = kl::from_host(Floats{1, 2, 3});
  if (on_gpu()) {
    EXPECT_EQ(kl::eval(f(x)).to_host(), (Floats{2, 4, 6}));
    return;
  }
  try {
    kl::eval(f(x));
    FAIL() << "there is no host version";
  } catch (const kl::TypeError& error) {
    EXPECT_NE(std::string(error.what()).find("twice (user_functions_test.cpp"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("give kl::function a host version"), std::string::npos) << error.what();
  }
}

// The rule of docs/cookbook.md: the CPU device runs the host version and never reads the text.
TEST_P(UserFunctions, the_text_is_compiled_for_gpus_only) {
  const auto f = kl::function<float(float)>("undeclared", {"x"}, "x + missing", [](float v) { return v + 1; });
  kl::Array<float> x = kl::from_host(Floats{1, 2, 3});
  const auto expect_fault = [](auto use) {
    try {
      use();
      ADD_FAILURE() << "the text does not compile";
    } catch (const kl::CompileError& error) {
      EXPECT_NE(std::string(error.what()).find("undeclared(1): error"), std::string::npos) << error.what();
    } catch (const kl::DeviceError& error) {
      EXPECT_NE(std::string(error.what()).find("NVRTC"), std::string::npos) << error.what();
    }
  };
  if (on_gpu()) {
    expect_fault([&] { kl::eval(f(x)); });
  } else {
    EXPECT_EQ(kl::eval(f(x)).to_host(), (Floats{2, 3, 4}));
  }
  expect_fault([&] { kl::inspect(f(x), "sm_90"); });
}

TEST(UserFunctionText, faults_are_named_when_the_function_is_made) {
  const auto message = [](const char* name, const char* parameter, const char* text) -> std::string {
    try {
      kl::function<float(float, float)>(name, {"a", parameter}, text);
    } catch (const kl::TypeError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message("9f", "b", "a + b").find("\"9f\" is no name of a C++ function"), std::string::npos);
  EXPECT_NE(message("f", "b c", "a").find("\"b c\" is no name of a C++ parameter"), std::string::npos);
  EXPECT_NE(message("f", "a", "a").find("two parameters are called a"), std::string::npos);
  EXPECT_NE(message("f", "b", " \n").find("the text is empty"), std::string::npos);
  EXPECT_NE(message("f", "b", "a + b;").find("the text returns nothing"), std::string::npos);
  EXPECT_NE(message("f", "b", "").find("user_functions_test.cpp"), std::string::npos);
  EXPECT_EQ(message("f", "b", "a + b"), "");
}

}  // namespace
