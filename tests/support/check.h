// tests/support/check.h -- runs an elementwise expression on whole vectors and compares with a scalar reference.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "tests/support/devices.h"
#include "tests/support/values.h"

namespace check {

template <class T>
std::string text(T value) {
  std::ostringstream out;
  out.precision(21);
  if constexpr (reference::is_complex<T>) {
    out << '(' << value.real() << ", " << value.imag() << ')';
  } else if constexpr (reference::is_float<T>) {
    out << static_cast<double>(reference::widen(value));
  } else {
    out << static_cast<long long>(value);
  }
  return out.str();
}

/// Counts mismatches and reports the first few, so that one wrong rule does not print thousands of lines.
class Reporter {
 public:
  explicit Reporter(std::string rule) : rule_(std::move(rule)) {}
  ~Reporter() {
    EXPECT_EQ(failures_, 0) << rule_ << ": " << failures_ << " mismatches, worst error " << worst_ << " ulp";
  }
  void note(double error) { worst_ = error > worst_ ? error : worst_; }
  void fail(const std::string& what) {
    if (failures_++ < 5) ADD_FAILURE() << rule_ << ": " << what;
  }

 private:
  std::string rule_;
  int failures_ = 0;
  double worst_ = 0;
};

/// f16 and bf16 compute in f32 and round once, so their error is the rounding's half ulp and a little more.
template <class R>
double storage_tolerance(double tolerance) {
  if (std::is_same_v<R, kl::half> || std::is_same_v<R, kl::bfloat16>) return tolerance == 0 ? 0.5 : 0.5 + tolerance / 8;
  return tolerance == 0 ? 0.5 : tolerance;
}

/// Floating results within `tolerance` ulp (0 = correctly rounded) of a long double reference.
template <class T, class Expression, class Reference>
void unary_float(const std::string& rule, const std::vector<T>& input, Expression expression, Reference expected,
                 double tolerance) {
  kl::Array<T> x = kl::from_host(input);
  auto got = kl::eval(expression(x)).to_host();
  using R = typename decltype(got)::value_type;
  Reporter report(rule + " of " + kl::name_of(kl::dtype_of<T>));
  for (std::size_t i = 0; i < input.size(); ++i) {
    const reference::Real want = expected(static_cast<reference::Real>(reference::widen(static_cast<T>(input[i]))));
    const double error = static_cast<double>(reference::error_in_ulp<R>(got[i], want));
    report.note(error);
    if (!(error <= storage_tolerance<R>(tolerance))) {
      report.fail(text<T>(input[i]) + " -> " + text<R>(got[i]) + ", expected " + text(static_cast<double>(want)) +
                  ", error " + text(error) + " ulp");
    }
    if (want == 0 && std::signbit(want) != std::signbit(reference::widen(got[i]))) {
      report.fail(text<T>(input[i]) + ": wrong sign of zero");
    }
  }
}

template <class T, class Expression, class Reference>
void binary_float(const std::string& rule, const std::vector<T>& a, const std::vector<T>& b, Expression expression,
                  Reference expected, double tolerance) {
  kl::Array<T> x = kl::from_host(a), y = kl::from_host(b);
  auto got = kl::eval(expression(x, y)).to_host();
  using R = typename decltype(got)::value_type;
  Reporter report(rule + " of " + kl::name_of(kl::dtype_of<T>));
  for (std::size_t i = 0; i < a.size(); ++i) {
    const reference::Real want = expected(static_cast<reference::Real>(reference::widen(static_cast<T>(a[i]))),
                                          static_cast<reference::Real>(reference::widen(static_cast<T>(b[i]))));
    const double error = static_cast<double>(reference::error_in_ulp<R>(got[i], want));
    report.note(error);
    if (!(error <= storage_tolerance<R>(tolerance))) {
      report.fail("(" + text<T>(a[i]) + ", " + text<T>(b[i]) + ") -> " + text<R>(got[i]) + ", expected " +
                  text(static_cast<double>(want)) + ", error " + text(error) + " ulp");
    }
    if (want == 0 && std::signbit(want) != std::signbit(reference::widen(got[i]))) {
      report.fail("(" + text<T>(a[i]) + ", " + text<T>(b[i]) + "): wrong sign of zero");
    }
  }
}

/// Exact results (integers, booleans, bit-exact floats): `expected` returns the element itself.
template <class T, class Expression, class Reference>
void unary_exact(const std::string& rule, const std::vector<T>& input, Expression expression, Reference expected) {
  kl::Array<T> x = kl::from_host(input);
  auto got = kl::eval(expression(x)).to_host();
  using R = typename decltype(got)::value_type;
  static_assert(std::is_same_v<R, decltype(expected(input[0]))>, "the rule fixes the result type");
  Reporter report(rule + " of " + kl::name_of(kl::dtype_of<T>));
  for (std::size_t i = 0; i < input.size(); ++i) {
    const R want = expected(input[i]), value = got[i];
    if (!(value == want)) report.fail(text<T>(input[i]) + " -> " + text<R>(value) + ", expected " + text<R>(want));
  }
}

template <class T, class U, class Expression, class Reference>
void binary_exact(const std::string& rule, const std::vector<T>& a, const std::vector<U>& b, Expression expression,
                  Reference expected) {
  kl::Array<T> x = kl::from_host(a);
  kl::Array<U> y = kl::from_host(b);
  auto got = kl::eval(expression(x, y)).to_host();
  using R = typename decltype(got)::value_type;
  static_assert(std::is_same_v<R, decltype(expected(a[0], b[0]))>, "the rule fixes the result type");
  Reporter report(rule + " of " + kl::name_of(kl::dtype_of<T>) + ", " + kl::name_of(kl::dtype_of<U>));
  for (std::size_t i = 0; i < a.size(); ++i) {
    const R want = expected(a[i], b[i]), value = got[i];
    if (!(value == want)) {
      report.fail("(" + text<T>(a[i]) + ", " + text<U>(b[i]) + ") -> " + text<R>(value) + ", expected " +
                  text<R>(want));
    }
  }
}

}  // namespace check
