// tests/unit/codegen/legalize_complex_test.cpp -- complex operations against std::complex in higher precision.
#include <cmath>
#include <limits>
#include <random>

#include "interpreter.h"

namespace kiln::codegen::testing {
namespace {

using Wide = std::complex<long double>;
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Function {
  Op op;
  Wide (*reference)(const Wide&);
};

const Function functions[] = {
    {Op::sqrt, [](const Wide& z) { return std::sqrt(z); }},
    {Op::rsqrt, [](const Wide& z) { return 1.0L / std::sqrt(z); }},
    {Op::exp, [](const Wide& z) { return std::exp(z); }},
    {Op::expm1, [](const Wide& z) { return std::exp(z) - 1.0L; }},
    {Op::log, [](const Wide& z) { return std::log(z); }},
    {Op::log2, [](const Wide& z) { return std::log(z) / std::log(2.0L); }},
    {Op::log10, [](const Wide& z) { return std::log10(z); }},
    {Op::log1p, [](const Wide& z) { return std::log(1.0L + z); }},
    {Op::sin, [](const Wide& z) { return std::sin(z); }},
    {Op::cos, [](const Wide& z) { return std::cos(z); }},
    {Op::tan, [](const Wide& z) { return std::tan(z); }},
    {Op::asin, [](const Wide& z) { return std::asin(z); }},
    {Op::acos, [](const Wide& z) { return std::acos(z); }},
    {Op::atan, [](const Wide& z) { return std::atan(z); }},
    {Op::sinh, [](const Wide& z) { return std::sinh(z); }},
    {Op::cosh, [](const Wide& z) { return std::cosh(z); }},
    {Op::tanh, [](const Wide& z) { return std::tanh(z); }},
    {Op::asinh, [](const Wide& z) { return std::asinh(z); }},
    {Op::acosh, [](const Wide& z) { return std::acosh(z); }},
    {Op::atanh, [](const Wide& z) { return std::atanh(z); }},
    {Op::sign, [](const Wide& z) { return z / std::abs(z); }},
    {Op::conj, [](const Wide& z) { return std::conj(z); }},
    {Op::neg, [](const Wide& z) { return -z; }},
};

template <class T>
void expect_close(std::complex<T> got, const Wide& want, double tolerance, const char* name, const Wide& z) {
  const long double error = std::abs(Wide(got) - want);
  EXPECT_LE(error, tolerance * std::abs(want)) << name << z << " = " << got << ", not " << want;
}

template <class T>
void check_functions(double tolerance) {
  std::mt19937 random(7);
  std::uniform_real_distribution<T> small(T(-2), T(2)), large(T(-30), T(30));
  for (const Function& function : functions) {
    const Compiled compiled(function.op, {dtype_of<std::complex<T>>});
    for (int i = 0; i < 300; ++i) {
      const std::complex<T> z =
          i % 2 ? std::complex<T>(small(random), small(random)) : std::complex<T>(large(random), large(random));
      expect_close(compiled.template call<std::complex<T>>(z), function.reference(Wide(z)), tolerance,
                   detail::op_info(function.op).name, Wide(z));
    }
  }
}

TEST(LegalizeComplex, FunctionsAreAccurate) {
  check_functions<float>(2e-6);
  check_functions<double>(4e-15);
}

template <class T>
void check_arithmetic(double tolerance) {
  using Z = std::complex<T>;
  std::mt19937 random(11);
  std::uniform_real_distribution<T> part(T(-10), T(10));
  constexpr DType type = dtype_of<Z>;
  const Compiled add(Op::add, {type, type}), sub(Op::sub, {type, type}), mul(Op::mul, {type, type}),
      div(Op::div, {type, type}), pow(Op::pow, {type, type}), abs(Op::abs, {type}), arg(Op::arg, {type});
  for (int i = 0; i < 500; ++i) {
    const Z x(part(random), part(random)), y(part(random), part(random));
    const Wide a(x), b(y);
    EXPECT_EQ(add.template call<Z>(x, y), x + y);
    EXPECT_EQ(sub.template call<Z>(x, y), x - y);
    expect_close(mul.template call<Z>(x, y), a * b, tolerance, "mul", a);
    expect_close(div.template call<Z>(x, y), a / b, tolerance, "div", a);
    const Z small = y / T(4);
    expect_close(pow.template call<Z>(x, small), std::pow(a, Wide(small)), 20 * tolerance, "pow", a);
    EXPECT_NEAR(abs.template call<T>(x), static_cast<double>(std::abs(a)),
                tolerance * static_cast<double>(std::abs(a)));
    EXPECT_NEAR(arg.template call<T>(x), static_cast<double>(std::arg(a)), 4 * tolerance);
  }
}

TEST(LegalizeComplex, ArithmeticIsAccurate) {
  check_arithmetic<float>(1e-6);
  check_arithmetic<double>(2e-15);
}

TEST(LegalizeComplex, MagnitudesAndQuotientsScale) {
  using Z = std::complex<double>;
  EXPECT_NEAR(apply<double>(Op::abs, Z(3e300, 4e300)), 5e300, 1e285);
  EXPECT_NEAR(apply<float>(Op::abs, std::complex<float>(3e-30f, 4e-30f)), 5e-30f, 1e-36f);
  const Z quotient = apply<Z>(Op::div, Z(1e300, 1e300), Z(2e300, 1e300));
  EXPECT_NEAR(quotient.real(), 0.6, 1e-15);
  EXPECT_NEAR(quotient.imag(), 0.2, 1e-15);
  const Z tiny = apply<Z>(Op::sqrt, Z(0.0, 2e-320));
  EXPECT_NEAR(tiny.real() / 1e-160, 1.0, 1e-3);
  EXPECT_NEAR(tiny.imag() / tiny.real(), 1.0, 1e-12);
  const Z big = apply<Z>(Op::sqrt, Z(1.5e308, 1.5e308));
  EXPECT_NEAR(big.real() / std::sqrt(Z(1.5, 1.5)).real() / 1e154, 1.0, 1e-12);
  const Z large_exp = apply<Z>(Op::exp, Z(710.0, 1.5707));  // e^710 overflows, its product with the cosine does not
  EXPECT_NEAR(large_exp.real() / static_cast<double>(std::exp(710.0L) * std::cos(1.5707L)), 1.0, 1e-12);
  EXPECT_NEAR(apply<Z>(Op::log, Z(1e308, 1e308)).real(), 0.5 * std::log(2.0) + std::log(1e308), 1e-12);
}

struct Special {
  Op op;
  std::complex<double> z, want;
};

TEST(LegalizeComplex, SpecialValuesFollowAnnexG) {
  using Z = std::complex<double>;
  const Special table[] = {
      {Op::sqrt, {-4, 0.0}, {0, 2}},
      {Op::sqrt, {-4, -0.0}, {0, -2}},
      {Op::sqrt, {0.0, -0.0}, {0, -0.0}},
      {Op::sqrt, {nan, inf}, {inf, inf}},
      {Op::sqrt, {-inf, 1}, {0, inf}},
      {Op::sqrt, {inf, -1}, {inf, -0.0}},
      {Op::exp, {inf, 0.0}, {inf, 0}},
      {Op::exp, {-inf, nan}, {0, 0}},
      {Op::exp, {nan, -0.0}, {nan, -0.0}},
      {Op::log, {0.0, 0.0}, {-inf, 0}},
      {Op::log, {-0.0, 0.0}, {-inf, M_PI}},
      {Op::log, {-1, -0.0}, {0, -M_PI}},
      {Op::log, {nan, inf}, {inf, nan}},
      {Op::sinh, {0.0, inf}, {0, nan}},
      {Op::sinh, {inf, 0.0}, {inf, 0}},
      {Op::cosh, {inf, 0.0}, {inf, 0}},
      {Op::tanh, {inf, 1}, {1, 0}},
      {Op::tanh, {nan, 0.0}, {nan, 0}},
      {Op::acos, {inf, 1}, {0, -inf}},
      {Op::acos, {2, 0.0}, {0, -std::acosh(2.0)}},
      {Op::acos, {2, -0.0}, {0, std::acosh(2.0)}},
      {Op::asin, {1, inf}, {0, inf}},
      {Op::atanh, {1, 0.0}, {inf, 0}},
      {Op::atanh, {1, inf}, {0, M_PI_2}},
      {Op::acosh, {-inf, 1}, {inf, M_PI}},
      {Op::asinh, {1, inf}, {inf, M_PI_2}},
  };
  for (const Special& row : table) {
    const Z got = apply<Z>(row.op, row.z);
    const auto matches = [](double a, double b) {
      return same(a, b) || (std::isfinite(b) && b != 0 && std::fabs(a - b) < 1e-14 * std::fabs(b));
    };
    EXPECT_TRUE(matches(got.real(), row.want.real()) && matches(got.imag(), row.want.imag()))
        << detail::op_info(row.op).name << row.z << " = " << got << ", not " << row.want;
  }
}

TEST(LegalizeComplex, DivisionRecoversInfinities) {
  using Z = std::complex<double>;
  EXPECT_EQ(apply<Z>(Op::div, Z(1, 0), Z(0, 0)).real(), inf);
  EXPECT_TRUE(std::isinf(apply<Z>(Op::div, Z(inf, 1), Z(2, 3)).real()));
  EXPECT_EQ(apply<Z>(Op::div, Z(1, 1), Z(inf, inf)), Z(0, 0));
}

TEST(LegalizeComplex, ComparisonsLogicPartsAndSelection) {
  using Z = std::complex<float>;
  const float not_a_number = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(apply<bool>(Op::eq, Z(1, 2), Z(1, 2)));
  EXPECT_FALSE(apply<bool>(Op::eq, Z(1, 2), Z(1, 3)));
  EXPECT_TRUE(apply<bool>(Op::ne, Z(1, not_a_number), Z(1, not_a_number)));
  EXPECT_TRUE(apply<bool>(Op::logical_or, Z(0, 0), Z(0, not_a_number)));
  EXPECT_TRUE(apply<bool>(Op::logical_not, Z(0, -0.0f)));
  EXPECT_TRUE(apply<bool>(Op::isnan, Z(0, not_a_number)));
  EXPECT_TRUE(apply<bool>(Op::isinf, Z(not_a_number, -INFINITY)));
  EXPECT_FALSE(apply<bool>(Op::isfinite, Z(0, INFINITY)));
  EXPECT_EQ(apply<float>(Op::real, Z(4, 5)), 4.0f);
  EXPECT_EQ(apply<float>(Op::imag, Z(4, 5)), 5.0f);
  EXPECT_EQ(apply<float>(Op::imag, 3.0f), 0.0f);
  EXPECT_EQ(apply<Z>(Op::where, false, Z(1, 2), Z(3, 4)), Z(3, 4));
  EXPECT_EQ(apply<Z>(Op::mul, Z(1, 2), 2.0f), Z(2, 4));
  EXPECT_EQ(apply<Z>(Op::sign, Z(0, 0)), Z(0, 0));
  EXPECT_EQ(convert<std::complex<double>>(Z(1, 2)), std::complex<double>(1, 2));
  EXPECT_EQ(convert<float>(Z(7, 2)), 7.0f);
  EXPECT_EQ(convert<Z>(std::int8_t{-3}), Z(-3, 0));
}

TEST(LegalizeComplex, ACopyStaysWhole) {
  const Compiled copy({DType::c64}, [](Graph&, const std::vector<NodeId>& in) { return in[0]; });
  EXPECT_EQ(copy.body().size(), 1u) << to_text(copy.body());
}

}  // namespace
}  // namespace kiln::codegen::testing
