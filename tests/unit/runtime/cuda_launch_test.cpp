// tests/unit/runtime/cuda_launch_test.cpp -- what reductions ask of a launch: counters, clusters, shared memory.
#ifdef KILN_FAKE_CUDA
#include <algorithm>
#include <cstring>
#include <set>
#include <thread>

#include <kiln/error.h>

#include "tests/unit/runtime/fake_cuda.h"

namespace kiln::runtime {
namespace {

using namespace fakes;

class CudaLaunchTest : public CudaBackendTest {
 protected:
  static bool are_zero(const void* memory, std::uint32_t count) {
    const auto* const values = static_cast<const std::uint32_t*>(memory);
    return std::all_of(values, values + count, [](std::uint32_t value) { return value == 0; });
  }
  std::string last_call() { return calls().back(); }
};

TEST_F(CudaLaunchTest, CountersOfAStreamAreClearedOnceAndKept) {
  NativeStream stream = device().create_stream();
  const Backend::Counters first = device().zeroed_counters(10, stream);
  ASSERT_NE(first.memory, nullptr);
  EXPECT_FALSE(first.is_own);
  EXPECT_TRUE(are_zero(first.memory, 10));
  fake_driver().calls.clear();
  EXPECT_EQ(device().zeroed_counters(10, stream).memory, first.memory);
  EXPECT_EQ(device().zeroed_counters(500, stream).memory, first.memory);
  EXPECT_EQ(fake_driver().count("cuMemsetD8Async"), 0);
  EXPECT_EQ(fake_driver().count("cuMemAlloc"), 0);
  device().destroy_stream(stream);
}

TEST_F(CudaLaunchTest, MoreCountersReplaceTheOldOnesInTheOrderOfTheStream) {
  NativeStream stream = device().create_stream();
  device().zeroed_counters(10, stream);
  fake_driver().calls.clear();
  const Backend::Counters larger = device().zeroed_counters(100'000, stream);
  EXPECT_TRUE(are_zero(larger.memory, 100'000));
  const auto position = [&](const char* prefix) {
    const auto all = calls();
    return std::find_if(all.begin(), all.end(), [&](const std::string& call) { return call.starts_with(prefix); }) -
           all.begin();
  };
  EXPECT_LT(position("cuMemsetD8Async"), position("cuMemFreeAsync"));
  EXPECT_EQ(fake_driver().count("cuMemFreeAsync"), 1) << "the old ones, after the work that uses them";
  EXPECT_EQ(fake_driver().count("cuStreamSynchronize"), 0) << "nothing waits";
  device().destroy_stream(stream);
}

TEST_F(CudaLaunchTest, StreamsNeverShareCounters) {
  NativeStream one = device().create_stream(), two = device().create_stream();
  const std::set<void*> all = {device().zeroed_counters(1, one).memory, device().zeroed_counters(1, two).memory,
                               device().zeroed_counters(1, nullptr).memory};
  EXPECT_EQ(all.size(), 3u);
  device().destroy_stream(one);
  device().destroy_stream(two);
}

/// A handle that the driver uses again names another stream: its counters are new and zero.
TEST_F(CudaLaunchTest, DestroyedStreamsGiveTheirCountersBack) {
  const std::uint64_t before = fake_driver().used;
  for (int round = 0; round < 20; ++round) {
    NativeStream stream = device().create_stream();
    void* const memory = device().zeroed_counters(4, stream).memory;
    ASSERT_TRUE(are_zero(memory, 4)) << round;
    std::memset(memory, 0xff, 16);  // a kernel that never finished
    device().destroy_stream(stream);
  }
  EXPECT_EQ(fake_driver().used, before);
}

/// A captured kernel runs whenever its graph does: its counters are its own, and every replay clears them.
TEST_F(CudaLaunchTest, CapturedLaunchesHaveCountersOfTheirOwn) {
  NativeStream stream = device().create_stream();
  void* const shared = device().zeroed_counters(4, stream).memory;
  fake_driver().capturing = true;
  fake_driver().calls.clear();
  const Backend::Counters first = device().zeroed_counters(4, stream), second = device().zeroed_counters(4, stream);
  EXPECT_TRUE(first.is_own && second.is_own);
  EXPECT_EQ((std::set<void*>{shared, first.memory, second.memory}.size()), 3u);
  EXPECT_EQ(fake_driver().count("cuMemsetD8Async"), 2) << "part of the graph";
  EXPECT_EQ(fake_driver().count("cuStreamSynchronize"), 0);
  device().release(first.memory, stream);
  device().release(second.memory, stream);
  fake_driver().capturing = false;
  EXPECT_EQ(device().zeroed_counters(4, stream).memory, shared);
  device().destroy_stream(stream);
}

TEST_F(CudaLaunchTest, CountersThatCannotBeClearedAreNoLeak) {
  const std::uint64_t before = fake_driver().used;
  fake_driver().faults["cuMemsetD8Async"] = {700};
  EXPECT_THROW(device().zeroed_counters(4, nullptr), DeviceError);
  EXPECT_EQ(fake_driver().used, before);
  EXPECT_NE(device().zeroed_counters(4, nullptr).memory, nullptr) << "the next call tries again";
}

TEST_F(CudaLaunchTest, ThreadsOfOneStreamShareItsCounters) {
  NativeStream stream = device().create_stream();
  std::set<void*> all;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      void* const memory = device().zeroed_counters(16, stream).memory;
      const std::lock_guard lock(mutex);
      all.insert(memory);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(all.size(), 1u);
  EXPECT_EQ(fake_driver().count("cuMemsetD8Async"), 1);
  device().destroy_stream(stream);
}

TEST_F(CudaLaunchTest, ClustersGoThroughTheExtendedLaunch) {
  const auto kernel = device().load(cubin("cluster"), saxpy_source());
  const std::uint64_t arguments[2] = {0x0123456789abcdefull, 7};
  LaunchShape shape;
  shape.grid = {64, 1, 1};
  shape.block = {256, 1, 1};
  shape.cluster = 8;
  device().launch(*kernel, shape, arguments, 16, nullptr);
  EXPECT_EQ(last_call(), "cuLaunchKernelEx stream=0 grid=64 block=256 shared=0 cluster=8");
  EXPECT_EQ(std::memcmp(fake_driver().arguments.data(), arguments, 16), 0);
  EXPECT_EQ(fake_driver().count("cuKernelSetAttribute"), 0) << "8 blocks are portable";
  shape.cluster = 16;
  device().launch(*kernel, shape, arguments, 16, nullptr);
  device().launch(*kernel, shape, arguments, 16, nullptr);
  EXPECT_EQ(fake_driver().count("cuKernelSetAttribute clusters=1"), 1) << "asked for once per kernel";
  EXPECT_EQ(fake_driver().count("cuLaunchKernel stream"), 0);
}

TEST_F(CudaLaunchTest, CooperativeLaunchesSaySo) {
  const auto kernel = device().load(cubin("cooperative"), saxpy_source());
  const std::uint64_t arguments[2] = {};
  LaunchShape shape;
  shape.cooperative = true;
  device().launch(*kernel, shape, arguments, 16, nullptr);
  EXPECT_EQ(last_call(), "cuLaunchKernelEx stream=0 grid=1 block=1 shared=0 cooperative=1");
}

TEST_F(CudaLaunchTest, RefusedClustersAreNamedInTheError) {
  const auto kernel = device().load(cubin("refused"), saxpy_source());
  const std::uint64_t arguments[2] = {};
  LaunchShape shape;
  shape.cluster = 16;
  fake_driver().faults["cuLaunchKernelEx"] = {1};
  try {
    device().launch(*kernel, shape, arguments, 16, nullptr);
    FAIL() << "the driver refused";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("clusters of 16 blocks"), std::string::npos) << error.what();
  }
}

/// Static shared memory counts against the 48 KiB that need no opting in.
TEST_F(CudaLaunchTest, StaticSharedMemoryLowersWhatNeedsNoOptIn) {
  Binary binary = cubin("static");
  binary.shared_bytes = 8 << 10;
  const auto kernel = device().load(binary, saxpy_source());
  const std::uint64_t arguments[2] = {};
  LaunchShape shape;
  shape.shared_bytes = 40 << 10;
  device().launch(*kernel, shape, arguments, 16, nullptr);
  EXPECT_EQ(fake_driver().count("cuKernelSetAttribute"), 0);
  shape.shared_bytes = 41 << 10;
  device().launch(*kernel, shape, arguments, 16, nullptr);
  EXPECT_EQ(fake_driver().count("cuKernelSetAttribute 41984"), 1);
}

/// compute-sanitizer reports every API error; asking about host memory must not make one.
TEST_F(CudaLaunchTest, AskingAboutMemoryIsNoApiError) {
  int value = 0;
  EXPECT_EQ(device().memory_kind(&value), Backend::Memory::host);
  void* const memory = device().allocate(4, nullptr);
  EXPECT_EQ(device().memory_kind(memory), Backend::Memory::device);
  device().copy(memory, &value, 4, Backend::Copy::host_to_device, nullptr);
  EXPECT_EQ(fake_driver().count("cuPointerGetAttribute "), 0);
  EXPECT_EQ(fake_driver().count("cuStreamSynchronize"), 0) << "pageable memory has been staged";
  device().release(memory, nullptr);
}

}  // namespace
}  // namespace kiln::runtime
#endif
