// tests/unit/runtime/retirement_test.cpp -- when the owner of borrowed memory is told: once, after the last use, and
// never in the middle of a capture (case E03).
#include <atomic>
#include <chrono>
#include <thread>

#include "runtime/recording.h"
#include "runtime/retirement.h"
#include "tests/unit/runtime/fake_cuda.h"

namespace kiln::runtime {
namespace {

using fakes::fake_driver;

class RetirementTest : public ::testing::Test {
 protected:
  RetirementTest() {
    gpu_.bind_thread();
    fake_driver().calls.clear();
  }
  ~RetirementTest() override {
    fake_driver().unfinished_queries = 0;
    fake_driver().capturing = false;
  }

  Storage* borrow() {
    return borrow_storage(device_, this, 64, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &deleted_);
  }
  /// Up to two seconds, for a thread that asks every few milliseconds at most.
  bool is_deleted_soon() {
    for (int i = 0; i < 2000 && deleted_ == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return deleted_ > 0;
  }

  const DeviceId device_{DeviceKind::cuda, 0};
  Backend& gpu_ = backend(device_);
  std::atomic<int> deleted_{0};
};

TEST_F(RetirementTest, UnusedMemoryAndFinishedWorkAreGivenBackAtOnce) {
  destroy_storage(borrow());
  EXPECT_EQ(deleted_, 1);
  EXPECT_EQ(fake_driver().count("cuEvent"), 0);
  NativeStream stream = gpu_.create_stream();
  Storage* const used = borrow();
  note_use(*used, stream);
  note_use(*used, nullptr);
  destroy_storage(used);
  EXPECT_EQ(deleted_, 2);
  EXPECT_EQ(fake_driver().count("cuEventRecord"), 2) << "both streams were asked";
  EXPECT_EQ(fake_driver().count("cuEventDestroy"), 2);
  gpu_.destroy_stream(stream);
}

TEST_F(RetirementTest, NobodyWaitsForQueuedWork) {
  Storage* const storage = borrow();
  note_use(*storage, nullptr);
  fake_driver().unfinished_queries = 20;  // the kernel takes a while
  destroy_storage(storage);
  EXPECT_EQ(deleted_, 0) << "returned before the work was done";
  EXPECT_TRUE(is_deleted_soon());
  EXPECT_EQ(fake_driver().count("cuEventSynchronize") + fake_driver().count("cuStreamSynchronize"), 0);
  EXPECT_EQ(fake_driver().count("cuEventDestroy"), fake_driver().count("cuEventCreate"));
  EXPECT_EQ(deleted_, 1);
}

TEST_F(RetirementTest, AStreamThatIsCapturedIsAskedAfterwards) {
  Storage* const storage = borrow();
  note_use(*storage, nullptr);
  fake_driver().capturing = true;
  destroy_storage(storage);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(deleted_, 0);
  EXPECT_EQ(fake_driver().count("cuEventRecord"), 0) << "an event recorded now would become part of the graph";
  fake_driver().capturing = false;
  EXPECT_TRUE(is_deleted_soon());
  EXPECT_EQ(deleted_, 1);
}

TEST_F(RetirementTest, KilnsOwnCaptureHoldsThemBackUntilItsEnd) {
  NativeStream stream = gpu_.create_stream();
  Storage* const storage = borrow();
  {
    Recording recording(gpu_, stream);
    destroy_storage(storage);
    EXPECT_EQ(deleted_, 0);
  }
  EXPECT_EQ(deleted_, 1);
  gpu_.destroy_stream(stream);
}

TEST_F(RetirementTest, AWaitOfTheHostCollectsWhatIsDone) {
  Storage* const storage = borrow();
  note_use(*storage, nullptr);
  fake_driver().unfinished_queries = 1;
  destroy_storage(storage);
  run_finished_deleters();
  EXPECT_TRUE(is_deleted_soon()) << "by this call, or by the thread if it was first";
  EXPECT_EQ(deleted_, 1);
}

TEST_F(RetirementTest, TheProducersStreamWaitsForOurWork) {
  NativeStream producer = gpu_.create_stream(), ours = gpu_.create_stream();
  Storage* const storage = borrow();
  storage->producer = producer;
  storage->has_producer = true;
  note_use(*storage, ours);
  fake_driver().calls.clear();
  destroy_storage(storage);
  EXPECT_EQ(fake_driver().count("cuStreamWaitEvent stream=" + std::to_string(*static_cast<int*>(producer))), 1)
      << "what it writes next must come after what was still read";
  EXPECT_EQ(deleted_, 1);
  gpu_.destroy_stream(producer);
  gpu_.destroy_stream(ours);
}

TEST_F(RetirementTest, ManyThreadsDropManyTensors) {
  constexpr int threads = 8, each = 50;
  fake_driver().unfinished_queries = 100;
  {
    std::vector<std::jthread> pool;
    for (int t = 0; t < threads; ++t) {
      pool.emplace_back([&] {
        for (int i = 0; i < each; ++i) {
          Storage* const storage = borrow();
          note_use(*storage, nullptr);
          destroy_storage(storage);
          if (i % 10 == 0) run_finished_deleters();
        }
      });
    }
  }
  for (int i = 0; i < 2000 && deleted_ < threads * each; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(deleted_, threads * each);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(deleted_, threads * each) << "each once";
}

/// The per-thread default stream is another one on each thread: only the legacy stream comes after all of them (D04).
TEST_F(RetirementTest, WorkOfPerThreadDefaultStreamsIsOrderedThroughTheLegacyStream) {
  Storage* const owned = allocate_storage(device_, 64, per_thread_stream);
  note_use(*owned, per_thread_stream);
  fake_driver().calls.clear();
  std::thread([&] { destroy_storage(owned); }).join();
  EXPECT_EQ(fake_driver().count("cuMemFreeAsync stream=0"), 1);
  EXPECT_EQ(fake_driver().count("cuMemFreeAsync"), 1);
  Storage* const borrowed = borrow();
  note_use(*borrowed, per_thread_stream);
  std::thread([&] { destroy_storage(borrowed); }).join();
  EXPECT_EQ(fake_driver().calls.empty(), false);
  int recorded = 0;
  for (const std::string& call : fake_driver().calls)
    recorded += call.starts_with("cuEventRecord") && call.ends_with("stream=0");
  EXPECT_EQ(recorded, 1);
  EXPECT_TRUE(is_deleted_soon());
}

}  // namespace
}  // namespace kiln::runtime
