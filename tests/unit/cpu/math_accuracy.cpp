// tests/unit/cpu/math_accuracy.cpp -- every function of the CPU maths against the C library in a wider type.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "tests/unit/cpu/kernel_runner.h"

namespace kiln::test {
namespace {

using Wide = long double;

/// Distance from the exact value in units of the last place of T, where overflow and NaN must agree exactly.
template <class T>
double ulps(T got, Wide exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : 1e30;
  if (std::isnan(got)) return 1e30;
  const T nearest = static_cast<T>(exact);
  if (got == nearest) return 0;
  if (std::isinf(got)) {
    // Infinity counts as the number after the largest finite one.
    got = std::copysign(std::numeric_limits<T>::max(), got);
    return std::isinf(nearest) ? 1e30 : 1 + ulps(got, exact);
  }
  if (std::isinf(nearest)) return std::abs(got) == std::numeric_limits<T>::max() ? 1 : 1e30;
  const T size = std::max(std::abs(nearest), std::numeric_limits<T>::min());
  const Wide ulp = std::ldexp(Wide{1}, std::ilogb(size) - std::numeric_limits<T>::digits + 1);
  return static_cast<double>(std::abs(static_cast<Wide>(got) - exact) / ulp);
}

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// Numbers of every exponent and sign, then every special value, then moderate ones, where functions are busiest.
template <class T>
std::vector<T> samples(std::size_t count, std::uint64_t seed) {
  std::vector<T> values = {T(0), -T(0), T(1), -T(1), T(0.5), -T(0.5), T(2), T(-2), T(3), T(-3)};
  using L = std::numeric_limits<T>;
  for (const T v : {L::infinity(), L::max(), L::min(), L::denorm_min(), L::epsilon()}) {
    values.push_back(v);
    values.push_back(-v);
  }
  values.push_back(L::quiet_NaN());
  for (int k = 1; k < 3000; ++k) {  // beside multiples of pi/2, where the reduction cancels most
    const T near = static_cast<T>(k * 1.57079632679489661923L);
    for (const T v : {near, std::nextafter(near, T(0)), std::nextafter(near, 2 * near)}) values.push_back(v);
  }
  std::uint64_t state = seed;
  const auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ (state >> 29);
  };
  while (values.size() < count) {
    const std::uint64_t word = next();
    if (word & 1) {
      values.push_back(std::bit_cast<T>(static_cast<Bits<T>>(word >> (64 - 8 * sizeof(T)))));
    } else {
      const T unit = static_cast<T>(static_cast<double>(word >> 12) * 0x1p-51 - 1);
      values.push_back(unit * static_cast<T>((word & 6) == 0   ? 1
                                             : (word & 6) == 2 ? 10
                                             : (word & 6) == 4 ? 120
                                                               : 50000));
    }
  }
  return values;
}

struct Function {
  Op op;
  const char* name;
  Wide (*reference)(Wide);
  double f32_bound, f64_bound;
};

Wide lgamma_wide(Wide x) {
  int sign = 0;
  return ::lgammal_r(x, &sign);
}
Wide rsqrt_wide(Wide x) { return 1 / std::sqrt(x); }

const Function functions[] = {
    {Op::exp, "exp", std::exp, 1.5, 1},        {Op::exp2, "exp2", std::exp2, 1, 1},
    {Op::expm1, "expm1", std::expm1, 1, 1},    {Op::log, "log", std::log, 1, 1},
    {Op::log2, "log2", std::log2, 1, 1},       {Op::log10, "log10", std::log10, 1, 2},
    {Op::log1p, "log1p", std::log1p, 1, 1},    {Op::sin, "sin", std::sin, 2, 1},
    {Op::cos, "cos", std::cos, 2, 1},          {Op::tan, "tan", std::tan, 1, 1},
    {Op::asin, "asin", std::asin, 1, 1},       {Op::acos, "acos", std::acos, 1, 1},
    {Op::atan, "atan", std::atan, 1, 1},       {Op::sinh, "sinh", std::sinh, 1, 2},
    {Op::cosh, "cosh", std::cosh, 1, 2},       {Op::tanh, "tanh", std::tanh, 1, 3},
    {Op::asinh, "asinh", std::asinh, 1, 2},    {Op::acosh, "acosh", std::acosh, 1, 2},
    {Op::atanh, "atanh", std::atanh, 1, 2},    {Op::erf, "erf", std::erf, 1, 1},
    {Op::erfc, "erfc", std::erfc, 1, 3},       {Op::cbrt, "cbrt", std::cbrt, 1, 4},
    {Op::rsqrt, "rsqrt", rsqrt_wide, 2, 2},    {Op::lgamma, "lgamma", lgamma_wide, 1, 4},
    {Op::tgamma, "tgamma", std::tgamma, 1, 6},
};

/// CPU_MATH_SAMPLES raises the number of samples for runs outside CI.
std::size_t sample_count(std::size_t usual) {
  const char* text = std::getenv("CPU_MATH_SAMPLES");
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

template <class T>
void check_unary(const Function& function, double bound) {
  const DType type = dtype_of<T>;
  const CompiledKernel kernel(operation_kernel(function.op, 1, type, type));
  const std::vector<T> x = samples<T>(sample_count(sizeof(T) == 4 ? 60000 : 20000), 7);
  const std::vector<T> y = run_flat<T, T>(kernel, {x});
  double worst = 0;
  std::size_t where = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double error = ulps(y[k], function.reference(static_cast<Wide>(x[k])));
    if (error > worst) {
      worst = error;
      where = k;
    }
    if (x[k] == 0 && function.reference(Wide{1e-30L}) < 1e-10L) {
      EXPECT_EQ(std::signbit(y[k]), std::signbit(static_cast<T>(function.reference(x[k]))))
          << function.name << "(" << x[k] << ")";
    }
  }
  EXPECT_LE(worst, bound) << function.name << " of " << name_of(type) << " at " << x[where] << ": " << y[where]
                          << ", exact " << static_cast<double>(function.reference(static_cast<Wide>(x[where])));
  if (std::getenv("CPU_MATH_VERBOSE"))
    printf("%-7s %s  max %.3f ulp at %.9g\n", function.name, name_of(type), worst, static_cast<double>(x[where]));
}

TEST(CpuMath, UnaryF32WithinTwoUlpOverTheWholeRange) {
  for (const Function& function : functions) check_unary<float>(function, function.f32_bound);
}

TEST(CpuMath, UnaryF64) {
  for (const Function& function : functions) check_unary<double>(function, function.f64_bound);
}

// Rule: the library's form of erf is 1 + erf(x) within 1.2e-7, like a GPU's, and its negative tail does not cancel.
TEST(CpuMath, LibraryFormOfErfIsAccurateBesideOne) {
  codegen::Kernel kernel = operation_kernel(Op::erf, 1, DType::f32, DType::f32);
  const codegen::NodeId operand[] = {kernel.body.load(0, DType::f32)};
  kernel.body.outputs = {kernel.body.operation(Op::erf, DType::f32, operand, {}, codegen::library_form)};
  const std::vector<float> x = samples<float>(20000, 5);
  const std::vector<float> y = run_flat<float, float>(CompiledKernel(kernel), {x});
  for (std::size_t k = 0; k < x.size(); ++k) {
    const Wide exact = std::erfc(-static_cast<Wide>(x[k]));
    if (std::isnan(exact)) {
      EXPECT_TRUE(std::isnan(y[k]));
      continue;
    }
    EXPECT_LE(std::abs(y[k] - exact), 1.2e-7) << x[k];
    if (x[k] > -2) {
      EXPECT_LE(std::abs(y[k] - exact), 1e-5 * exact) << x[k];
    }
  }
}

struct BinaryFunction {
  Op op;
  const char* name;
  Wide (*reference)(Wide, Wide);
  double f32_bound, f64_bound;
};

const BinaryFunction binary_functions[] = {
    {Op::pow, "pow", std::pow, 1, 1},
    {Op::atan2, "atan2", std::atan2, 1, 1},
    {Op::hypot, "hypot", std::hypot, 1, 1},
    {Op::fmod, "fmod", std::fmod, 0, 0},
};

template <class T>
void check_binary(const BinaryFunction& function, double bound) {
  const DType type = dtype_of<T>;
  const CompiledKernel kernel(operation_kernel(function.op, 2, type, type));
  std::vector<T> a = samples<T>(sample_count(40000), 11), b = samples<T>(a.size(), 23);
  // Every special value beside every other one.
  const std::size_t specials = 21;
  for (std::size_t i = 0; i < specials; ++i) {
    for (std::size_t j = 0; j < specials; ++j) {
      a.push_back(a[i]);
      b.push_back(b[j]);
    }
  }
  const std::vector<T> y = run_flat<T, T>(kernel, {a, b});
  double worst = 0;
  std::size_t where = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const Wide exact = function.reference(a[k], b[k]);
    const double error = ulps(y[k], exact);
    if (error > worst) {
      worst = error;
      where = k;
    }
    if (exact == 0) {
      EXPECT_EQ(std::signbit(y[k]), std::signbit(exact)) << function.name << "(" << a[k] << ", " << b[k] << ")";
    }
  }
  EXPECT_LE(worst, bound) << function.name << " of " << name_of(type) << " at (" << a[where] << ", " << b[where]
                          << "): " << y[where] << ", exact "
                          << static_cast<double>(function.reference(a[where], b[where]));
  if (std::getenv("CPU_MATH_VERBOSE"))
    printf("%-7s %s  max %.3f ulp at %.9g %.9g\n", function.name, name_of(type), worst, static_cast<double>(a[where]),
           static_cast<double>(b[where]));
}

TEST(CpuMath, BinaryF32) {
  for (const BinaryFunction& function : binary_functions) check_binary<float>(function, function.f32_bound);
}

TEST(CpuMath, BinaryF64) {
  for (const BinaryFunction& function : binary_functions) check_binary<double>(function, function.f64_bound);
}

}  // namespace
}  // namespace kiln::test
