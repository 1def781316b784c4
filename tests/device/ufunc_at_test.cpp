// tests/device/ufunc_at_test.cpp -- how kl::ufunc's at matches values to indices.
#include <vector>

#include "tests/support/devices.h"

namespace {

class UfuncAt : public OnEachDevice {};
KILN_ON_EACH_DEVICE(UfuncAt);

const auto plus = kl::ufunc([](auto a, auto b) { return a + b; });

// Rule: at takes one value per index; fewer are repeated as operands of expressions are, others are refused.
TEST_P(UfuncAt, repeats_values_and_refuses_others) {
  const auto after = [&](const auto& indices, const auto& values) {
    kl::Array<float> x = kl::zeros<float>({4});
    plus.at(x, indices, values);
    return x.to_host();
  };
  EXPECT_EQ(after(kl::from_host({0, 1}), kl::from_host({1.0f})), (std::vector<float>{1, 1, 0, 0}));
  EXPECT_EQ(after(kl::from_host({0, 0, 3}), 5.0f), (std::vector<float>{10, 0, 0, 5}));
  EXPECT_EQ(after(kl::from_host({{0, 1}, {1, 3}}), kl::from_host({1.0f, 10.0f})), (std::vector<float>{1, 11, 0, 10}));
  EXPECT_THROW(after(kl::from_host({0, 1, 2}), kl::from_host({1.0f, 10.0f})), kl::ShapeError);
  EXPECT_THROW(after(kl::from_host({0, 1}), kl::from_host({1.0f, 2.0f, 3.0f})), kl::ShapeError);
}

}  // namespace
