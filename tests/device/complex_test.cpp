// tests/device/complex_test.cpp -- complex arithmetic and functions against std::complex<long double>.
#include "tests/support/check.h"

namespace {

using Complex = std::complex<long double>;

class ComplexNumbers : public OnEachDevice {
 protected:
  /// Normwise relative error in units of the type's epsilon.
  template <class T>
  static double error(T got, Complex want) {
    using F = typename T::value_type;
    const Complex value(got.real(), got.imag());
    const long double scale = std::max(std::abs(want), static_cast<long double>(std::numeric_limits<F>::min()));
    return static_cast<double>(std::abs(value - want) / (scale * std::numeric_limits<F>::epsilon()));
  }
  template <class T, class Expression, class Reference>
  static void unary(const char* name, Expression expression, Reference expected, double tolerance, int range) {
    using F = typename T::value_type;
    std::vector<T> input = values::random<T>(1500, 1, range);
    for (const T z : values::special<T>()) input.push_back(z);
    kl::Array<T> x = kl::from_host(input);
    const auto got = kl::eval(expression(x)).to_host();
    check::Reporter report(std::string(name) + " of " + kl::name_of(kl::dtype_of<T>));
    for (std::size_t i = 0; i < input.size(); ++i) {
      const Complex want = expected(Complex(input[i].real(), input[i].imag()));
      if (!(std::abs(want) < std::numeric_limits<F>::max() / 4)) continue;  // overflow and poles: component tests below
      const double e = error(static_cast<T>(got[i]), want);
      report.note(e);
      if (!(e <= tolerance))
        report.fail(check::text(input[i]) + " -> " + check::text(T(got[i])) + ", error " + check::text(e) + " eps");
    }
  }
  template <class Expression, class Reference>
  static void both(const char* name, Expression expression, Reference expected, double tolerance = 8, int range = 2) {
    unary<std::complex<float>>(name, expression, expected, tolerance, range);
    unary<std::complex<double>>(name, expression, expected, tolerance, range);
  }
};

#define KILN_COMPLEX(function, reference_value, ...)                                      \
  TEST_P(ComplexNumbers, function) {                                                      \
    both(                                                                                 \
        #function, [](const auto& z) { return kl::function(z); },                         \
        [](Complex z) -> Complex { return reference_value; } __VA_OPT__(, ) __VA_ARGS__); \
  }

KILN_COMPLEX(exp, std::exp(z))
KILN_COMPLEX(log, std::log(z))
KILN_COMPLEX(log2, std::log(z) / std::log(2.0L))
KILN_COMPLEX(log10, std::log10(z))
KILN_COMPLEX(sqrt, std::sqrt(z))
KILN_COMPLEX(rsqrt, z == Complex(0) ? Complex(INFINITY) : 1.0L / std::sqrt(z))
KILN_COMPLEX(sin, std::sin(z))
KILN_COMPLEX(cos, std::cos(z))
KILN_COMPLEX(tan, std::tan(z))
KILN_COMPLEX(asin, std::asin(z), 16)
KILN_COMPLEX(acos, std::acos(z), 16)
KILN_COMPLEX(atan, std::atan(z), 16)
KILN_COMPLEX(sinh, std::sinh(z))
KILN_COMPLEX(cosh, std::cosh(z))
KILN_COMPLEX(tanh, std::tanh(z))
KILN_COMPLEX(asinh, std::asinh(z), 16)
KILN_COMPLEX(acosh, std::acosh(z), 16)
KILN_COMPLEX(atanh, std::atanh(z), 16)
KILN_COMPLEX(conj, std::conj(z), 0)
KILN_COMPLEX(sign, z == Complex(0) ? z : z / std::abs(z))

TEST_P(ComplexNumbers, parts_magnitude_and_angle) {
  const auto input = values::random<std::complex<float>>(500, 3, 6);
  kl::Array<std::complex<float>> z = kl::from_host(input);
  const auto re = kl::eval(kl::real(z)).to_host(), im = kl::eval(kl::imag(z)).to_host();
  const auto magnitude = kl::eval(kl::abs(z)).to_host(), angle = kl::eval(kl::arg(z)).to_host();
  for (std::size_t i = 0; i < input.size(); ++i) {
    const Complex w(input[i].real(), input[i].imag());
    EXPECT_EQ(re[i], input[i].real());
    EXPECT_EQ(im[i], input[i].imag());
    EXPECT_LE(reference::error_in_ulp<float>(magnitude[i], std::abs(w)), 4);
    EXPECT_LE(reference::error_in_ulp<float>(angle[i], std::arg(w)), 4);
  }
}

TEST_P(ComplexNumbers, abs_and_division_do_not_overflow) {  // scaled, as C++
  using C = std::complex<float>;
  kl::Array<C> z = kl::from_host(std::vector<C>{{3e38f, 4e37f}, {3e-40f, 4e-40f}});
  const auto magnitude = kl::eval(kl::abs(z)).to_host();
  EXPECT_NEAR(magnitude[0] / std::hypot(3e38, 4e37), 1.0, 1e-6);
  EXPECT_NEAR(magnitude[1] / 5e-40, 1.0, 1e-4);
  const auto one = kl::eval(z / z).to_host();
  EXPECT_NEAR(one[0].real(), 1.0f, 1e-6f);
  EXPECT_NEAR(one[0].imag(), 0.0f, 1e-6f);
}

TEST_P(ComplexNumbers, arithmetic) {
  const auto run = [&](auto zero) {
    using C = decltype(zero);
    const auto a = values::random<C>(800, 5, 4), b = values::random<C>(800, 6, 4);
    kl::Array<C> x = kl::from_host(a), y = kl::from_host(b);
    const auto sum = kl::eval(x + y).to_host(), difference = kl::eval(x - y).to_host(),
               product = kl::eval(x * y).to_host(), quotient = kl::eval(x / y).to_host(),
               power = kl::eval(kl::pow(x, y * 0.25)).to_host();
    const auto equal = kl::eval(x == x).to_host(), different = kl::eval(x != y).to_host();
    for (std::size_t i = 0; i < a.size(); ++i) {
      const Complex p(a[i].real(), a[i].imag()), q(b[i].real(), b[i].imag());
      EXPECT_LE(error(sum[i], p + q), 8 * (std::abs(p) + std::abs(q)) / std::abs(p + q));
      EXPECT_LE(error(difference[i], p - q), 8 * (std::abs(p) + std::abs(q)) / std::abs(p - q));
      EXPECT_LE(error(product[i], p * q), 4);
      EXPECT_LE(error(quotient[i], p / q), 8);
      const Complex exponent = q * 0.25L;
      EXPECT_LE(error(power[i], std::pow(p, exponent)), 16 * (1 + std::abs(exponent * std::log(p))))
          << p << ' ' << exponent;
      EXPECT_TRUE(equal[i]);
      EXPECT_EQ(different[i], a[i] != b[i]);
    }
  };
  run(std::complex<float>{});
  run(std::complex<double>{});
}

TEST_P(ComplexNumbers, mixed_with_real_arrays_and_scalars) {
  using C = std::complex<float>;
  kl::Array<C> z = kl::from_host(std::vector<C>{{1, 2}, {3, -4}});
  kl::Array<float> x = kl::from_host(std::vector<float>{2, 10});
  EXPECT_EQ(kl::eval(z * x).to_host(), (std::vector<C>{{2, 4}, {30, -40}}));
  EXPECT_EQ(kl::eval(z + 1).to_host(), (std::vector<C>{{2, 2}, {4, -4}}));
  EXPECT_EQ(kl::eval(x * C(0, 1)).to_host(), (std::vector<C>{{0, 2}, {0, 10}}));
}

KILN_ON_EACH_DEVICE(ComplexNumbers);

}  // namespace
