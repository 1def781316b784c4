// tests/unit/runtime/storage_test.cpp -- owners of memory: order of release among streams (case D04), borrowing,
// deleters.
#include <gtest/gtest.h>

#include <thread>

#include "runtime/runtime.h"
#include "runtime/stream_registry.h"
#include "support/check.h"
#include "tests/unit/temporary.h"

namespace kiln::runtime {
namespace {

TEST(StorageTest, CpuMemoryIsAlignedAndNeverNullEvenWhenEmpty) {
  Storage* const storage = allocate_storage({DeviceKind::cpu, 0}, 0, nullptr);
  EXPECT_NE(storage->memory, nullptr);
  EXPECT_EQ(storage->bytes, 0u);
  EXPECT_EQ(storage->references, 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(storage->memory) % 64, 0u);
  EXPECT_EQ(static_cast<void*>(storage), static_cast<void*>(&storage->references))
      << "public headers count through the first member";
  destroy_storage(storage);
  destroy_storage(nullptr);
}

TEST(StorageTest, BorrowedMemoryIsNotFreedAndItsDeleterRunsOnce) {
  int value = 7, deleted = 0;
  const auto deleter = [](void* context) { ++*static_cast<int*>(context); };
  Storage* const storage = borrow_storage({DeviceKind::cpu, 0}, &value, sizeof value, deleter, &deleted);
  EXPECT_TRUE(storage->borrowed);
  note_use(*storage, nullptr);
  EXPECT_EQ(deleted, 0);
  destroy_storage(storage);
  EXPECT_EQ(deleted, 1);
  EXPECT_EQ(value, 7);
}

TEST(DevicesTest, CpuIsListedFirstAndWrongDevicesSayWhatThereIs) {
  ASSERT_FALSE(devices().empty());
  EXPECT_EQ(devices()[0].id, (DeviceId{DeviceKind::cpu, 0}));
  EXPECT_EQ(unavailable_reason(DeviceKind::cpu), "");
  EXPECT_THROW(backend({DeviceKind::cpu, 1}), DeviceError);
  EXPECT_THROW(backend({DeviceKind::cuda, -1}), DeviceError);
  try {
    backend({DeviceKind::cuda, 99});
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("cuda:99"), std::string::npos) << error.what();
  }
}

TEST(DevicesTest, DefaultDeviceFollowsTheSetting) {
  {
    const test::Variable cpu("KILN_DEVICE", "cpu");
    EXPECT_EQ(default_device(), (DeviceId{DeviceKind::cpu, 0}));
  }
  for (const char* const wrong : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "CPU", "cuda0"}) {
    const test::Variable variable("KILN_DEVICE", wrong);
    EXPECT_THROW(default_device(), DeviceError) << wrong;
  }
  const test::Variable far("KILN_DEVICE", "cuda:99");
  EXPECT_THROW(default_device(), DeviceError) << "a device that is not there is never replaced silently";
}

#ifdef KILN_FAKE_CUDA
}  // namespace
}  // namespace kiln::runtime
#include <dlfcn.h>

#include "tests/fake_driver/fake_driver.h"
namespace kiln::runtime {
namespace {

class CudaStorageTest : public ::testing::Test {
 protected:
  CudaStorageTest() {
    void* const library = dlopen(KILN_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    fake_ = reinterpret_cast<fake::GetFakeDriver>(dlsym(library, "kiln_fake_driver"))();
    gpu_.bind_thread();
    fake_->calls.clear();
  }
  /// Calls that matter for order, without the events' numbers.
  std::vector<std::string> order() {
    std::vector<std::string> found;
    for (const std::string& call : fake_->calls)
      for (const char* const name : {"cuEventRecord", "cuStreamWaitEvent", "cuMemFreeAsync", "cuEventSynchronize"})
        if (call.starts_with(name)) found.push_back(name + call.substr(std::min(call.find(" stream"), call.size())));
    for (std::string& call : found) call = call.substr(0, call.find(" event"));
    return found;
  }
  std::string text(NativeStream stream) { return " stream=" + std::to_string(*static_cast<int*>(stream)); }

  const DeviceId device_{DeviceKind::cuda, 0};
  Backend& gpu_ = backend(device_);
  fake::FakeDriver* fake_ = nullptr;
};

TEST_F(CudaStorageTest, HomeStreamAloneCostsNothingExtra) {
  NativeStream home = gpu_.create_stream();
  Storage* const storage = allocate_storage(device_, 64, home);
  note_use(*storage, home);
  destroy_storage(storage);
  EXPECT_EQ(order(), (std::vector<std::string>{"cuMemFreeAsync" + text(home)}));
  gpu_.destroy_stream(home);
}

TEST_F(CudaStorageTest, OtherStreamsAreWaitedForBeforeTheRelease) {
  NativeStream home = gpu_.create_stream(), other = gpu_.create_stream();
  Storage* const storage = allocate_storage(device_, 64, home);
  note_use(*storage, other);
  note_use(*storage, other);
  destroy_storage(storage);
  EXPECT_EQ(order(), (std::vector<std::string>{"cuEventRecord" + text(other), "cuStreamWaitEvent" + text(home),
                                               "cuMemFreeAsync" + text(home)}));
  gpu_.destroy_stream(home);
  gpu_.destroy_stream(other);
}

TEST_F(CudaStorageTest, ArraysOutliveTheirStreams) {
  NativeStream home = gpu_.create_stream(), other = gpu_.create_stream();
  Storage* const storage = allocate_storage(device_, 64, home);
  note_use(*storage, other);
  gpu_.destroy_stream(other);
  gpu_.destroy_stream(home);
  EXPECT_EQ(fake_->count("cuStreamSynchronize"), 2) << "work is finished before a stream goes";
  fake_->calls.clear();
  destroy_storage(storage);
  EXPECT_EQ(order(), (std::vector<std::string>{"cuMemFreeAsync stream=0"})) << "no call names a stream that is gone";
}

TEST_F(CudaStorageTest, HandleOfADestroyedStreamThatIsSeenAgainIsAlive) {
  int handle = 99;
  stream_destroyed(&handle);
  EXPECT_TRUE(stream_is_gone(&handle));
  Storage* const storage = allocate_storage(device_, 64, nullptr);
  note_use(*storage, &handle);  // the program made a stream of its own at the same address
  EXPECT_FALSE(stream_is_gone(&handle));
  destroy_storage(storage);
  EXPECT_EQ(order(), (std::vector<std::string>{"cuEventRecord stream=99", "cuStreamWaitEvent stream=0",
                                               "cuMemFreeAsync stream=0"}));
}

TEST_F(CudaStorageTest, ManyThreadsNoteUsesOfOneArray) {
  std::vector<NativeStream> streams;
  for (int i = 0; i < 8; ++i) streams.push_back(gpu_.create_stream());
  Storage* const storage = allocate_storage(device_, 64, nullptr);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (NativeStream stream : streams) note_use(*storage, stream);
    });
  }
  threads.clear();
  fake_->calls.clear();
  destroy_storage(storage);
  for (NativeStream stream : streams) {
    bool recorded = false;
    for (const std::string& call : fake_->calls)
      recorded |= call.starts_with("cuEventRecord") && call.ends_with(text(stream));
    EXPECT_TRUE(recorded);
    gpu_.destroy_stream(stream);
  }
}
#endif

}  // namespace
}  // namespace kiln::runtime
