// tests/device/traced_shape_test.cpp -- size() and shape() of traced values: numbers that follow from the call's
// shapes.
#include <string>
#include <vector>

#include "tests/support/devices.h"

namespace {

class TracedShape : public OnEachDevice {};
KILN_ON_EACH_DEVICE(TracedShape);

using Floats = std::vector<float>;

TEST_P(TracedShape, new_extents_are_new_numbers_and_no_new_trace) {
  int traces = 0;
  const auto mean = kl::jit([&traces](auto x) {
    ++traces;
    return kl::sum(x) / x.size();
  });
  EXPECT_EQ(mean(kl::from_host(Floats{1, 2, 3, 6})).item(), 3.0f);
  EXPECT_EQ(mean(kl::from_host(Floats{1, 2, 6})).item(), 3.0f);
  EXPECT_EQ(traces, 1);
}

TEST_P(TracedShape, axes_count_from_either_end) {
  const auto f = kl::jit([](auto x) { return 0 * x + 100 * x.shape()[0] + 10 * x.shape()[1] + x.shape()[-1]; });
  EXPECT_EQ(f(kl::ones<float>({2, 3})).to_host(), Floats(6, 233));
  const auto g = kl::jit([](auto x) { return x + x.t().shape()[0] + kl::sum(x, 0).size(); });
  EXPECT_EQ(g(kl::zeros<float>({2, 3})).to_host(), Floats(6, 6)) << "of a view and of a reduction";
}

TEST_P(TracedShape, it_takes_the_type_of_the_array_beside_it) {
  const auto f = kl::jit([](auto x) { return x * x.size(); });
  static_assert(std::is_same_v<decltype(f(std::declval<kl::Array<float>>())), kl::Array<float>>);
  static_assert(std::is_same_v<decltype(f(std::declval<kl::Array<std::int8_t>>())), kl::Array<std::int8_t>>);
  const auto centre = kl::jit([](auto x) { return kl::cast<float>(kl::index(x, 0)) - (x.shape()[0] - 1) / 2.0f; });
  EXPECT_EQ(centre(kl::zeros<float>({4})).to_host(), (Floats{-1.5f, -0.5f, 0.5f, 1.5f}));
}

TEST_P(TracedShape, in_a_gufunc_it_is_that_of_the_item) {
  const auto f = kl::gufunc<"(n)->()">([](auto x) { return kl::sum(x) + x.size() + 10 * x.shape()[0]; });
  EXPECT_EQ(f(kl::zeros<float>({2, 3})).to_host(), (Floats{33, 33}));
}

TEST_P(TracedShape, an_axis_that_is_not_there_names_the_line) {
  const auto f = kl::jit([](auto x) { return x + x.shape()[1]; });
  try {
    f(kl::zeros<float>({4}));
    FAIL() << "vectors have one axis";
  } catch (const kl::ShapeError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("shape()[1]"), std::string::npos) << text;
    EXPECT_NE(text.find("traced_shape_test.cpp:"), std::string::npos) << text;
  }
}

}  // namespace
