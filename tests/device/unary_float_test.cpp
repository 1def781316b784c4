// tests/device/unary_float_test.cpp -- accuracy and special values of one-operand functions on every floating type.
//
// Expected values: long double libm (64-bit significand). Tolerances: 2 ulp on the CPU; on the GPU the maximum errors
// that the CUDA C++ Programming Guide states for the function ("Mathematical Functions", single / double precision).
// The guide counts from the correctly rounded result, these tests from the exact one: half an ulp more.
#include "tests/support/check.h"

namespace {

using reference::Real;

class UnaryFloat : public OnEachDevice {
 protected:
  struct Tolerance {
    double cpu32, cpu64, gpu32, gpu64;
  };
  template <class T, class Expression, class Reference>
  void one(const char* name, Expression expression, Reference expected, Tolerance t, const std::vector<T>& input) {
    const bool wide = std::is_same_v<T, double>;
    const double stated = wide ? t.gpu64 : t.gpu32;
    check::unary_float(name, input, expression, expected,
                       on_gpu() ? (stated == 0 ? 0 : stated + 0.5) : (wide ? t.cpu64 : t.cpu32));
  }
  template <class Expression, class Reference>
  void all(const char* name, Expression expression, Reference expected, Tolerance t, int range = 6) {
    one<kl::half>(name, expression, expected, t, values::mixed<kl::half>(300, 1, std::min(range, 8)));
    one<kl::bfloat16>(name, expression, expected, t, values::mixed<kl::bfloat16>(300, 2, range));
    one<float>(name, expression, expected, t, values::mixed<float>(3000, 3, range));
    one<double>(name, expression, expected, t, values::mixed<double>(3000, 4, range));
  }
};

#define KILN_UNARY(function, reference_value, ...)                                                                \
  TEST_P(UnaryFloat, function) {                                                                                  \
    all(                                                                                                          \
        #function, [](const auto& x) { return kl::function(x); }, [](Real x) -> Real { return reference_value; }, \
        {__VA_ARGS__});                                                                                           \
  }

KILN_UNARY(sqrt, std::sqrt(x), 0, 0, 0, 0)
KILN_UNARY(rsqrt, 1 / std::sqrt(x), 2, 2, 2, 2)
KILN_UNARY(cbrt, std::cbrt(x), 2, 4, 1, 1)  // f64 on the CPU: glibc's cbrt, 4 ulp by its manual
KILN_UNARY(exp, std::exp(x), 2, 1, 2, 1)
KILN_UNARY(exp2, std::exp2(x), 2, 1, 2, 1)
KILN_UNARY(expm1, std::expm1(x), 2, 1, 2, 1)
KILN_UNARY(log, std::log(x), 2, 1, 1, 1)
KILN_UNARY(log2, std::log2(x), 2, 1, 1, 1)
KILN_UNARY(log10, std::log10(x), 2, 2, 2, 1)
KILN_UNARY(log1p, std::log1p(x), 2, 1, 1, 1)
KILN_UNARY(sin, std::sin(x), 2, 1, 2, 2)
KILN_UNARY(cos, std::cos(x), 2, 1, 2, 2)
KILN_UNARY(tan, std::tan(x), 2, 1, 4, 2)
KILN_UNARY(asin, std::asin(x), 2, 1, 2, 2)
KILN_UNARY(acos, std::acos(x), 2, 1, 2, 2)
KILN_UNARY(atan, std::atan(x), 2, 1, 2, 2)
KILN_UNARY(sinh, std::sinh(x), 2, 2, 3, 2)
KILN_UNARY(cosh, std::cosh(x), 2, 2, 2, 1)
KILN_UNARY(tanh, std::tanh(x), 2, 2, 2, 1)
KILN_UNARY(asinh, std::asinh(x), 2, 2, 3, 3)
KILN_UNARY(acosh, std::acosh(x), 2, 2, 4, 3)
KILN_UNARY(atanh, std::atanh(x), 2, 2, 3, 2)
KILN_UNARY(erf, std::erf(x), 2, 1, 2, 2)
KILN_UNARY(erfc, std::erfc(x), 4, 5, 6, 5)
KILN_UNARY(tgamma, std::isinf(x) && x < 0 ? NAN : std::tgamma(x), 5, 10, 5, 10)
KILN_UNARY(abs, std::fabs(x), 0, 0, 0, 0)
KILN_UNARY(floor, std::floor(x), 0, 0, 0, 0)
KILN_UNARY(ceil, std::ceil(x), 0, 0, 0, 0)
KILN_UNARY(round, reference::round_half_even(x), 0, 0, 0, 0)  // case A25: ties to even, the sign of -0.5 is kept
KILN_UNARY(trunc, std::trunc(x), 0, 0, 0, 0)
KILN_UNARY(sign, reference::sign(x), 0, 0, 0, 0)
KILN_UNARY(relu, std::isnan(x) ? x : x > 0 ? x : 0.0L, 0, 0, 0, 0)
KILN_UNARY(sigmoid, 1 / (1 + std::exp(-x)), 3, 3, 4, 3)
KILN_UNARY(softplus, std::isinf(x) ? (x > 0 ? x : 0.0L) : std::fmax(x, 0.0L) + std::log1p(std::exp(-std::fabs(x))), 3,
           3, 4, 3)
KILN_UNARY(real, x, 0, 0, 0, 0)
KILN_UNARY(conj, x, 0, 0, 0, 0)

TEST_P(UnaryFloat, negation) {
  all("-x", [](const auto& x) { return -x; }, [](Real x) { return -x; }, {0, 0, 0, 0});
}

/// lgamma: relative accuracy is stated outside (-10.001, -2.264) only, where zeros lie between the poles.
TEST_P(UnaryFloat, lgamma) {
  const auto positive = [](auto v) {
    for (auto& x : v) x = decltype(v[0] + 0)(0) <= x || !(x == x) ? x : -x;
    return v;
  };
  const auto expression = [](const auto& x) { return kl::lgamma(x); };
  const auto expected = [](Real x) {
    int sign = 0;
    return lgammal_r(x, &sign);
  };
  one<float>("lgamma", expression, expected, {6, 4, 6, 4}, positive(values::mixed<float>(2000, 5, 6)));
  one<double>("lgamma", expression, expected, {6, 4, 6, 4}, positive(values::mixed<double>(2000, 6, 6)));
}

/// gelu cancels for negative x, so its error is bounded by ulps of x/2, the factor of the definition.
TEST_P(UnaryFloat, gelu) {
  const std::vector<float> input = values::random<float>(4000, 7, 3);
  kl::Array<float> x = kl::from_host(input);
  const auto exact = kl::eval(kl::gelu(x)).to_host(), by_tanh = kl::eval(kl::gelu_tanh(x)).to_host();
  const Real root_half = 0.70710678118654752440L, root_two_over_pi = 0.79788456080286535588L;
  for (std::size_t i = 0; i < input.size(); ++i) {
    const Real v = input[i];
    const Real want = 0.5L * v * std::erfc(-v * root_half);
    const Real want_tanh = 0.5L * v * (1 + std::tanh(root_two_over_pi * (v + 0.044715L * v * v * v)));
    const Real unit = reference::ulp<float>(v / 2);
    ASSERT_LE(std::fabs(exact[i] - want), 6 * unit) << "gelu(" << v << ")";
    ASSERT_LE(std::fabs(by_tanh[i] - want_tanh), 8 * unit) << "gelu_tanh(" << v << ")";
  }
}

/// silu(x) = x * sigmoid(x): where sigmoid is subnormal its absolute rounding is scaled by x; silu(-inf) is NaN as in
/// the formula.
TEST_P(UnaryFloat, silu) {
  std::vector<float> input = values::random<float>(4000, 14, 6);
  for (const float v : {0.0f, -0.0f, 88.0f, -88.0f, -100.0f, 100.0f}) input.push_back(v);
  kl::Array<float> x = kl::from_host(input);
  const auto got = kl::eval(kl::silu(x)).to_host();
  for (std::size_t i = 0; i < input.size(); ++i) {
    const Real v = input[i], want = v / (1 + std::exp(-v));
    ASSERT_LE(std::fabs(got[i] - want), 5 * reference::ulp<float>(want) + std::fabs(v) * 0x1p-149L)
        << "silu(" << v << ")";
  }
  const float inf = std::numeric_limits<float>::infinity();
  kl::Array<float> ends = kl::from_host(std::vector<float>{inf, -inf});
  EXPECT_EQ(kl::eval(kl::silu(ends)).to_host()[0], inf);
  EXPECT_TRUE(std::isnan(kl::eval(kl::silu(ends)).to_host()[1]));
}

/// Large arguments of the periodic functions are reduced exactly, not approximately.
TEST_P(UnaryFloat, large_arguments_of_sin_and_cos) {
  one<float>(
      "sin", [](const auto& x) { return kl::sin(x); }, [](Real x) { return std::sin(x); }, {2, 1, 2, 2},
      values::random<float>(4000, 8, 120));
  one<float>(
      "cos", [](const auto& x) { return kl::cos(x); }, [](Real x) { return std::cos(x); }, {2, 1, 2, 2},
      values::random<float>(4000, 9, 120));
  one<double>(
      "sin", [](const auto& x) { return kl::sin(x); }, [](Real x) { return std::sin(x); }, {2, 1, 2, 2},
      values::random<double>(4000, 10, 60));
  one<double>(
      "cos", [](const auto& x) { return kl::cos(x); }, [](Real x) { return std::cos(x); }, {2, 1, 2, 2},
      values::random<double>(4000, 11, 60));
}

/// Integers and bools go through f64 (docs/semantics, result rule `floating`).
TEST_P(UnaryFloat, integer_operands_compute_in_f64) {
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> input = values::mixed<T>(100, 12);
    const auto exp_of = [](const auto& x) { return kl::exp(x); };
    static_assert(std::is_same_v<decltype(kl::eval(exp_of(std::declval<kl::Array<T>&>()))), kl::Array<double>>);
    check::unary_float("exp", input, exp_of, [](Real x) { return std::exp(x); }, 2);
    check::unary_float(
        "atan", input, [](const auto& x) { return kl::atan(x); }, [](Real x) { return std::atan(x); }, 2);
  };
  run(std::int8_t{});
  run(std::int32_t{});
  run(std::int64_t{});
  run(std::uint16_t{});
}

TEST_P(UnaryFloat, classification) {
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const auto input = values::mixed<T>(200, 13);
    check::unary_exact(
        "isnan", input, [](const auto& x) { return kl::isnan(x); },
        [](T x) -> bool { return std::isnan(reference::widen(x)); });
    check::unary_exact(
        "isinf", input, [](const auto& x) { return kl::isinf(x); },
        [](T x) -> bool { return std::isinf(reference::widen(x)); });
    check::unary_exact(
        "isfinite", input, [](const auto& x) { return kl::isfinite(x); },
        [](T x) -> bool { return std::isfinite(reference::widen(x)); });
    check::unary_exact(
        "!", input, [](const auto& x) { return !x; }, [](T x) -> bool { return reference::widen(x) == 0; });
  };
  run(kl::half{});
  run(kl::bfloat16{});
  run(float{});
  run(double{});
}

KILN_ON_EACH_DEVICE(UnaryFloat);

}  // namespace
