// tests/device/binary_float_test.cpp -- two- and three-operand functions on every floating type, all pairs of specials.
//
// References: IEEE arithmetic of the compute type for exactly rounded operations, long double libm for functions,
// Python's rules for floor_divide and remainder, NumPy's for maximum and minimum.
#include "tests/support/check.h"

namespace {

using reference::Real;

class BinaryFloat : public OnEachDevice {
 protected:
  template <class Expression, class Reference>
  void all(const char* name, Expression expression, Reference expected, double tolerance32, double tolerance64,
           int range = 6) {
    const auto h = values::pairs<kl::half>(300, 1, std::min(range, 6));
    const auto b = values::pairs<kl::bfloat16>(300, 2, range);
    const auto f = values::pairs<float>(3000, 3, range);
    const auto d = values::pairs<double>(3000, 5, range);
    check::binary_float(name, h.first, h.second, expression, expected, tolerance32);
    check::binary_float(name, b.first, b.second, expression, expected, tolerance32);
    check::binary_float(name, f.first, f.second, expression, expected, tolerance32);
    check::binary_float(name, d.first, d.second, expression, expected, tolerance64);
  }
  /// References that must be evaluated in the compute type itself (float for f16, bf16 and f32).
  template <class Expression, class Reference>
  void same_precision(const char* name, Expression expression, Reference expected) {
    const auto f = values::pairs<float>(5000, 7, 6);
    check::binary_float(
        name, f.first, f.second, expression,
        [&](Real a, Real b) -> Real { return expected(static_cast<float>(a), static_cast<float>(b)); }, 0);
    const auto d = values::pairs<double>(5000, 9, 6);
    check::binary_float(
        name, d.first, d.second, expression,
        [&](Real a, Real b) -> Real { return expected(static_cast<double>(a), static_cast<double>(b)); }, 0);
  }
};

// Double rounding: a sum, product or quotient of two floats is exact enough in long double to be rounded once to float,
// and the x87 format has 64 > 2*24+2 bits. For double the reference runs in double itself (same_precision).
TEST_P(BinaryFloat, arithmetic_is_correctly_rounded) {
  same_precision("+", [](const auto& x, const auto& y) { return x + y; }, [](auto a, auto b) { return a + b; });
  same_precision("-", [](const auto& x, const auto& y) { return x - y; }, [](auto a, auto b) { return a - b; });
  same_precision("*", [](const auto& x, const auto& y) { return x * y; }, [](auto a, auto b) { return a * b; });
  same_precision("/", [](const auto& x, const auto& y) { return x / y; }, [](auto a, auto b) { return a / b; });
  same_precision(
      "true_divide", [](const auto& x, const auto& y) { return kl::true_divide(x, y); },
      [](auto a, auto b) { return a / b; });
}

TEST_P(BinaryFloat, half_types_compute_in_f32_and_round_once) {
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const auto v = values::pairs<T>(2000, 11, 5);
    const auto compare = [&](const char* name, auto expression, auto in_float) {
      check::binary_float(
          name, v.first, v.second, expression,
          [&](Real a, Real b) -> Real {
            return static_cast<Real>(static_cast<float>(T(in_float(static_cast<float>(a), static_cast<float>(b)))));
          },
          0);
    };
    compare("+", [](const auto& x, const auto& y) { return x + y; }, [](float a, float b) { return a + b; });
    compare("*", [](const auto& x, const auto& y) { return x * y; }, [](float a, float b) { return a * b; });
    compare("/", [](const auto& x, const auto& y) { return x / y; }, [](float a, float b) { return a / b; });
  };
  run(kl::half{});
  run(kl::bfloat16{});
}

/// f16 * f16 - f16 keeps the unrounded product (storage types round only where stored).
TEST_P(BinaryFloat, intermediates_of_half_expressions_stay_in_f32) {
  const auto v = values::random<kl::half>(1000, 12, 3);
  kl::Array<kl::half> x = kl::from_host(v);
  const auto got = kl::eval(x * x - x).to_host();
  for (std::size_t i = 0; i < v.size(); ++i) {
    const float f = v[i];
    const kl::half separate(f * f - f), contracted(std::fma(f, f, -f));
    EXPECT_TRUE(got[i].bits == separate.bits || got[i].bits == contracted.bits) << f;
  }
}

TEST_P(BinaryFloat, maximum_and_minimum_propagate_nan_and_order_zeros) {  // case A06
  all("maximum", [](const auto& x, const auto& y) { return kl::maximum(x, y); }, reference::maximum, 0, 0);
  all("minimum", [](const auto& x, const auto& y) { return kl::minimum(x, y); }, reference::minimum, 0, 0);
}

template <class T>
void expect_fmax_and_fmin_ignore_nan() {
  const auto v = values::pairs<T>(1000, 13);
  kl::Array<T> x = kl::from_host(v.first), y = kl::from_host(v.second);
  const auto high = kl::eval(kl::fmax(x, y)).to_host(), low = kl::eval(kl::fmin(x, y)).to_host();
  for (std::size_t i = 0; i < high.size(); ++i) {
    const auto a = static_cast<double>(v.first[i]), b = static_cast<double>(v.second[i]);
    const auto most = static_cast<double>(high[i]), least = static_cast<double>(low[i]);
    if (std::isnan(a) && std::isnan(b)) {
      EXPECT_TRUE(std::isnan(most) && std::isnan(least));
    } else {
      EXPECT_EQ(most, std::fmax(a, b)) << kl::name_of(kl::dtype_of<T>) << ' ' << a << ' ' << b;
      EXPECT_EQ(least, std::fmin(a, b)) << kl::name_of(kl::dtype_of<T>) << ' ' << a << ' ' << b;
    }
  }
}

TEST_P(BinaryFloat, fmax_and_fmin_ignore_nan) {  // case A06
  expect_fmax_and_fmin_ignore_nan<kl::half>();
  expect_fmax_and_fmin_ignore_nan<kl::bfloat16>();
  expect_fmax_and_fmin_ignore_nan<float>();
  expect_fmax_and_fmin_ignore_nan<double>();
}

TEST_P(BinaryFloat, floor_divide_and_remainder_follow_python) {
  same_precision(
      "floor_divide", [](const auto& x, const auto& y) { return kl::floor_divide(x, y); },
      [](auto a, auto b) { return reference::python_floor_divide(a, b); });
  same_precision(
      "remainder", [](const auto& x, const auto& y) { return kl::remainder(x, y); },
      [](auto a, auto b) { return reference::python_mod(a, b); });
  // Values printed by CPython 3.11: 1.0 // 0.1 == 9.0, -1 % inf == inf, 5.5 % -2.0 == -0.5, -0.0 // 1.0 == -0.0.
  const double infinity = std::numeric_limits<double>::infinity();
  kl::Array<double> a = kl::from_host(std::vector<double>{1.0, -1.0, 5.5, -5.5, 0.3, 1.0});
  kl::Array<double> b = kl::from_host(std::vector<double>{0.1, infinity, -2.0, 2.0, 0.1, -infinity});
  EXPECT_EQ(kl::eval(kl::floor_divide(a, b)).to_host(), (std::vector<double>{9.0, -1.0, -3.0, -3.0, 2.0, -1.0}));
  EXPECT_EQ(kl::eval(kl::remainder(a, b)).to_host(),
            (std::vector<double>{0.09999999999999995, infinity, -0.5, 0.5, 0.09999999999999998, -infinity}));
}

TEST_P(BinaryFloat, fmod_is_exact) {
  same_precision(
      "fmod", [](const auto& x, const auto& y) { return kl::fmod(x, y); },
      [](auto a, auto b) { return std::fmod(a, b); });
}

TEST_P(BinaryFloat, copysign_and_hypot) {
  all(
      "copysign", [](const auto& x, const auto& y) { return kl::copysign(x, y); },
      [](Real a, Real b) { return std::isnan(a) ? a : std::copysign(a, b); }, 0, 0);
  all(
      "hypot", [](const auto& x, const auto& y) { return kl::hypot(x, y); },
      [](Real a, Real b) { return std::hypot(a, b); }, 3, 2);
}

TEST_P(BinaryFloat, pow_and_atan2) {
  all(
      "pow", [](const auto& x, const auto& y) { return kl::pow(x, y); }, [](Real a, Real b) { return std::pow(a, b); },
      on_gpu() ? 4 : 2, 2, 3);
  all(
      "atan2", [](const auto& x, const auto& y) { return kl::atan2(x, y); },
      [](Real a, Real b) { return std::atan2(a, b); }, on_gpu() ? 3 : 2, 2);
}

TEST_P(BinaryFloat, comparisons_are_ieee) {
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    const auto v = values::pairs<T>(500, 15);
    const auto w = [](T x) { return reference::widen(x); };
    const auto& a = v.first;
    const auto& b = v.second;
    check::binary_exact(
        "==", a, b, [](const auto& x, const auto& y) { return x == y; },
        [&](T x, T y) -> bool { return w(x) == w(y); });
    check::binary_exact(
        "!=", a, b, [](const auto& x, const auto& y) { return x != y; },
        [&](T x, T y) -> bool { return w(x) != w(y); });
    check::binary_exact(
        "<", a, b, [](const auto& x, const auto& y) { return x < y; }, [&](T x, T y) -> bool { return w(x) < w(y); });
    check::binary_exact(
        "<=", a, b, [](const auto& x, const auto& y) { return x <= y; },
        [&](T x, T y) -> bool { return w(x) <= w(y); });
    check::binary_exact(
        ">", a, b, [](const auto& x, const auto& y) { return x > y; }, [&](T x, T y) -> bool { return w(x) > w(y); });
    check::binary_exact(
        ">=", a, b, [](const auto& x, const auto& y) { return x >= y; },
        [&](T x, T y) -> bool { return w(x) >= w(y); });
    check::binary_exact(
        "&&", a, b, [](const auto& x, const auto& y) { return x && y; },
        [&](T x, T y) -> bool { return w(x) != 0 && w(y) != 0; });
    check::binary_exact(
        "||", a, b, [](const auto& x, const auto& y) { return x || y; },
        [&](T x, T y) -> bool { return w(x) != 0 || w(y) != 0; });
  };
  run(kl::half{});
  run(float{});
  run(double{});
}

TEST_P(BinaryFloat, fma_rounds_once) {
  const auto a = values::random<float>(4000, 17, 4), b = values::random<float>(4000, 18, 4),
             c = values::random<float>(4000, 19, 4);
  kl::Array<float> x = kl::from_host(a), y = kl::from_host(b), z = kl::from_host(c);
  const auto got = kl::eval(kl::fma(x, y, z)).to_host();
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(got[i], std::fma(a[i], b[i], c[i])) << i;
}

TEST_P(BinaryFloat, clip_propagates_nan_from_every_operand) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  kl::Array<float> x = kl::from_host(std::vector<float>{-5, 0.25f, 5, nan, inf, -inf});
  const auto got = kl::eval(kl::clip(x, -1.0f, 1.0f)).to_host();
  EXPECT_EQ((std::vector<float>(got.begin(), got.begin() + 3)), (std::vector<float>{-1, 0.25f, 1}));
  EXPECT_TRUE(std::isnan(got[3]));
  EXPECT_EQ(got[4], 1.0f);
  EXPECT_EQ(got[5], -1.0f);
  EXPECT_TRUE(std::isnan(kl::eval(kl::clip(x, nan, 1.0f)).to_host()[0]));
  EXPECT_EQ(kl::eval(kl::clip(x, -inf, inf)).to_host()[2], 5.0f);  // case C01: infinite bounds are ordinary values
}

TEST_P(BinaryFloat, where_selects_without_arithmetic) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  kl::Array<float> x = kl::from_host(std::vector<float>{-1, 0, 2, nan});
  const auto got = kl::eval(kl::where(x > 0.0f, x, -0.0f)).to_host();
  EXPECT_TRUE(got[0] == 0 && std::signbit(got[0]));
  EXPECT_TRUE(got[1] == 0 && std::signbit(got[1]));
  EXPECT_EQ(got[2], 2.0f);
  EXPECT_TRUE(got[3] == 0 && std::signbit(got[3]));
}

KILN_ON_EACH_DEVICE(BinaryFloat);

}  // namespace
