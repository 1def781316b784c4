// tests/unit/runtime/host_program_test.cpp -- inside another program: its allocator, its contexts, a context that it
// resets (cases D06 and D10).
#include <cstdlib>
#include <thread>

#include "runtime/device_allocator.h"
#include "support/check.h"
#include "tests/unit/runtime/fake_cuda.h"

namespace kiln::runtime {
namespace {

using fakes::cubin, fakes::fake_driver, fakes::message_of, fakes::saxpy_source;

/// A host's allocator with a soft limit, which counts.
struct CountingAllocator final : DeviceAllocator {
  mutable int allocations = 0, releases = 0, refusals = 0, refuse = 0;
  mutable std::size_t out = 0;
  mutable NativeStream last_stream = nullptr;
  std::size_t skew = 0;

  void* allocate(DeviceId, std::size_t bytes, NativeStream stream) const noexcept override {
    if (refuse > 0) return --refuse, ++refusals, nullptr;
    ++allocations;
    out += bytes;
    last_stream = stream;
    return static_cast<char*>(std::aligned_alloc(256, (bytes + skew + 255) / 256 * 256)) + skew;
  }
  void release(DeviceId, void* memory, std::size_t bytes, NativeStream stream) const noexcept override {
    ++releases;
    out -= bytes;
    last_stream = stream;
    std::free(static_cast<char*>(memory) - skew);
  }
};

class HostProgramTest : public fakes::CudaBackendTest {
 protected:
  ~HostProgramTest() override {
    set_device_allocator(DeviceKind::cpu, nullptr);
    set_device_allocator(DeviceKind::cuda, nullptr);
  }
  template <class Function>
  static Function* symbol(const char* name) {
    static void* const library = dlopen(KILN_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<Function*>(dlsym(library, name));
  }
};

TEST_F(HostProgramTest, AllMemoryOfADeviceIsTheHosts) {
  CountingAllocator host;
  set_device_allocator(DeviceKind::cuda, &host);
  NativeStream stream = device().create_stream();
  void* const memory = device().allocate(100, stream);
  EXPECT_GE(host.out, 100u);
  EXPECT_EQ(host.last_stream, stream);
  device().release(memory, nullptr);
  EXPECT_EQ(host.out, 0u);
  EXPECT_EQ(host.last_stream, nullptr) << "freed in the order of the stream that it was released on";
  const Backend::Counters counters = device().zeroed_counters(4, stream);
  EXPECT_NE(counters.memory, nullptr);
  EXPECT_EQ(host.allocations, 2) << "what kernels need beside arrays, too";
  device().destroy_stream(stream);
  EXPECT_EQ(host.out, 0u);
  EXPECT_EQ(fake_driver().count("cuMemAlloc"), 0);
  EXPECT_EQ(fake_driver().count("cuMemFree"), 0);
}

TEST_F(HostProgramTest, MemoryGoesBackToWhereItCameFrom) {
  CountingAllocator first, second;
  void* const own = device().allocate(64, nullptr);
  set_device_allocator(DeviceKind::cuda, &first);
  void* const one = device().allocate(64, nullptr);
  set_device_allocator(DeviceKind::cuda, &second);
  void* const two = device().allocate(64, nullptr);
  set_device_allocator(DeviceKind::cuda, nullptr);
  for (void* const memory : {two, one, own}) device().release(memory, nullptr);
  EXPECT_EQ(first.allocations, 1);
  EXPECT_EQ(first.releases, 1);
  EXPECT_EQ(second.allocations, 1);
  EXPECT_EQ(second.releases, 1);
  EXPECT_EQ(fake_driver().count("cuMemFreeAsync"), 1);
}

/// A soft limit of the host's refuses; what kiln freed may still be queued, so it waits and asks once more (D10).
TEST_F(HostProgramTest, ARefusalIsTriedAgainOnceAfterWaiting) {
  CountingAllocator host;
  set_device_allocator(DeviceKind::cuda, &host);
  host.refuse = 1;
  void* const memory = device().allocate(64, nullptr);
  EXPECT_EQ(fake_driver().count("cuCtxSynchronize"), 1);
  device().release(memory, nullptr);
  host.refuse = 2;
  const std::string text = message_of<OutOfMemory>([&] { device().allocate(64, nullptr); });
  EXPECT_NE(text.find("host's allocator"), std::string::npos) << text;
  EXPECT_NE(text.find("64 bytes"), std::string::npos) << text;
  EXPECT_EQ(host.refusals, 3);
  device().release(device().allocate(64, nullptr), nullptr);
  EXPECT_EQ(host.out, 0u) << "usable after the error";
  fake_driver().capturing = true;
  fake_driver().calls.clear();
  host.refuse = 1;
  EXPECT_THROW(device().allocate(64, nullptr), OutOfMemory) << "nothing may wait while a capture records";
  EXPECT_EQ(fake_driver().count("cuCtxSynchronize"), 0);
}

TEST_F(HostProgramTest, MisalignedMemoryIsRefusedAndGivenBack) {
  CountingAllocator host;
  host.skew = 16;
  set_device_allocator(DeviceKind::cuda, &host);
  const std::string text = message_of<DeviceError>([&] { device().allocate(64, nullptr); });
  EXPECT_NE(text.find("multiple of 256"), std::string::npos) << text;
  EXPECT_EQ(host.out, 0u);
}

TEST_F(HostProgramTest, TheCpuHasOneToo) {
  CountingAllocator host;
  set_device_allocator(DeviceKind::cpu, &host);
  Backend& cpu = backend({DeviceKind::cpu, 0});
  void* const memory = cpu.allocate(0, nullptr);
  EXPECT_EQ(host.out, 1u) << "at least one byte";
  set_device_allocator(DeviceKind::cpu, nullptr);
  void* const own = cpu.allocate(64, nullptr);
  cpu.release(memory, nullptr);
  cpu.release(own, nullptr);
  EXPECT_EQ(host.out, 0u);
  EXPECT_EQ(host.allocations, 1);
}

// ------------------------------------------------------------------ contexts
TEST_F(HostProgramTest, AContextThatTheHostMadeStaysCurrentAndIsUsed) {
  const LoadedKernel* const kernel = device().load(cubin(), saxpy_source());
  std::thread([&] {
    symbol<void*(int)>("kiln_fake_create_context")(0);
    fake_driver().calls.clear();
    const std::uint64_t arguments[2] = {};
    device().launch(*kernel, {}, arguments, 16, nullptr);
    device().release(device().allocate(64, nullptr), nullptr);
    EXPECT_EQ(fake_driver().count("cuCtxSetCurrent"), 0);
    EXPECT_EQ(fake_driver().count("cuCtxPushCurrent"), 0);
    EXPECT_EQ(fake_driver().count("cuDevicePrimaryCtxRetain"), 0);
  }).join();
}

/// cuDevicePrimaryCtxReset, or cudaDeviceReset, between two calls: the same handle, another context (D06).
TEST_F(HostProgramTest, APrimaryContextThatWasResetIsRetainedAgain) {
  const LoadedKernel* const kernel = device().load(cubin(), saxpy_source());
  std::thread([&] {
    device().bind_thread();
    const void* const before = device().zeroed_counters(8, nullptr).memory;
    symbol<void(int)>("kiln_fake_reset_primary")(0);
    fake_driver().calls.clear();
    const std::uint64_t arguments[2] = {};
    EXPECT_NO_THROW(device().launch(*kernel, {}, arguments, 16, nullptr));
    EXPECT_EQ(fake_driver().count("cuDevicePrimaryCtxRetain"), 1);
    EXPECT_EQ(fake_driver().count("cuLaunchKernel"), 1);
    const void* const after = device().zeroed_counters(8, nullptr).memory;
    EXPECT_NE(after, before) << "the counters went with the context";
    EXPECT_EQ(device().zeroed_counters(8, nullptr).memory, after);
  }).join();
}

TEST_F(HostProgramTest, AnEventIsRecordedInTheContextOfItsStream) {
  std::thread([&] {
    device().bind_thread();
    void* const own = device().context_of(nullptr);
    void* const hosts = symbol<void*(int)>("kiln_fake_create_context")(0);
    EXPECT_EQ(device().context_of(nullptr), hosts);
    fake_driver().calls.clear();
    void* const event = device().record_fence(nullptr, own);
    EXPECT_EQ(fake_driver().count("cuCtxPushCurrent"), 1);
    EXPECT_EQ(fake_driver().count("cuCtxPopCurrent"), 1);
    EXPECT_EQ(device().context_of(nullptr), hosts) << "put back";
    device().destroy_event(event);
  }).join();
}

}  // namespace
}  // namespace kiln::runtime
