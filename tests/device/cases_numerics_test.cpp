// tests/device/cases_numerics_test.cpp -- faults that users of similar systems reported, restated as inputs.
#include "tests/support/check.h"

namespace {

const float nan_f = std::numeric_limits<float>::quiet_NaN();
const float inf_f = std::numeric_limits<float>::infinity();

class NumericCases : public OnEachDevice {};

TEST_P(NumericCases, signed_zero_constants_stay_apart) {  // A09
  kl::Array<float> x = kl::from_host(std::vector<float>{1.0f});
  kl::Array<float> a, b;
  kl::eval(kl::tie(a, b), x / kl::lit(0.0f), x / kl::lit(-0.0f));
  EXPECT_EQ(a.item(), inf_f);
  EXPECT_EQ(b.item(), -inf_f);
  kl::Array<float> z = kl::from_host(std::vector<float>{-0.0f});
  kl::eval(kl::tie(a, b), z + kl::lit(0.0f), z + kl::lit(-0.0f));
  EXPECT_FALSE(std::signbit(a.item()));
  EXPECT_TRUE(std::signbit(b.item()));
}

TEST_P(NumericCases, kernels_that_differ_in_a_zero_sign_are_not_shared) {  // A09, C07
  kl::Array<float> x = kl::from_host(std::vector<float>{1.0f});
  auto positive = kl::jit([](auto v) { return v / kl::lit(0.0f); });
  auto negative = kl::jit([](auto v) { return v / kl::lit(-0.0f); });
  EXPECT_EQ(positive(x).item(), inf_f);
  EXPECT_EQ(negative(x).item(), -inf_f);
}

TEST_P(NumericCases, floats_are_not_simplified_algebraically) {  // A10
  kl::Array<float> x = kl::from_host(std::vector<float>{1, inf_f, nan_f, -2});
  for (const auto& zero :
       {kl::eval(x * kl::lit(0.0f)).to_host(), kl::eval(kl::lit(0.0f) * x).to_host(), kl::eval(x * 0.0f).to_host()}) {
    EXPECT_EQ(zero[0], 0.0f);
    EXPECT_TRUE(std::isnan(zero[1]));
    EXPECT_TRUE(std::isnan(zero[2]));
    EXPECT_TRUE(zero[3] == 0 && std::signbit(zero[3]));
  }
  const auto difference = kl::eval(x - x).to_host(), ratio = kl::eval(x / x).to_host();
  EXPECT_EQ(difference[0], 0.0f);
  EXPECT_TRUE(std::isnan(difference[1]) && std::isnan(difference[2]));
  EXPECT_EQ(difference[3], 0.0f);
  EXPECT_EQ(ratio[0], 1.0f);
  EXPECT_TRUE(std::isnan(ratio[1]) && std::isnan(ratio[2]));
  EXPECT_EQ(ratio[3], 1.0f);
  // The same value by both branches may stand for the choice, but the sum turns -0 into 0.
  kl::Array<float> zeros = kl::from_host(std::vector<float>{-0.0f, 0.0f});
  const auto kept = kl::eval(kl::where(zeros > 0, zeros, zeros)).to_host();
  const auto moved = kl::eval(kl::where(zeros > 0, zeros, zeros) + kl::lit(0.0f)).to_host();
  EXPECT_TRUE(std::signbit(kept[0]) && !std::signbit(kept[1]));
  EXPECT_FALSE(std::signbit(moved[0]) || std::signbit(moved[1]));
  kl::Array<bool> no = kl::from_host(std::vector<bool>{false, false, false, false});
  const auto masked = kl::eval(x * no).to_host();
  EXPECT_TRUE(masked[0] == 0 && std::isnan(masked[1]) && std::isnan(masked[2]) && std::signbit(masked[3]));
}

TEST_P(NumericCases, contraction_is_a_documented_switch) {  // A13: a*b - c*d with equal products
  kl::Array<float> a = kl::from_host(std::vector<float>{2396747.0f}), b = kl::from_host(std::vector<float>{7.0f});
  kl::Array<float> c = kl::from_host(std::vector<float>{2396747.0f}), d = kl::from_host(std::vector<float>{7.0f});
  const auto body = [](auto p, auto q, auto r, auto s) { return p * q - r * s; };
  auto separate = kl::jit(body, kl::Options{.contract = false});
  EXPECT_EQ(separate(a, b, c, d).item(), 0.0f) << "every operation rounds by itself";
  auto contracted = kl::jit(body);
  const float got = contracted(a, b, c, d).item();
  EXPECT_TRUE(got == 0.0f || got == 1.0f || got == -1.0f) << got;  // 7 * 2396747 = 16777229 rounds to 16777228
}

TEST_P(NumericCases, subnormals_are_kept) {  // A22
  const float least = 0x1p-149f;
  kl::Array<float> x = kl::from_host(std::vector<float>{least});
  EXPECT_FALSE(kl::eval(x == 0.0f).item());
  EXPECT_EQ(kl::eval(x * 1.0f).item(), least);
  EXPECT_EQ(kl::eval(x + x).item(), 0x1p-148f);
  EXPECT_EQ(kl::eval(x + kl::lit(0x1p-149f)).item(), 0x1p-148f) << "baked constants too";
  kl::Array<float> normal = kl::from_host(std::vector<float>{0x1p-126f});
  EXPECT_EQ(kl::eval(normal * 0.5f).item(), 0x1p-127f);
  kl::Array<double> d = kl::from_host(std::vector<double>{5e-324});
  EXPECT_FALSE(kl::eval(d == 0.0).item());
  EXPECT_EQ(kl::eval(d + d).item(), 1e-323);
}

TEST_P(NumericCases, maximum_of_nan_in_either_operand) {  // A06
  kl::Array<float> one = kl::from_host(std::vector<float>{1.0f}), nan = kl::from_host(std::vector<float>{nan_f});
  EXPECT_TRUE(std::isnan(kl::eval(kl::maximum(one, nan)).item()));
  EXPECT_TRUE(std::isnan(kl::eval(kl::maximum(nan, one)).item()));
  EXPECT_EQ(kl::eval(kl::fmax(one, nan)).item(), 1.0f);
  EXPECT_TRUE(std::isnan(kl::eval(kl::fmin(nan, nan)).item()));
}

TEST_P(NumericCases, power_special_values) {  // A16, C99 annex F
  kl::Array<double> x = kl::from_host(std::vector<double>{-1, -8, 0, 1, nan_f});
  kl::Array<double> y = kl::from_host(std::vector<double>{3, 1.0 / 3, 0, nan_f, 0});
  const auto got = kl::eval(kl::pow(x, y)).to_host();
  EXPECT_EQ(got[0], -1.0);
  EXPECT_TRUE(std::isnan(got[1]));
  EXPECT_EQ(got[2], 1.0);
  EXPECT_EQ(got[3], 1.0);
  EXPECT_EQ(got[4], 1.0);
}

TEST_P(NumericCases, rounding_is_half_to_even) {  // A25
  kl::Array<float> x =
      kl::from_host(std::vector<float>{-2.5f, -1.5f, -0.5f, 0.5f, 1.5f, 2.5f, 0.49999997f, 8388609.0f});
  const auto got = kl::eval(kl::round(x)).to_host();
  EXPECT_EQ(got, (std::vector<float>{-2, -2, -0.0f, 0, 2, 2, 0, 8388609}));
  EXPECT_TRUE(std::signbit(got[2]));
}

/// Literals reach the kernel as bits: what comes back is what went in (C01).
TEST_P(NumericCases, literals_keep_their_bits) {
  kl::Array<float> x = kl::from_host(std::vector<float>{0.0f, 1.0f});
  const std::vector<float> constants{
      0x1p-149f, std::numeric_limits<float>::max(), 0.1f, 1.0f / 3, -0.0f, 16777217.0f, inf_f, -inf_f};
  const auto echo = [&](float literal, float other) {
    return kl::eval(kl::where(x > 0.5f, kl::lit(literal), kl::lit(other))).to_host()[1];
  };
  for (const float c : constants) {
    const float got = echo(c, 1.0f);
    EXPECT_EQ(std::memcmp(&got, &c, sizeof c), 0) << c;
  }
  EXPECT_TRUE(std::isnan(echo(nan_f, 0.0f)));
  kl::Array<std::int64_t> i = kl::from_host(std::vector<std::int64_t>{0, 1});
  EXPECT_EQ(kl::eval(i * std::int64_t(0) + kl::lit(std::numeric_limits<std::int64_t>::min())).to_host()[0],
            std::numeric_limits<std::int64_t>::min());
  kl::Array<std::uint64_t> u = kl::from_host(std::vector<std::uint64_t>{0, 1});
  EXPECT_EQ(kl::eval(u * std::uint64_t(0) + kl::lit(std::numeric_limits<std::uint64_t>::max())).to_host()[0],
            std::numeric_limits<std::uint64_t>::max());
  kl::Array<double> d = kl::from_host(std::vector<double>{1.0});
  EXPECT_EQ(kl::eval(d * kl::lit(1e300)).item(), 1e300);
  kl::Array<kl::half> h = kl::from_host(std::vector<kl::half>{kl::half(1.0f)});
  EXPECT_EQ(kl::eval(h * kl::lit(kl::half(65504.0f))).item().bits, kl::half(65504.0f).bits);
  kl::Array<kl::bfloat16> b = kl::from_host(std::vector<kl::bfloat16>{kl::bfloat16(1.0f)});
  EXPECT_EQ(kl::eval(b * kl::lit(kl::bfloat16(3.39e38f))).item().bits, kl::bfloat16(3.39e38f).bits);
}

/// NaN payloads of literals survive as well (no arithmetic is done on them).
TEST_P(NumericCases, nan_payloads_survive) {
  const float payload = __builtin_bit_cast(float, 0x7fc12345u);
  kl::Array<float> x = kl::from_host(std::vector<float>{1.0f});
  const float got = kl::eval(kl::where(x > 0.0f, kl::lit(payload), x)).item();
  EXPECT_EQ(__builtin_bit_cast(std::uint32_t, got), 0x7fc12345u);
}

KILN_ON_EACH_DEVICE(NumericCases);

}  // namespace
