// tests/device/captured_combiner_test.cpp -- functions of kl::reduce, kl::scan and kl::ufunc that capture numbers.
#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/devices.h"

namespace {

class CapturedCombiner : public OnEachDevice {};
KILN_ON_EACH_DEVICE(CapturedCombiner);

using Floats = std::vector<float>;

/// The larger by `weight` * |value|: associative and commutative for any weight.
auto heavier(float weight) {
  return [weight](auto a, auto b) { return kl::where(weight * kl::abs(a) >= weight * kl::abs(b), a, b); };
}

TEST_P(CapturedCombiner, each_value_is_a_function_of_its_own) {
  const kl::Array<float> x = kl::from_host(Floats{1, -5, 3, 2, -2.5f, 4}, {2, 3});
  const auto most = [&](float weight, float identity) {
    return kl::eval(kl::reduce(x, 1, identity, heavier(weight))).to_host();
  };
  EXPECT_EQ(most(1, 0), (Floats{-5, 4}));
  EXPECT_EQ(most(-1, 1e30f), (Floats{1, 2})) << "the sign of what is captured turns the order";
  EXPECT_EQ(most(1, 0), (Floats{-5, 4})) << "and back: no kernel is mistaken for another's";
}

TEST_P(CapturedCombiner, in_a_compiled_function_captures_are_its_constants) {
  const kl::Array<float> x = kl::from_host(Floats{1, 2, 3, 4});
  const auto make = [](float p) {
    return kl::jit([p](auto v) {
      // (|a|^p + |b|^p)^(1/p) of non-negative values is associative.
      return kl::reduce(v, 0, 0.0f, [p](auto a, auto b) { return kl::pow(kl::pow(a, p) + kl::pow(b, p), 1 / p); });
    });
  };
  const auto two = make(2), three = make(3);
  EXPECT_NEAR(two(x).item(), std::sqrt(30.0), 1e-5);
  EXPECT_NEAR(three(x).item(), std::cbrt(100.0), 1e-5);
}

TEST_P(CapturedCombiner, scans_and_tuples_capture_too) {
  const kl::Array<float> x = kl::from_host(Floats{3, 1, 4, 1, 5}), y = kl::from_host(Floats{2, 7, 1, 8, 2});
  const float most = 6;
  const auto saturated = kl::scan(x, 0, 0.0f, [most](auto a, auto b) { return kl::minimum(a + b, most); });
  EXPECT_EQ(kl::eval(saturated).to_host(), (Floats{3, 4, 6, 6, 6}));
  const auto both = kl::reduce(std::tuple(x, y), 0, std::tuple(0.0f, 0.0f), [most](auto a, auto b) {
    return std::tuple(kl::minimum(std::get<0>(a) + std::get<0>(b), most), std::get<1>(a) + std::get<1>(b));
  });
  const auto [low, total] = kl::eval(both);
  EXPECT_EQ(low.item(), 6.0f);
  EXPECT_EQ(total.item(), 20.0f);
}

TEST_P(CapturedCombiner, reductions_of_a_ufunc_capture_with_and_without_identity) {
  const kl::Array<int> x = kl::from_host(std::vector<int>{7, 9, 4, 8}, {2, 2});
  const int modulus = 10;
  const auto sum = kl::ufunc([modulus](auto a, auto b) { return (a + b) % modulus; });
  EXPECT_EQ(kl::eval(sum.reduce(x, 1)).to_host(), (std::vector<int>{6, 2}));
  EXPECT_EQ(kl::eval(sum.accumulate(x, 0)).to_host(), (std::vector<int>{7, 9, 1, 7}));
  const auto from_zero = kl::ufunc([modulus](auto a, auto b) { return (a + b) % modulus; }, kl::identity(0));
  EXPECT_EQ(kl::eval(from_zero.reduce(kl::zeros<int>({0, 2}), 0)).to_host(), (std::vector<int>{0, 0}));
  kl::Array<int> target = kl::from_host(std::vector<int>{1, 2, 3});
  sum.at(target, kl::from_host(std::vector<int>{0, 2, 0}), kl::from_host(std::vector<int>{5, 9, 6}));
  EXPECT_EQ(target.to_host(), (std::vector<int>{2, 2, 2}));
}

TEST_P(CapturedCombiner, a_traced_value_cannot_be_captured) {
  const kl::Array<float> x = kl::ones<float>({4});
  const auto f =
      kl::jit([](auto v, auto k) { return kl::reduce(v, 0, 0.0f, [k](auto a, auto b) { return a + k * b; }); });
  try {
    f(x, 2.0f);
    FAIL() << "k belongs to the trace around";
  } catch (const kl::TypeError& error) {
    EXPECT_NE(std::string(error.what()).find("another trace"), std::string::npos) << error.what();
  }
  EXPECT_EQ(kl::sum(x).item(), 4.0f);
}

// Rule: one component of a reduction may be taken at the place that another one gives; both come from one kernel.
TEST_P(CapturedCombiner, a_component_is_taken_by_index) {
  const kl::Array<float> x = kl::from_host(Floats{3, 9, 4, 1});
  const auto largest = kl::jit([](auto v) {
    auto [most, at] = kl::reduce(
        std::tuple(v, kl::index(v, 0)), 0, std::tuple(-1e30f, std::int64_t{9}),
        [](auto a, auto b) {
          auto [p, i] = a;
          auto [q, j] = b;
          auto later = q > p || (q == p && j < i);
          return std::tuple(kl::where(later, q, p), kl::where(later, j, i));
        },
        kl::keepdims);
    return kl::take(most, at, 0, kl::OutOfRange::clip);
  });
  EXPECT_EQ(largest(x).to_host(), Floats{9});
}

}  // namespace
