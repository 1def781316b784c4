// tests/device/cases_contraction_test.cpp -- cases A13 and A24: a value that several passes or kernels compute is the
// same in all of them, whether its products are fused with its sums or not.
#include <cmath>
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

}  // namespace
