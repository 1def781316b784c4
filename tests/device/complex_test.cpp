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

/// Parts from the least subnormal to the greatest number, of both signs.
template <class F>
std::vector<std::complex<F>> extremes() {
  using Limits = std::numeric_limits<F>;
  const F middle = static_cast<F>(std::sqrt(static_cast<long double>(Limits::min())));
  std::vector<F> parts;
  for (const F value : {F(0), Limits::denorm_min(), 3 * Limits::denorm_min(), Limits::min() / 7, Limits::min(), middle,
                        F(0.7), F(1), 1 / middle, Limits::max() / 3, Limits::max()})
    parts.insert(parts.end(), {value, -value});
  std::vector<std::complex<F>> all;
  for (const F re : parts)
    for (const F im : parts) all.push_back({re, im});
  return all;
}

/// Every pair of extremes, by std::complex<long double>, whose exponents are wider than those of both types.
template <class F>
void expect_division_of_extremes() {
  using C = std::complex<F>;
  using Limits = std::numeric_limits<F>;
  const std::vector<C> all = extremes<F>();
  std::vector<C> dividends, divisors;
  for (const C& x : all)
    for (const C& y : all)
      if (y != C(0)) dividends.push_back(x), divisors.push_back(y);
  const kl::Array<C> x = kl::from_host(dividends), y = kl::from_host(divisors);
  const auto got = kl::eval(x / y).to_host();
  const C constant(2, 1);
  const auto by_constant = kl::eval(x / kl::lit(constant)).to_host();
  check::Reporter report(std::string("division of ") + kl::name_of(kl::dtype_of<C>));
  const auto expect = [&](const C& p, const C& q, const C& result) {
    const Complex want = Complex(p.real(), p.imag()) / Complex(q.real(), q.imag());
    const long double most = std::max(std::abs(want.real()), std::abs(want.imag()));
    // Half a unit of the least subnormal per step; a part that is next to nothing beside the other may lose its bits.
    const long double allowed = 8 * Limits::epsilon() * most + 4 * static_cast<long double>(Limits::denorm_min());
    const auto differs = [&](F part, long double wanted) {
      if (std::abs(wanted) > Limits::max() * (1 - 8 * static_cast<long double>(Limits::epsilon())))
        return !(std::abs(part) >= Limits::max() * F(0.99)) || std::signbit(part) != std::signbit(wanted);
      if (most > Limits::max()) return std::isfinite(part) && std::abs(part - wanted) > allowed;  // beside an infinity
      return !(std::abs(static_cast<long double>(part) - wanted) <= allowed);
    };
    if (differs(result.real(), want.real()) || differs(result.imag(), want.imag()))
      report.fail(check::text(p) + " / " + check::text(q) + " -> " + check::text(result) + ", not " +
                  check::text(C(static_cast<F>(want.real()), static_cast<F>(want.imag()))));
  };
  for (std::size_t i = 0; i < got.size(); ++i) {
    expect(dividends[i], divisors[i], got[i]);
    expect(dividends[i], constant, by_constant[i]);
  }
}

TEST_P(ComplexNumbers, division_of_extremes) {  // scaled, as C++
  expect_division_of_extremes<float>();
  expect_division_of_extremes<double>();
}

template <class F>
void expect_magnitude_and_sign_of_extremes() {
  using C = std::complex<F>;
  const std::vector<C> all = extremes<F>();
  const kl::Array<C> z = kl::from_host(all);
  const auto magnitude = kl::eval(kl::abs(z)).to_host();
  const auto direction = kl::eval(kl::sign(z)).to_host();
  const F epsilon = std::numeric_limits<F>::epsilon();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Complex w(all[i].real(), all[i].imag());
    const long double length = std::abs(w);
    if (length > std::numeric_limits<F>::max()) {
      EXPECT_TRUE(std::isinf(magnitude[i])) << all[i];
    } else if (std::isinf(magnitude[i])) {  // within the bound of the greatest number, which may round up
      EXPECT_GE(length, std::numeric_limits<F>::max() * (1 - 4 * static_cast<long double>(epsilon))) << all[i];
    } else {
      EXPECT_LE(std::abs(magnitude[i] - length), 4 * epsilon * length + std::numeric_limits<F>::denorm_min()) << all[i];
    }
    const Complex unit = length == 0 ? w : w / length;
    const Complex got(direction[i].real(), direction[i].imag());
    EXPECT_LE(std::abs(got - unit), 4 * static_cast<long double>(epsilon)) << all[i];
  }
}

TEST_P(ComplexNumbers, magnitude_and_sign_of_extremes) {
  expect_magnitude_and_sign_of_extremes<float>();
  expect_magnitude_and_sign_of_extremes<double>();
}

// Infinite operands beside extremes, by C99 Annex G.5.1, and zeros with the signs of (ac + bd) and (bc - ad).
TEST_P(ComplexNumbers, division_of_infinities_and_signs_of_zeros) {
  using C = std::complex<float>;
  const float inf = std::numeric_limits<float>::infinity(), least = 0x1p-149f, most = std::numeric_limits<float>::max();
  const kl::Array<C> x = kl::from_host(std::vector<C>{{0, inf}, {inf, 0}, {most, most}, {1, 1}, {0, 1}, {0, -1}});
  const kl::Array<C> y = kl::from_host(std::vector<C>{
      {-3, least}, {-3, least}, {inf, inf}, {inf, std::numeric_limits<float>::quiet_NaN()}, {0, 1}, {-0.0f, 1}});
  const auto got = kl::eval(x / y).to_host();
  EXPECT_EQ(got[0], C(inf, -inf));
  EXPECT_EQ(got[1], C(-inf, -inf));
  EXPECT_EQ(got[2], C(0, 0));
  EXPECT_EQ(std::abs(got[3]), 0.0f);
  EXPECT_EQ(got[4], C(1, 0));
  EXPECT_EQ(got[5], C(-1, 0));
  EXPECT_FALSE(std::signbit(got[4].imag()) || std::signbit(got[5].imag()));
}

/// Quotients of all combinations of special parts, as the C++ compiler's division of doubles gives them (C99 Annex
/// G.5.1). Where that leaves NaN beside an infinity, which is an infinity, any part may stand.
template <class F>
void expect_division_of_specials() {
  using C = std::complex<F>;
  const F inf = std::numeric_limits<F>::infinity(), nan = std::numeric_limits<F>::quiet_NaN();
  const F parts[] = {F(0), F(-0.0), F(1), F(-2), inf, -inf, nan};
  std::vector<C> all, dividends, divisors;
  for (const F re : parts)
    for (const F im : parts) all.emplace_back(re, im);
  for (const C& x : all)
    for (const C& y : all) dividends.push_back(x), divisors.push_back(y);
  const auto got = kl::eval(kl::from_host(dividends) / kl::from_host(divisors)).to_host();
  check::Reporter report(std::string("special division of ") + kl::name_of(kl::dtype_of<C>));
  const auto agrees = [](double want, double other, F part) {
    if (std::isnan(want)) return std::isinf(other) || std::isnan(part);
    if (want == 0 || std::isinf(want)) return part == static_cast<F>(want) && std::signbit(part) == std::signbit(want);
    return std::abs(part - want) <= 4 * static_cast<double>(std::numeric_limits<F>::epsilon()) * std::abs(want);
  };
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::complex<double> want = std::complex<double>(dividends[i]) / std::complex<double>(divisors[i]);
    if (!agrees(want.real(), want.imag(), got[i].real()) || !agrees(want.imag(), want.real(), got[i].imag()))
      report.fail(check::text(dividends[i]) + " / " + check::text(divisors[i]) + " -> " + check::text(got[i]) +
                  ", not " + check::text(want));
  }
}

TEST_P(ComplexNumbers, division_of_all_special_parts) {
  expect_division_of_specials<float>();
  expect_division_of_specials<double>();
}

TEST_P(ComplexNumbers, logarithm_of_a_nan_part_is_nan) {  // C99 G.6.3.2
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  using C = std::complex<double>;
  const kl::Array<C> z =
      kl::from_host(std::vector<C>{{1, nan}, {-1, nan}, {nan, 1}, {nan, -1}, {inf, nan}, {nan, -inf}});
  const auto got = kl::eval(kl::log(z)).to_host();
  const auto single = kl::eval(kl::log(kl::cast<std::complex<float>>(z))).to_host();
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(std::isnan(got[i].imag()) && std::isnan(single[i].imag())) << i;
    const bool infinite = i >= 4;
    EXPECT_TRUE(infinite ? got[i].real() == inf : std::isnan(got[i].real())) << i << ' ' << got[i];
    EXPECT_TRUE(infinite ? std::isinf(single[i].real()) : std::isnan(single[i].real())) << i << ' ' << single[i];
  }
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
