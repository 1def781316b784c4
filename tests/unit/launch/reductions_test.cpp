// tests/unit/launch/reductions_test.cpp -- calls with reductions on a fake GPU: memory, counters and launches.
#include "tests/unit/launch/fake_gpu.h"

#include <cstring>

namespace kiln {
namespace {

const auto total = jit([](auto v) { return sum(v); });
const auto row_sums = jit([](auto v) { return sum(v, -1); });

class FakeGpu : public FakeGpuTest {
 protected:
  /// Long enough that several blocks share it.
  Array<float> large{{1 << 24}};
};

TEST_F(FakeGpu, ASplitSumHasWorkspaceForTheCallAndCountersForTheStream) {
  Array<float> result{Shape()};
  total.into(result)(large);
  clear();
  const std::uint64_t before = used();
  total.into(result)(large);
  EXPECT_EQ(count("cuLaunchKernel"), 1) << "one launch joins everything";
  EXPECT_EQ(count("cuMemAllocAsync"), 1) << "partial results";
  EXPECT_EQ(count("cuMemFreeAsync"), 1);
  EXPECT_EQ(count("cuMemsetD8Async"), 0) << "the kernel left the counters zero";
  EXPECT_EQ(count("cuStreamSynchronize"), 0);
  EXPECT_EQ(used(), before);
}

TEST_F(FakeGpu, TheStreamOfALaunchIsThatOfTheCall) {
  Array<float> result{Shape()};
  Stream stream(Device::cuda(0));
  total[{.stream = stream}].into(result)(large);
  const std::string handle =
      std::to_string(*static_cast<const int*>(stream.native_handle()));  // the fake one begins with it
  EXPECT_TRUE(last("cuLaunchKernel").find("stream=" + handle) != std::string::npos) << last("cuLaunchKernel");
  total.into(result)(large);
  EXPECT_TRUE(last("cuLaunchKernel").find("stream=0") != std::string::npos) << "the current one again";
}

TEST_F(FakeGpu, TheArgumentBlockPointsAtWorkspaceAndCounters) {
  Array<float> result{Shape()};
  total.into(result)(large);
  fake_driver().argument_bytes = 32;  // x, result, workspace, counters
  total.into(result)(large);
  std::uint64_t pointers[4];
  ASSERT_EQ(fake_driver().arguments.size(), sizeof pointers);
  std::memcpy(pointers, fake_driver().arguments.data(), sizeof pointers);
  EXPECT_EQ(pointers[0], reinterpret_cast<std::uint64_t>(large.data()));
  EXPECT_EQ(pointers[1], reinterpret_cast<std::uint64_t>(result.data()));
  EXPECT_NE(pointers[2], 0u);
  ASSERT_NE(pointers[3], 0u);
  EXPECT_EQ(*reinterpret_cast<const std::uint32_t*>(pointers[3]), 0u) << "the fake driver's memory is the host's";
}

TEST_F(FakeGpu, RowsThatOneBlockJoinsNeedNeither) {
  Array<float> x({4096, 256}), result({4096});
  row_sums.into(result)(x);
  clear();
  fake_driver().argument_bytes = 32;
  row_sums.into(result)(x);
  std::uint64_t pointers[4];
  std::memcpy(pointers, fake_driver().arguments.data(), sizeof pointers);
  EXPECT_EQ(pointers[2], 0u);
  EXPECT_EQ(pointers[3], 0u);
  EXPECT_EQ(count("cuMemAllocAsync"), 0);
  EXPECT_EQ(count("cuStreamIsCapturing"), 0) << "nothing is asked of the driver but the launch";
  EXPECT_EQ(count("cuStreamGetId"), 0);
}

TEST_F(FakeGpu, StreamsHaveCountersOfTheirOwn) {
  Array<float> result{Shape()};
  total.into(result)(large);
  fake_driver().argument_bytes = 32;
  const auto counters = [&] {
    total.into(result)(large);
    std::uint64_t pointers[4];
    std::memcpy(pointers, fake_driver().arguments.data(), sizeof pointers);
    return pointers[3];
  };
  const std::uint64_t first = counters();
  EXPECT_EQ(counters(), first);
  Stream stream(Device::cuda(0));
  const StreamGuard scope(stream);
  EXPECT_NE(counters(), first);
}

/// A captured call leaves memory only inside its graph.
TEST_F(FakeGpu, CapturedSumsClearCountersThatAreTheirOwn) {
  Array<float> result{Shape()};
  total.into(result)(large);
  const std::uint64_t before = used();
  fake_driver().capturing = true;
  clear();
  total.into(result)(large);
  EXPECT_EQ(count("cuMemAllocAsync"), 2) << "partial results and counters";
  EXPECT_EQ(count("cuMemFreeAsync"), 2);
  EXPECT_EQ(count("cuMemsetD8Async"), 1);
  EXPECT_EQ(used(), before);
}

TEST_F(FakeGpu, ARefusedLaunchLeavesNothingBehind) {
  Array<float> result{Shape()};
  total.into(result)(large);
  const std::uint64_t before = used();
  fake_driver().faults["cuLaunchKernel"] = {700};
  EXPECT_THROW(total.into(result)(large), DeviceError);
  EXPECT_EQ(used(), before);
  EXPECT_NO_THROW(total.into(result)(large));
}

TEST_F(FakeGpu, LaunchControlOfReductionsIsHonoured) {
  Array<float> x({4096, 1024}), result({4096});
  row_sums[{.block = 64}].into(result)(x);
  EXPECT_NE(last("cuLaunchKernel").find("block=64,1,1"), std::string::npos) << last("cuLaunchKernel");
  row_sums[{.block = 512, .items = 8}].into(result)(x);
  EXPECT_NE(last("cuLaunchKernel").find("block=512,1,1"), std::string::npos) << last("cuLaunchKernel");
  EXPECT_NE(message_of<ShapeError>([&] { row_sums[{.block = 96}].into(result)(x); }).find("32, 64, 128"),
            std::string::npos);
  EXPECT_THROW((row_sums[{.block = 2048}].into(result)(x)), ShapeError);
  EXPECT_THROW((row_sums[{.grid = 1}].into(result)(x)), ShapeError);
  EXPECT_THROW((row_sums[{.cluster = 32}].into(result)(x)), ShapeError);
}

TEST_F(FakeGpu, ElementwiseLaunchesTakeClustersAndCooperation) {
  const auto twice = jit([](auto v) { return v * 2; });
  Array<float> x({1 << 20}), y({1 << 20});
  twice[{.cluster = 4}].into(y)(x);
  EXPECT_EQ(count("cuLaunchKernelEx"), 1);
  EXPECT_NE(fake_driver().calls.back().find("cluster=4"), std::string::npos) << fake_driver().calls.back();
  twice[{.cooperative = true}].into(y)(x);
  EXPECT_NE(fake_driver().calls.back().find("cooperative=1"), std::string::npos) << fake_driver().calls.back();
  twice[{.cluster = 7}].into(y)(x);  // does not divide the grid
  EXPECT_EQ(fake_driver().calls.back().find("cluster"), std::string::npos) << fake_driver().calls.back();
}

/// x / norm(x) of a vector that does not fit: two kernels, and the number between them never leaves the device.
TEST_F(FakeGpu, TemporariesBetweenKernelsLiveForTheCall) {
  const auto normalised = jit([](auto v) { return v / norm(v); });
  Array<float> y({1 << 24});
  normalised.into(y)(large);
  clear();
  const std::uint64_t before = used();
  normalised.into(y)(large);
  EXPECT_EQ(count("cuLaunchKernel"), 2);
  EXPECT_EQ(count("cuMemAllocAsync"), 2) << "the norm and partial results";
  EXPECT_EQ(count("cuMemFreeAsync"), 2);
  EXPECT_EQ(count("cuStreamSynchronize"), 0);
  EXPECT_EQ(used(), before);
}

}  // namespace
}  // namespace kiln
