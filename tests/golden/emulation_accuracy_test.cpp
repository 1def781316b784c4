// tests/golden/emulation_accuracy_test.cpp -- library functions hold their bounds under approximate device functions.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/golden/emulation_run.h"

namespace kiln::emulation {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wshadow"
namespace activations {
#include "tests/golden/activations_f32.cu"
}
namespace prices_f32 {
#include "tests/golden/prices_f32.cu"
}
namespace prices_f64 {
#define kiln_flat_sub_mul_where_lt kiln_flat_sub_mul_where_lt_f64  // C names would clash
#include "tests/golden/prices_f64.cu"
#undef kiln_flat_sub_mul_where_lt
}  // namespace prices_f64
#pragma GCC diagnostic pop
}  // namespace kiln::emulation

namespace kiln::golden {
namespace {

/// The distance of `got` from `want` in units in the last place of the float nearest to `unit_of`.
double ulps(float got, long double want, long double unit_of) {
  const int exponent = std::max(std::ilogb(static_cast<float>(unit_of)), -126);
  return static_cast<double>(std::fabs(got - want) / std::ldexp(1.0L, exponent - 23));
}

// Rule: the bounds of tests/device/unary_float_test.cpp hold with approximations that are off by 1 ulp (expf and
// rcp.approx) or 2 ulp (ex2.approx) on either side of the rounded value.
TEST(Emulation, ActivationsHoldTheirBoundsUnderApproximateFunctions) {
  constexpr std::size_t count = 1 << 15;
  const Case test = resized("activations_f32", {count});
  Buffer<float> x(count), sigmoid(count), silu(count), gelu(count), by_tanh(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto step = static_cast<double>(i / 2);  // magnitudes from 2^-30 to 2^6.6
    x[i] = static_cast<float>((i % 2 ? -1 : 1) * std::exp2(step * (36.6 / (count / 2)) - 30));
  }
  double worst[4] = {};
  for (int setting = 0; setting < 9; ++setting) {
    emulation::errors = {setting % 3 - 1, setting / 3 - 1};
    run(test, emulation::activations::kiln_flat_mul_tanh_add_erf,
        {{x.data, sigmoid.data, silu.data, gelu.data, by_tanh.data}, {{1}, {1}, {1}, {1}, {1}}});
    for (std::size_t i = 0; i < count; ++i) {
      const long double v = x[i], s = 1 / (1 + std::exp(-v));
      const long double u = std::sqrt(2 / 3.14159265358979323846L) * (v + 0.044715L * v * v * v);
      worst[0] = std::max(worst[0], ulps(sigmoid[i], s, s));
      if (s > 0x1p-120L) worst[1] = std::max(worst[1], ulps(silu[i], v * s, v * s));
      worst[2] = std::max(worst[2], ulps(gelu[i], v / 2 * std::erfc(-v * std::sqrt(0.5L)), v / 2));
      worst[3] = std::max(worst[3], ulps(by_tanh[i], v / 2 * (1 + std::tanh(u)), v / 2));
    }
  }
  emulation::errors = {};
  EXPECT_LE(worst[0], 4) << "sigmoid";
  EXPECT_LE(worst[1], 5) << "silu";
  EXPECT_LE(worst[2], 6) << "gelu";
  EXPECT_LE(worst[3], 8) << "gelu_tanh";
}

// Rule: the accuracy stated in the prelude, with the host's exp2f in place of the device's (which adds 2 ulp of
// erfc(|x|)).
TEST(Emulation, OnePlusErfHoldsItsBound) {
  for (int i = -400000; i <= 400000; ++i) {
    const float x = static_cast<float>(i) * 3e-5f;
    ASSERT_NEAR(emulation::activations::one_plus_erf(x), std::erfc(-static_cast<double>(x)), 1.2e-7) << x;
  }
  EXPECT_EQ(emulation::activations::one_plus_erf(INFINITY), 2.0f);
  EXPECT_EQ(emulation::activations::one_plus_erf(-INFINITY), 0.0f);
  EXPECT_TRUE(std::isnan(emulation::activations::one_plus_erf(NAN)));
}

// Rule: the accuracy stated in the prelude, down to the smallest subnormal, less the 2 ulp that the device's exp2f
// adds.
TEST(Emulation, TailOfTheErrorFunctionHoldsItsBound) {
  double worst = 0, worst_f64 = 0;
  for (int error = -1; error <= 1; ++error) {
    emulation::errors = {0, error};
    for (int i = 0; i <= 200000; ++i) {
      const float x = i < 100000 ? static_cast<float>(i) * 1.02e-4f : std::exp2(static_cast<float>(i - 195000) * 1e-3f);
      const long double want = std::erfc(static_cast<long double>(x));
      worst = std::max(worst, ulps(emulation::prices_f32::erfc_of_magnitude(x), want, want));
    }
  }
  emulation::errors = {};
  for (int i = 0; i <= 200000; ++i) {
    const double x = i < 100000 ? i * 2.73e-4 : std::exp2((i - 196000) * 1e-3);
    const long double want = std::erfc(static_cast<long double>(x));
    const int exponent = std::max(std::ilogb(static_cast<double>(want)), -1022);
    const long double difference = std::fabs(emulation::prices_f64::erfc_of_magnitude(x) - want);
    worst_f64 = std::max(worst_f64, static_cast<double>(difference / std::ldexp(1.0L, exponent - 52)));
  }
  EXPECT_LE(worst, 5);
  EXPECT_LE(worst_f64, 5);
  EXPECT_EQ(emulation::prices_f32::erfc_of_magnitude(0.0f), 1.0f);
  EXPECT_EQ(emulation::prices_f32::erfc_of_magnitude(INFINITY), 0.0f);
  EXPECT_TRUE(std::isnan(emulation::prices_f32::erfc_of_magnitude(NAN)));
  EXPECT_EQ(emulation::prices_f64::erfc_of_magnitude(0.0), 1.0);
  EXPECT_EQ(emulation::prices_f64::erfc_of_magnitude(static_cast<double>(INFINITY)), 0.0);
  EXPECT_TRUE(std::isnan(emulation::prices_f64::erfc_of_magnitude(static_cast<double>(NAN))));
}

}  // namespace
}  // namespace kiln::golden
