// tests/device/scalar_functions_test.cpp -- what kiln adds to std and to names that it shares leaves C++ numbers alone.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>

#include <gtest/gtest.h>

#include <kiln/kiln.h>

namespace {

// The most careless way to write it, which must stay what it is without kiln.
using namespace kiln;  // NOLINT(google-build-using-namespace)

TEST(ScalarFunctions, of_the_standard_library_are_still_found) {
  EXPECT_EQ(std::sin(0.0f), 0.0f);
  EXPECT_EQ(std::abs(-3), 3);
  EXPECT_EQ(std::abs(-2.5f), 2.5f);
  EXPECT_EQ(std::pow(2, 3.0), 8.0);
  EXPECT_EQ(std::max(1, 2), 2);
  EXPECT_EQ(std::min({3.0, 2.0}), 2.0);
  EXPECT_EQ(std::clamp(7, 0, 5), 5);
  EXPECT_EQ(std::lerp(1.0f, 3.0f, 0.5f), 2.0f);
  EXPECT_EQ(std::midpoint(1, 3), 2);
  EXPECT_EQ(std::ldexp(1.0f, 3), 8.0f);
  EXPECT_EQ(std::lround(2.5), 3);
  EXPECT_EQ(std::fdim(3.0f, 1.0f), 2.0f);
  EXPECT_TRUE(std::isnan(std::nan("")));
  EXPECT_TRUE(std::signbit(-0.0f));
  EXPECT_TRUE(std::isnormal(1));
}

TEST(ScalarFunctions, of_complex_numbers_are_still_found) {
  const std::complex<float> z(3.0f, 4.0f);
  EXPECT_EQ(std::norm(z), 25.0f);
  EXPECT_EQ(std::abs(z), 5.0f);
  EXPECT_EQ(std::real(z), 3.0f);
  EXPECT_EQ(std::imag(2.0), 0.0);
  EXPECT_EQ(std::conj(z), std::complex<float>(3.0f, -4.0f));
  EXPECT_EQ(std::arg(1.0f), 0.0f);
}

TEST(ScalarFunctions, without_a_namespace_are_those_of_c) {
  EXPECT_EQ(sqrt(4.0), 2.0);
  EXPECT_EQ(sqrt(4), 2.0);
  EXPECT_EQ(exp(0.0f), 1.0f);
  EXPECT_EQ(pow(2.0f, 3), 8.0f);
  EXPECT_EQ(exp(half(0.0f)), 1.0) << "converts to float";
  EXPECT_EQ(std::sqrt(bfloat16(4.0f)), 2.0f);
}

}  // namespace
