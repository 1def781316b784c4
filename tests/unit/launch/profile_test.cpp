// tests/unit/launch/profile_test.cpp -- kl::profile on a fake GPU: events around launches, captured work, peaks.
#include <kiln/profile.h>

#include <algorithm>

#include "tests/unit/launch/fake_gpu.h"

namespace kiln {
namespace {

constexpr ProfileOptions silent{.print = false};
constexpr double elapsed_ms = 1.5;             // every time that the fake driver measures
constexpr double peak = 2 * 3.2e9 * 5120 / 8;  // its memory: 3.2 GHz, two transfers per clock, 5120 bits

const auto scaled = jit("scaled", [](auto v) { return 2 * v; });
const auto unit = jit("unit", [](auto v) { return v / norm(v); });

class FakeProfile : public FakeGpuTest {
 protected:
  Array<float> x{{1 << 20}}, y{{1 << 20}};
};

TEST_F(FakeProfile, ALaunchStandsBetweenTwoEventsOnItsStream) {
  scaled.into(y)(x);
  const Stream stream(Device::cuda(0));
  const StreamGuard guarded(stream);
  clear();
  profile([&] { scaled.into(y)(x); }, silent);
  auto& calls = fake_driver().calls;
  const auto launch =
      std::find_if(calls.begin(), calls.end(), [](const std::string& c) { return c.starts_with("cuLaunchKernel"); });
  ASSERT_NE(launch, calls.end());
  const std::string on = launch->substr(launch->find("stream="), launch->find(" grid") - launch->find("stream="));
  for (const std::string& neighbour : {*(launch - 1), *(launch + 1)}) {
    EXPECT_TRUE(neighbour.starts_with("cuEventRecord")) << neighbour;
    EXPECT_NE(neighbour.find(on), std::string::npos) << neighbour << " beside " << *launch;
  }
}

TEST_F(FakeProfile, NothingIsRecordedWithoutAProfile) {
  profile([&] { scaled.into(y)(x); }, silent);
  clear();
  scaled.into(y)(x);
  EXPECT_EQ(count("cuEvent"), 0);
  EXPECT_EQ(count("cuLaunchKernel"), 1);
}

TEST_F(FakeProfile, EventsAreUsedAgain) {
  profile([&] { scaled.into(y)(x); }, silent);
  clear();
  profile([&] { scaled.into(y)(x); }, silent);
  EXPECT_EQ(count("cuEventCreate"), 0);
  EXPECT_EQ(count("cuEventElapsedTime"), 1);
}

TEST_F(FakeProfile, TimesBandwidthsAndPeaksFollowFromTheEvents) {
  const Profile result = profile(
      [&] {
        for (int i = 0; i < 4; ++i) scaled.into(y)(x);
      },
      silent);
  ASSERT_EQ(result.size(), 1u) << result.table().c_str();
  const ProfileRow& row = result[0];
  EXPECT_DOUBLE_EQ(row.total_ms, 4 * elapsed_ms);
  EXPECT_DOUBLE_EQ(row.mean_ms, elapsed_ms);
  const double gigabytes = 2.0 * (1 << 20) * 4 / (elapsed_ms * 1e-3) / 1e9;
  EXPECT_NEAR(row.gigabytes_per_second, gigabytes, 1e-9 * gigabytes);
  EXPECT_NEAR(row.of_peak, gigabytes * 1e9 / peak, 1e-12);
  EXPECT_DOUBLE_EQ(result.device_ms(), 4 * elapsed_ms);
  const Roofline roof = scaled.inspect(x).roofline(elapsed_ms);
  EXPECT_NEAR(roof.of_peak, gigabytes * 1e9 / peak, 1e-12);
  EXPECT_TRUE(roof.text().contains("of the 4096 GB/s of Fake GPU")) << roof.text().c_str();
}

TEST_F(FakeProfile, CapturedLaunchesAreCountedAndNotTimed) {
  scaled.into(y)(x);
  clear();
  fake_driver().capturing = true;
  const Profile result = profile([&] { scaled.into(y)(x); }, silent);
  fake_driver().capturing = false;
  ASSERT_EQ(result.size(), 1u);
  EXPECT_EQ(result[0].count, 1);
  EXPECT_EQ(result[0].captured, 1);
  EXPECT_EQ(result[0].total_ms, 0);
  EXPECT_EQ(result[0].bytes, 0) << "it moves its bytes when the graph runs";
  EXPECT_EQ(count("cuEventRecord"), 0);
  EXPECT_TRUE(result.table().contains("captured into a graph")) << result.table().c_str();
}

TEST_F(FakeProfile, EachKernelOfASplitPlanHasItsRow) {
  Array<float> large({1 << 24}), result({1 << 24});
  const Profile taken = profile([&] { unit.into(result)(large); }, silent);
  ASSERT_EQ(taken.size(), 2u) << taken.table().c_str();
  for (const ProfileRow& row : taken) EXPECT_TRUE(row.label.contains("unit (profile_test.cpp:")) << row.label.c_str();
  EXPECT_NEAR(taken[0].share, 0.5, 1e-12);
}

TEST_F(FakeProfile, AFailedLaunchIsNotCounted) {
  scaled.into(y)(x);
  fake_driver().faults["cuLaunchKernel"] = {.result = 719};
  Profiler profiler;
  EXPECT_THROW(scaled.into(y)(x), DeviceError);
  fake_driver().faults.clear();
  EXPECT_EQ(profiler.stop().size(), 0u);
}

}  // namespace
}  // namespace kiln
