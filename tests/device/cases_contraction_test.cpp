// tests/device/cases_contraction_test.cpp -- cases A13 and A24: a value that several passes or kernels compute is the
// same in all of them, whether its products are fused with its sums or not.
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/devices.h"

namespace {

class ContractionCases : public OnEachDevice {};
KILN_ON_EACH_DEVICE(ContractionCases);

/// p * 0.3 + q * 0.7 of equal elements: each is the largest, and nothing is larger.
template <class T>
void check_equal_elements(std::int64_t n) {
  const auto sums = kl::jit([](auto p, auto q) {
    const auto s = p * T(0.3f) + q * T(0.7f);
    const auto largest = kl::max(s);
    return std::tuple(kl::cast<int>(s == largest), s - largest);
  });
  const kl::Array<T> p = kl::full({n}, T(1.00699997f)), q = kl::full({n}, T(1.99510002f));
  const auto [equal, above] = sums(p, q);
  EXPECT_EQ(kl::sum(equal).item(), n) << n;
  EXPECT_EQ(kl::max(kl::abs(above)).item(), T(0)) << n;
  const kl::Array<int> inline_equal = kl::cast<int>(p * T(0.3f) + q * T(0.7f) == kl::max(p * T(0.3f) + q * T(0.7f)));
  EXPECT_EQ(kl::sum(inline_equal).item(), n) << "inline, " << n;
}

TEST_P(ContractionCases, equal_elements_are_their_maximum) {
  for (const std::int64_t n : {2, 64, 1000, 1003, 20000, 300000, 1000003}) {
    check_equal_elements<float>(n);
    check_equal_elements<double>(n);
  }
}

// Rule: no term of a softmax is above 1, and they sum to 1, however large the products are whose sum it is taken of.
TEST_P(ContractionCases, softmax_of_sums_of_products) {
  for (const std::int64_t n : {3, 64, 1000, 4097, 20000}) {
    const std::int64_t rows = 7;
    std::vector<float> a, b;
    for (std::int64_t i = 0; i < rows * n; ++i) {
      a.push_back(3 * std::sin(.37f * static_cast<float>(i)));
      b.push_back(2 * std::cos(1.7f * static_cast<float>(i)));
    }
    const kl::Array<float> x = kl::from_host(a, {rows, n}), y = kl::from_host(b, {rows, n});
    const auto check = [&](const kl::Array<float>& result, const char* what) {
      const std::vector<float> values = result.to_host();
      for (std::int64_t row = 0; row < rows; ++row) {
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          const float value = values[static_cast<std::size_t>(row * n + i)];
          EXPECT_LE(value, 1.000001f) << what << ", " << n;
          sum += static_cast<double>(value);
        }
        EXPECT_NEAR(sum, 1, 1e-4) << what << ", " << n;
      }
    };
    const auto large = kl::jit([](auto v, auto w) {
      const auto s = v * 1e6f + w * 1e6f;
      const auto e = kl::exp(s - kl::max(s, -1, kl::keepdims));
      return e / kl::sum(e, -1, kl::keepdims);
    });
    check(large(x, y), "1e6 v + 1e6 w");
    const auto mixed = kl::jit([](auto v, auto w, auto scale) {
      const auto s = v * scale + w * 700.0f;
      const auto e = kl::exp(s - kl::max(s, -1, kl::keepdims));
      return e / kl::sum(e, -1, kl::keepdims);
    });
    check(mixed(x, y, 1e3f), "scale v + 700 w");
  }
}

/// The exponentials of a softmax of s, and the softmax: what passes that compute s anew make of it.
template <class S>
auto exponentials_and_softmax(const S& s, int axis) {
  const auto e = kl::exp(s - kl::max(s, axis, kl::keepdims));
  return std::tuple(e, e / kl::sum(e, axis, kl::keepdims));
}

/// Rule: where each pass computes s, it computes the same s: the largest element of a row is its maximum to the bit, so
/// that its exponential is 1 and none is larger. A product that is fused with the sum in one pass alone leaves a
/// quarter, half or whole unit of 3e6 between them.
template <class F>
void expect_one_s(const char* what, const F& f, const std::vector<float>& a, const std::vector<float>& b,
                  std::int64_t rows, std::int64_t n, int axis) {
  const kl::Shape shape = axis == 1 ? kl::Shape{rows, n} : kl::Shape{n, rows};
  const kl::Array<float> x = kl::from_host(a, shape), y = kl::from_host(b, shape);
  const auto [e, p] = f(x, y);
  const std::string rule = std::string(what) + ", " + std::to_string(n) + " along axis " + std::to_string(axis);
  for (const float largest : kl::eval(kl::max(e, axis)).to_host()) ASSERT_EQ(largest, 1.0f) << rule;
  for (const float total : kl::eval(kl::sum(kl::cast<double>(p), axis)).to_host()) ASSERT_NEAR(total, 1, 1e-5) << rule;
}

// A13: (x / 1e-6) + (y / 1e-6) and its like, with quotients and products by literals, baked constants and run-time
// numbers, over every schedule that lengths bring.
TEST_P(ContractionCases, chained_passes_compute_one_value) {
  const auto quotients = kl::jit([](auto x, auto y) { return exponentials_and_softmax(x / 1e-6f + y / 1e-6f, 1); });
  const auto products = kl::jit([](auto x, auto y) { return exponentials_and_softmax(x * 1e6f + y * 3e5f, 1); });
  const auto baked = kl::jit([](auto x, auto y) {
    return exponentials_and_softmax(x / kl::lit(1e-6f) - y * kl::lit(7e5f) + x * y * kl::lit(1e5f), 1);
  });
  const auto scaled = kl::jit([](auto x, auto y, auto s) { return exponentials_and_softmax(x / s + y * 1e6f, 1); });
  const auto mixed = kl::jit([](auto x, auto y) {
    return exponentials_and_softmax(kl::fma(x, kl::lit(1e6f), y / 1e-6f) + (x * 0.3f + y * 0.7f) * 1e6f, 1);
  });
  const auto columns = kl::jit([](auto x, auto y) { return exponentials_and_softmax(x / 1e-6f + y * 1e6f, 0); });
  for (const std::int64_t n : {1, 2, 31, 100, 1000, 4097, 20000, 150000}) {
    const std::int64_t rows = n > 20000 ? 3 : 9;
    std::vector<float> a, b;
    for (std::int64_t i = 0; i < rows * n; ++i) {
      a.push_back(3 * std::sin(.37f * static_cast<float>(i)));
      b.push_back(2 * std::cos(1.7f * static_cast<float>(i)));
    }
    expect_one_s("x / 1e-6 + y / 1e-6", quotients, a, b, rows, n, 1);
    expect_one_s("x 1e6 + y 3e5", products, a, b, rows, n, 1);
    expect_one_s("baked constants", baked, a, b, rows, n, 1);
    expect_one_s("x / s + 1e6 y", [&](const auto& x, const auto& y) { return scaled(x, y, 1e-6f); }, a, b, rows, n, 1);
    expect_one_s("chained", mixed, a, b, rows, n, 1);
    expect_one_s("columns", columns, a, b, rows, n, 0);
    if (HasFatalFailure()) return;
  }
}

// A13: with contraction off the values are those of separately rounded operations, which the host computes too.
TEST_P(ContractionCases, separately_rounded_sums_of_quotients) {
  const auto sums = kl::jit([](auto x, auto y) { return x / 1e-6f + y / 1e-6f; }, kl::Options{.contract = false});
  const auto products =
      kl::jit([](auto x, auto y) { return x * kl::lit(0.3f) + y * 0.7f - x * y; }, kl::Options{.contract = false});
  const auto largest =
      kl::jit([](auto x, auto y) { return kl::max(x * 1e6f + y * 0.7f); }, kl::Options{.contract = false});
  std::vector<float> a, b, quotients_of, products_of;
  volatile float most = -1e30f;  // volatile: rounded where it is stored, whatever the compiler contracts
  for (int i = 0; i < 50001; ++i) {
    a.push_back(3 * std::sin(.37f * static_cast<float>(i))), b.push_back(2 * std::cos(1.7f * static_cast<float>(i)));
    const volatile float q = a.back() / 1e-6f, r = b.back() / 1e-6f, s = a.back() * 0.3f, t = b.back() * 0.7f;
    const volatile float product = a.back() * b.back(), sum = s + t, u = a.back() * 1e6f, v = u + t;
    quotients_of.push_back(q + r), products_of.push_back(sum - product);
    if (v > most) most = v;
  }
  const kl::Array<float> x = kl::from_host(a), y = kl::from_host(b);
  EXPECT_EQ(sums(x, y).to_host(), quotients_of);
  EXPECT_EQ(products(x, y).to_host(), products_of);
  EXPECT_EQ(largest(x, y).item(), static_cast<float>(most));
}

}  // namespace
