// tests/unit/launch/dlpack_test.cpp -- what tensors of other libraries cost a GPU: which streams wait, that the host
// never does, when owners are told, and where pinned and managed memory is used. On the fake driver.
#include <kiln/dlpack.h>
#include <kiln/host.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/unit/launch/fake_gpu.h"

namespace kiln {
namespace {

/// Elements of the fake GPU as another library's tensor.
struct Tensor {
  Array<float> memory{{4}, Device::cuda(0)};
  std::int64_t shape = 4;
  std::atomic<int> deleted{0};
  kiln_dl_managed_tensor_versioned managed = {};

  Tensor() {
    managed.version = {1, 0};
    managed.manager_ctx = this;
    managed.deleter = [](kiln_dl_managed_tensor_versioned* self) {
      ++static_cast<Tensor*>(self->manager_ctx)->deleted;
    };
    managed.dl_tensor = {memory.data(), {KILN_DL_CUDA, 0}, 1, {KILN_DL_FLOAT, 32, 1}, &shape, nullptr, 0};
  }
  bool is_deleted_soon() {
    for (int i = 0; i < 2000 && deleted == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return deleted == 1;
  }
};

std::string number(const Stream& stream) { return std::to_string(*static_cast<const int*>(stream.native_handle())); }

class DlpackLaunch : public FakeGpuTest {
 protected:
  void TearDown() override {
    fake_driver().known.clear();
    fake_driver().unfinished_queries = 0;
    FakeGpuTest::TearDown();
  }
};

TEST_F(DlpackLaunch, StreamsWaitAndTheHostDoesNot) {
  Stream producer(Device::cuda(0)), ours(Device::cuda(0));
  Tensor t;
  StreamGuard here(ours);
  clear();
  {
    const auto x = from_dlpack<const float>(&t.managed, {.stream = producer});
    EXPECT_EQ(count(("cuStreamWaitEvent stream=" + number(ours)).c_str()), 1);
    Array<float> y = x + 1.0f;
    clear();
  }
  EXPECT_EQ(count(("cuStreamWaitEvent stream=" + number(producer)).c_str()), 1)
      << "what the producer writes next comes after what was read";
  EXPECT_EQ(count("cuStreamSynchronize") + count("cuEventSynchronize") + count("cuCtxSynchronize"), 0);
  EXPECT_TRUE(t.is_deleted_soon());
}

TEST_F(DlpackLaunch, TheSameStreamCostsNothing) {
  Stream ours(Device::cuda(0));
  const Stream same = Stream::wrap(ours.native_handle(), Device::cuda(0));
  StreamGuard here(same);
  Tensor t;
  clear();
  const auto x = from_dlpack<const float>(&t.managed, {.stream = ours});
  order(ours, same);
  const Stream legacy = Stream::wrap(reinterpret_cast<void*>(1), Device::cuda(0));
  order(legacy, Stream::wrap(nullptr, Device::cuda(0)));
  EXPECT_EQ(count("cuEvent") + count("cuStreamWaitEvent"), 0);
  order(legacy, ours);
  EXPECT_EQ(count("cuStreamWaitEvent"), 1);
}

TEST_F(DlpackLaunch, TheOwnerIsToldAfterTheKernelOfTheDefaultStream) {
  Tensor t;
  {
    const auto x = from_dlpack<const float>(&t.managed);
    Array<float> y = x * 2.0f;
    fake_driver().unfinished_queries = 10;
    clear();
  }
  EXPECT_EQ(t.deleted, 0);
  EXPECT_EQ(count("cuEventRecord"), 1);
  EXPECT_EQ(count("cuEventSynchronize"), 0);
  EXPECT_TRUE(t.is_deleted_soon());
}

TEST_F(DlpackLaunch, ACaptureOrdersNothingWithTheOutside) {
  Stream inside(Device::cuda(0)), outside(Device::cuda(0));
  Tensor t;
  const std::string text = message_of<DeviceError>(
      [&] { capture(inside, [&] { from_dlpack<const float>(&t.managed, {.stream = outside}); }); });
  EXPECT_NE(text.find("captured into a graph"), std::string::npos) << text;
  EXPECT_EQ(t.deleted, 1) << "owners are told on failure";
  EXPECT_EQ(count("cuEventRecord"), 0) << "before anything was enqueued";
}

TEST_F(DlpackLaunch, PinnedAndManagedMemoryIsFoundByItsAddress) {
  constexpr int host = 1, unified = 4;  // CUmemorytype
  alignas(64) static float memory[4] = {1, 2, 3, 4};
  fake_driver().known[memory] = {host, 0};
  const auto tensor = [](Tensor& t, std::int32_t type) {
    t.managed.dl_tensor.data = memory;
    t.managed.dl_tensor.device = {type, 0};
    return &t.managed;
  };
  Tensor pinned, mapped, managed, wrong;
  EXPECT_EQ(from_dlpack<float>(tensor(pinned, KILN_DL_CUDA_HOST)).device(), Device::cpu());
  EXPECT_EQ(from_dlpack<float>(tensor(mapped, KILN_DL_CUDA_HOST), {.device = Device::cuda(0)}).device(),
            Device::cuda(0));
  fake_driver().known[memory] = {unified, 0};
  EXPECT_EQ(from_dlpack<float>(tensor(managed, KILN_DL_CUDA_MANAGED)).device(), Device::cuda(0));
  fake_driver().known[memory] = {unified, 1};
  const std::string text = message_of<DeviceError>([&] { from_dlpack<float>(tensor(wrong, KILN_DL_CUDA)); });
  EXPECT_NE(text.find("says cuda:0, but its address"), std::string::npos) << text;
  EXPECT_NE(text.find("belongs to cuda:1"), std::string::npos) << text;
  fake_driver().known.clear();
  Tensor ordinary;
  EXPECT_NE(message_of<DeviceError>([&] { from_dlpack<float>(tensor(ordinary, KILN_DL_CUDA)); }).find("host memory"),
            std::string::npos);
  for (const Tensor* t : {&pinned, &mapped, &managed, &wrong, &ordinary}) EXPECT_EQ(t->deleted, 1);
}

TEST_F(DlpackLaunch, MemoryThatWentOutComesBackAfterTheConsumersWork) {
  Stream consumer(Device::cuda(0));
  Array<float> x({4});
  clear();
  kiln_dl_managed_tensor_versioned* const out = to_dlpack(x, {.stream = consumer});
  EXPECT_EQ(count(("cuStreamWaitEvent stream=" + number(consumer)).c_str()), 1);
  x = Array<float>();
  clear();
  std::thread([&] { out->deleter(out); }).join();
  EXPECT_NE(last("cuEventRecord").find("stream=" + number(consumer)), std::string::npos);
  EXPECT_EQ(count("cuStreamWaitEvent stream=0"), 1);
  EXPECT_EQ(count("cuMemFreeAsync stream=0"), 1);
}

TEST_F(DlpackLaunch, CudaArraysAreOrderedByTheirStream) {
  Stream producer(Device::cuda(0));
  Array<float> memory({4});
  const std::int64_t shape = 4;
  CudaArrayInterface array;
  array.shape = &shape;
  array.ndim = 1;
  array.typestr = "<f4";
  array.data = memory.data();
  array.has_stream = true;
  array.stream = reinterpret_cast<std::uintptr_t>(producer.native_handle());
  clear();
  const auto x = from_cuda_array_interface<const float>(array);
  EXPECT_EQ(x.device(), Device::cuda(0));
  EXPECT_EQ(count("cuStreamWaitEvent stream=0"), 1);
  array.stream = 2;
  StreamGuard same(Stream::wrap(reinterpret_cast<void*>(2), Device::cuda(0)));
  clear();
  from_cuda_array_interface<const float>(array);
  EXPECT_EQ(count("cuStreamWaitEvent"), 0) << "our stream is that one";
}

}  // namespace
}  // namespace kiln
