// tests/device/cases_constants_test.cpp -- constants that compare equal and have other bits, at one place of the
// program: none may run the kernel of another (cases A09, C07).
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/support/devices.h"

namespace {

class Constants : public OnEachDevice {};
KILN_ON_EACH_DEVICE(Constants);

constexpr float inf = std::numeric_limits<float>::infinity();

/// NaNs that differ in sign or payload; all quiet, which loads, selects and stores keep on every device.
constexpr std::uint32_t nans[] = {0x7fc00000u, 0xffc00000u, 0x7fc00001u, 0xffc12345u, 0x7fc12345u, 0x7fffffffu};
constexpr std::uint64_t wide_nans[] = {0x7ff8000000000000u, 0xfff8000000000000u, 0x7ff8000000000001u,
                                       0xfff8000012345678u};
constexpr std::uint16_t half_nans[] = {0x7e00u, 0xfe00u, 0x7e01u, 0xfe55u};

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }
std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

// Rule of all tests here: literals keep their bits, +0/-0 and NaN payloads too (semantics). The expression stands once
// in the source and its baked value changes; later rounds find the kernels of the first, and must find the right ones.
TEST_P(Constants, zeroes_of_one_expression_keep_their_sign) {
  const kl::Array<float> x = kl::from_host(std::vector<float>{1, -1, 2}), z = kl::full({3}, -0.0f);
  const kl::Array<float> ones = kl::ones<float>({5});
  for (int round = 0; round < 3; ++round) {
    for (const float v : {0.0f, -0.0f}) {
      const float limit = std::copysign(inf, v);
      EXPECT_EQ(kl::eval(x / kl::lit(v)).to_host(), (std::vector<float>{limit, -limit, limit})) << round << ' ' << v;
      for (const float sum : kl::eval(z + kl::lit(v)).to_host()) EXPECT_EQ(bits(sum), bits(v)) << round;
      EXPECT_EQ(kl::sum(ones / kl::lit(v)).item(), limit) << round << ' ' << v;
      EXPECT_EQ(kl::eval(kl::cumsum(ones / kl::lit(v))).to_host(), std::vector<float>(5, limit)) << round;
      kl::Array<float> y = kl::ones<float>({4});
      y /= kl::lit(v);
      EXPECT_EQ(y.to_host(), std::vector<float>(4, limit)) << round << ' ' << v;
      const double d = static_cast<double>(v);
      const kl::Array<double> wide = kl::ones<double>({2});
      EXPECT_EQ(kl::eval(wide / kl::lit(d)).to_host(), std::vector<double>(2, static_cast<double>(limit))) << round;
      const kl::Array<kl::half> h = kl::ones<kl::half>({2});
      for (const kl::half got : kl::eval(h / kl::lit(kl::half(v))).to_host())
        EXPECT_EQ(static_cast<float>(got), limit) << round << ' ' << v;
      const kl::Array<kl::bfloat16> b = kl::ones<kl::bfloat16>({2});
      for (const kl::bfloat16 got : kl::eval(b / kl::lit(kl::bfloat16(v))).to_host())
        EXPECT_EQ(static_cast<float>(got), limit) << round << ' ' << v;
      const kl::Array<std::complex<float>> c = kl::full({2}, std::complex<float>(-0.0f, -0.0f));
      const auto sums = kl::eval(c + kl::lit(std::complex<float>(-0.0f, v))).to_host();
      EXPECT_TRUE(std::signbit(sums[0].real())) << round;
      EXPECT_EQ(std::signbit(sums[0].imag()), std::signbit(v)) << round << ": the imaginary part";
    }
  }
}

TEST_P(Constants, zeroes_of_one_compiled_function_keep_their_sign) {
  const kl::Array<float> x = kl::from_host(std::vector<float>{1, -1});
  const auto divide = kl::jit([](auto v, kl::Const<float> by) { return v / by; });
  const auto divide_literal = kl::jit([](auto v, auto by) { return v / by; });
  const auto inner = kl::jit([](auto v, kl::Const<double> by) { return kl::sum(v / kl::lit(static_cast<float>(by))); });
  const auto make = [](float by) { return kl::jit([by](auto v) { return v / kl::lit(by); }); };
  const auto positive = make(0.0f), negative = make(-0.0f);
  const kl::Array<float> ones = kl::ones<float>({3});
  for (int round = 0; round < 3; ++round) {
    for (const float v : {0.0f, -0.0f}) {
      const float limit = std::copysign(inf, v);
      const std::vector<float> want{limit, -limit};
      EXPECT_EQ(divide(x, v).to_host(), want) << "kl::Const, round " << round;
      EXPECT_EQ(divide_literal(x, kl::lit(v)).to_host(), want) << "kl::lit as an argument, round " << round;
      EXPECT_EQ(inner(ones, static_cast<double>(v)).item(), limit) << "a constant made of one, round " << round;
      EXPECT_EQ((std::signbit(v) ? negative : positive)(x).to_host(), want) << "a capture, round " << round;
    }
  }
}

TEST_P(Constants, run_time_zeroes_keep_their_sign) {
  const kl::Array<float> x = kl::from_host(std::vector<float>{1, -1});
  for (int round = 0; round < 2; ++round) {
    for (const float v : {0.0f, -0.0f}) {
      const float limit = std::copysign(inf, v);
      EXPECT_EQ(kl::eval(x / v).to_host(), (std::vector<float>{limit, -limit})) << round << ' ' << v;
      EXPECT_EQ(kl::eval(x / kl::scalar<float>(v)).to_host(), (std::vector<float>{limit, -limit})) << round;
      EXPECT_EQ(bits(kl::full({3}, v).to_host()[2]), bits(v)) << round;
    }
  }
}

TEST_P(Constants, nans_of_one_expression_keep_sign_and_payload) {
  const kl::Array<float> x = kl::from_host(std::vector<float>{1, -1});
  const kl::Array<double> wide = kl::from_host(std::vector<double>{1, -1});
  const kl::Array<kl::half> h = kl::from_host(std::vector<kl::half>{kl::half(1.0f), kl::half(-1.0f)});
  const auto choose = kl::jit([](auto v, kl::Const<float> other) { return kl::where(v > 0, other, v); });
  for (int round = 0; round < 2; ++round) {
    for (const std::uint32_t pattern : nans) {
      const float nan = std::bit_cast<float>(pattern);
      const std::vector<float> got = kl::eval(kl::where(x > 0, kl::lit(nan), x)).to_host();
      EXPECT_EQ(bits(got[0]), pattern) << "round " << round;
      EXPECT_EQ(got[1], -1.0f);
      EXPECT_EQ(bits(choose(x, nan).to_host()[0]), pattern) << "kl::Const, round " << round;
      EXPECT_EQ(bits(kl::eval(kl::where(x > 0, nan, x)).to_host()[0]), pattern) << "run time, round " << round;
    }
    for (const std::uint64_t pattern : wide_nans) {
      const std::vector<double> got =
          kl::eval(kl::where(wide > 0, kl::lit(std::bit_cast<double>(pattern)), wide)).to_host();
      EXPECT_EQ(bits(got[0]), pattern) << "round " << round;
    }
    for (const std::uint16_t pattern : half_nans) {
      kl::half nan;
      nan.bits = pattern;
      const std::vector<kl::half> got = kl::eval(kl::where(h > 0, kl::lit(nan), h)).to_host();
      EXPECT_TRUE(std::isnan(static_cast<float>(got[0])));
      // Computed in f32, whose conversion to f16 need keep neither sign nor payload of a NaN.
      EXPECT_EQ(static_cast<float>(got[1]), -1.0f) << round;
    }
  }
}

}  // namespace
