// tests/device/one_hot_test.cpp -- kl::one_hot, inline and traced.
#include <vector>

#include "tests/support/devices.h"

namespace {

class OneHot : public OnEachDevice {};
KILN_ON_EACH_DEVICE(OneHot);

TEST_P(OneHot, OnesWhereTheCoordinateIsTheIndex) {
  const kl::Array<std::int32_t> i = kl::from_host<std::int32_t>({2, 0, 5, -1, 3}, {5});
  const auto got = kl::eval(kl::one_hot<float>(i, 4));
  ASSERT_EQ(got.shape(), kl::Shape({5, 4}));
  const std::vector<float> want = {0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  EXPECT_EQ(got.to_host(), want);
  const auto traced = kl::jit([](auto ids) { return kl::one_hot<float>(ids, 4); });
  const kl::Array<float> same = traced(i);
  EXPECT_EQ(same.to_host(), want);
}

}  // namespace
