// tests/unit/runtime/cuda_backend_test.cpp -- the CUDA backend on a fake driver: contexts, kernels, memory, streams,
// exit.
#ifdef KILN_FAKE_CUDA
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "support/check.h"
#include "tests/unit/runtime/fake_cuda.h"
#include "tests/unit/temporary.h"

namespace kiln::runtime {
namespace {

using namespace fakes;

constexpr int no_binary_for_gpu = 209, invalid_ptx = 218, unsupported_ptx_version = 222, illegal_address = 700,
              no_device = 100, out_of_memory = 2, invalid_value = 1;

TEST_F(CudaBackendTest, DeviceIsDescribed) {
  const DeviceInfo& info = device().info();
  EXPECT_EQ(info.name, "Fake GPU");
  EXPECT_EQ(info.arch, "sm_90");
  EXPECT_EQ(info.multiprocessors, 132);
  EXPECT_EQ(info.threads_per_multiprocessor, 2048);
  EXPECT_EQ(info.l2_bytes, std::size_t{50} << 20);
  EXPECT_EQ(info.memory_bytes, std::size_t{1} << 30);
  EXPECT_EQ(info.id, (DeviceId{DeviceKind::cuda, 0}));
}

TEST_F(CudaBackendTest, WhyThereIsNoDevice) {
  const auto reason_with = [&](const char* path) {
    cuda::use_driver_for_tests(path);
    std::string reason;
    EXPECT_TRUE(cuda::make_backends(reason).empty());
    return reason;
  };
  EXPECT_NE(reason_with("/nonexistent/libcuda.so.1").find("/nonexistent/libcuda.so.1"), std::string::npos);
  fake_driver().driver_version = 11080;
  const std::string old = reason_with(KILN_FAKE_CUDA);
  EXPECT_NE(old.find("CUDA 11.8"), std::string::npos) << old;
  EXPECT_NE(old.find("12.0"), std::string::npos) << old;
  fake_driver().driver_version = 13000;
  fake_driver().faults["cuInit"] = {no_device};
  const test::Variable hidden("CUDA_VISIBLE_DEVICES", "-1");
  const std::string none = reason_with(KILN_FAKE_CUDA);
  EXPECT_NE(none.find("CUDA_ERROR_NO_DEVICE"), std::string::npos) << none;
  EXPECT_NE(none.find("CUDA_VISIBLE_DEVICES=-1"), std::string::npos) << none;
}

TEST_F(CudaBackendTest, LaunchPassesTheArgumentBlockAndShape) {
  const auto kernel = device().load(cubin(), saxpy_source());
  EXPECT_EQ(device().load(cubin(), saxpy_source()), kernel) << "loaded once";
  EXPECT_NE(device().load(cubin("another"), saxpy_source()), kernel);
  NativeStream stream = device().create_stream();
  LaunchShape shape;
  shape.grid = {3, 2, 1};
  shape.block = {128, 2, 1};
  shape.shared_bytes = 512;
  const std::uint64_t arguments[2] = {0x0123456789abcdefull, 0xfedcba9876543210ull};
  fake_driver().calls.clear();
  device().launch(*kernel, shape, arguments, sizeof arguments, stream);
  ASSERT_EQ(calls().size(), 1u) << "one driver call per launch";
  EXPECT_NE(calls()[0].find("grid=3,2,1 block=128,2,1 shared=512"), std::string::npos) << calls()[0];
  ASSERT_EQ(fake_driver().arguments.size(), sizeof arguments);
  EXPECT_EQ(std::memcmp(fake_driver().arguments.data(), arguments, sizeof arguments), 0);
  EXPECT_THROW(device().launch(*kernel, shape, arguments, 8, stream), InternalError)
      << "an argument block of the wrong size";
  device().destroy_stream(stream);
}

TEST_F(CudaBackendTest, LargeSharedMemoryIsAllowedOnceAndRefusedAboveTheLimit) {
  const auto kernel = device().load(cubin("shared"), saxpy_source());
  LaunchShape shape;
  shape.shared_bytes = 100 << 10;
  const std::uint64_t arguments[2] = {};
  device().launch(*kernel, shape, arguments, 16, nullptr);
  device().launch(*kernel, shape, arguments, 16, nullptr);
  EXPECT_EQ(fake_driver().count("cuKernelSetAttribute 102400"), 1);
  shape.shared_bytes = 300 << 10;
  const std::string text = message_of<DeviceError>([&] { device().launch(*kernel, shape, arguments, 16, nullptr); });
  EXPECT_NE(text.find("saxpy"), std::string::npos) << text;
  EXPECT_NE(text.find("307200 bytes of dynamic shared memory"), std::string::npos) << text;
  EXPECT_NE(text.find(std::to_string(227 << 10)), std::string::npos) << text;
}

// D09: an error belongs to its call, names the kernel, and does not spoil the next call.
TEST_F(CudaBackendTest, LaunchErrorsNameKernelAndCause) {
  const auto kernel = device().load(cubin(), saxpy_source());
  const std::uint64_t arguments[2] = {};
  LaunchShape shape;
  shape.block = {1024, 2, 1};
  fake_driver().faults["cuLaunchKernel"] = {invalid_value};
  std::string text = message_of<DeviceError>([&] { device().launch(*kernel, shape, arguments, 16, nullptr); });
  EXPECT_NE(text.find("kernel saxpy"), std::string::npos) << text;
  EXPECT_NE(text.find("2048 threads is more than the 256"), std::string::npos) << text;
  shape.block = {256, 1, 1};
  EXPECT_NO_THROW(device().launch(*kernel, shape, arguments, 16, nullptr));
  fake_driver().faults["cuLaunchKernel"] = {illegal_address};
  text = message_of<DeviceError>([&] { device().launch(*kernel, shape, arguments, 16, nullptr); });
  EXPECT_NE(text.find("launched earlier"), std::string::npos) << text;
}

// C10: a refused cubin becomes PTX; a final failure names device, driver and compiler.
TEST_F(CudaBackendTest, RefusedCubinIsTriedAsPtxAndTheFinalErrorNamesAllVersions) {
  fake_driver().faults["cuLibraryLoadData"] = {no_binary_for_gpu, 0, 1};
  try {
    EXPECT_NE(device().load(cubin("refused once"), saxpy_source()), nullptr);
    EXPECT_EQ(fake_driver().count("cuLibraryLoadData"), 2);
  } catch (const CompileError& error) {
    std::printf("no NVRTC to make PTX with: %s\n", error.what());
  }
  for (const int error : {invalid_ptx, unsupported_ptx_version}) {
    fake_driver().faults["cuLibraryLoadData"] = {error, 0, 5};
    Binary ptx = cubin("ptx " + std::to_string(error));
    ptx.is_ptx = true;
    const std::string text = message_of<DeviceError>([&] { device().load(ptx, saxpy_source()); });
    for (const char* const part : {"saxpy", "PTX for sm_90", "Fake GPU", "CUDA 13.0", "NVRTC", "CUDA_ERROR_"})
      EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    fake_driver().faults.clear();
    EXPECT_NE(device().load(ptx, saxpy_source()), nullptr) << "a failure is not remembered";
  }
}

TEST_F(CudaBackendTest, LoadingIsRelaxedForCapturesAndPutsTheModeBack) {
  device().load(cubin("relaxed"), saxpy_source());
  std::vector<std::string> modes;
  for (const std::string& call : calls())
    if (call.starts_with("cuThreadExchange") || call.starts_with("cuKernelGetFunction")) modes.push_back(call);
  EXPECT_EQ(modes, (std::vector<std::string>{"cuThreadExchangeStreamCaptureMode 2", "cuKernelGetFunction",
                                             "cuThreadExchangeStreamCaptureMode 0"}));
}

/// D10: what the pool holds in pieces is given back before an allocation fails.
TEST_F(CudaBackendTest, AFragmentedPoolIsTrimmedForALargeBlock) {
  std::vector<void*> pieces;
  for (int i = 0; i < 64; ++i) pieces.push_back(device().allocate(std::size_t{15} << 20, nullptr));
  for (std::size_t i = 0; i < 64; i += 2) device().release(pieces[i], nullptr);
  EXPECT_THROW(device().allocate(std::size_t{900} << 20, nullptr), OutOfMemory) << "half is in use";
  for (std::size_t i = 1; i < 64; i += 2) device().release(pieces[i], nullptr);
  void* const large = device().allocate(std::size_t{900} << 20, nullptr);
  EXPECT_NE(large, nullptr);
  device().release(large, nullptr);
  EXPECT_EQ(fake_driver().used, 0u);
}

TEST_F(CudaBackendTest, OutOfMemoryTrimsAndTriesOnceThenNamesSizes) {  // D10
  const std::size_t half = std::size_t{600} << 20;
  void* const first = device().allocate(half, nullptr);
  device().release(first, nullptr);  // kept by the pool
  void* const second = device().allocate(std::size_t{900} << 20, nullptr);
  EXPECT_EQ(fake_driver().count("cuMemPoolTrimTo"), 1);
  const std::string text = message_of<OutOfMemory>([&] { device().allocate(std::size_t{500} << 20, nullptr); });
  EXPECT_EQ(fake_driver().count("cuMemPoolTrimTo"), 2) << "one retry";
  for (const char* const part :
       {"500.00 MiB (524288000 bytes) were asked for", "124.00 MiB", "1.00 GiB", "cuda:0 (Fake GPU)", "in use"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  device().release(second, nullptr);
  void* const third = device().allocate(100, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(third) % 256, 0u);
  device().release(third, nullptr);
  EXPECT_EQ(fake_driver().used, 0u);
}

TEST_F(CudaBackendTest, NothingWaitsWhileACaptureRecords) {
  fake_driver().capturing = true;
  fake_driver().faults["cuMemAllocAsync"] = {out_of_memory, 0, 9};
  EXPECT_TRUE(device().is_capturing(nullptr));
  EXPECT_THROW(device().allocate(1, nullptr), OutOfMemory);
  EXPECT_EQ(fake_driver().count("cuMemAllocAsync"), 1);
  EXPECT_EQ(fake_driver().count("cuCtxSynchronize") + fake_driver().count("cuStreamSynchronize"), 0);
}

TEST_F(CudaBackendTest, DevicesWithoutPoolsUsePlainAllocation) {
  fake_driver().has_pools = false;
  backends_ = cuda::make_backends(reason_);
  void* const memory = device().allocate(64, nullptr);
  device().release(memory, nullptr);
  EXPECT_EQ(fake_driver().count("cuMemAlloc "), 1);
  EXPECT_EQ(fake_driver().count("cuMemFree"), 1);
  EXPECT_EQ(fake_driver().count("cuMemAllocAsync"), 0);
}

// Contexts: a thread with none gets the primary context once; another device's context is left as it was.
TEST_F(CudaBackendTest, ThreadsGetThePrimaryContextOnce) {
  std::thread([&] {
    void* const memory = device().allocate(8, nullptr);
    device().release(memory, nullptr);
    device().bind_thread();
  }).join();
  EXPECT_EQ(fake_driver().count("cuCtxSetCurrent 0"), 1);
  EXPECT_EQ(fake_driver().count("cuCtxGetCurrent"), 1);
}

TEST_F(CudaBackendTest, ContextOfAnotherDeviceIsRestored) {
  reset(2);
  ASSERT_EQ(backends_.size(), 2u);
  std::thread([&] {
    device(0).bind_thread();
    fake_driver().calls.clear();
    void* const memory = device(1).allocate(8, nullptr);
    device(1).release(memory, nullptr);
    EXPECT_EQ(fake_driver().count("cuCtxPushCurrent 1"), 2);
    EXPECT_EQ(fake_driver().count("cuCtxPopCurrent"), 2);
    fake_driver().calls.clear();
    device(0).release(device(0).allocate(8, nullptr), nullptr);
    EXPECT_EQ(fake_driver().count("cuCtxPushCurrent"), 0) << "the first device's context is current again";
  }).join();
}

TEST_F(CudaBackendTest, ThreadThatLostItsContextGetsOneAgain) {
  using PopFunction = int (*)();  // without the types of cuda.h, which only the backend includes
  void* const library = dlopen(KILN_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  const auto pop = reinterpret_cast<PopFunction>(dlsym(library, "kiln_fake_pop_context"));
  const auto kernel = device().load(cubin(), saxpy_source());
  std::thread([&] {
    device().bind_thread();
    ASSERT_EQ(pop(), 0);  // what a host that manages contexts may do between two calls
    const std::uint64_t arguments[2] = {};
    EXPECT_NO_THROW(device().launch(*kernel, {}, arguments, 16, nullptr));
  }).join();
}

TEST_F(CudaBackendTest, ForkedChildGetsAClearErrorAndTheCpuStillWorks) {
  device().bind_thread();
  const pid_t child = fork();
  if (child == 0) {
    const std::string text = message_of<DeviceError>([&] { device().allocate(8, nullptr); });
    const bool clear = text.find("forked") != std::string::npos && text.find("use the CPU device") != std::string::npos;
    int anything = 0;
    device().release(&anything, nullptr);  // must not throw
    Backend& cpu = backend({DeviceKind::cpu, 0});
    void* const memory = cpu.allocate(64, nullptr);
    cpu.release(memory, nullptr);
    _exit(clear && memory ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
  EXPECT_NO_THROW(device().release(device().allocate(8, nullptr), nullptr)) << "the parent is not affected";
}

// D01: arrays that live until exit are released quietly, after the driver has shut down too.
TEST_F(CudaBackendTest, ReleaseAfterTheDriverIsGoneIsSilent) {
  void* const memory = device().allocate(64, nullptr);
  void* const event = device().create_event();
  NativeStream stream = device().create_stream();
  test::Warnings warnings;
  fake_driver().deinitialized = true;
  device().release(memory, nullptr);
  device().destroy_event(event);
  device().destroy_stream(stream);
  fake_driver().deinitialized = false;
  EXPECT_TRUE(warnings.texts().empty());
}

/// D01, D09: once a kernel has spoilt the context, every call fails with its error; what is released then is silent and
/// throws nothing.
TEST_F(CudaBackendTest, ReleaseAfterAStickyErrorThrowsNothing) {
  void* const memory = device().allocate(64, nullptr);
  void* const event = device().create_event();
  NativeStream stream = device().create_stream();
  test::Warnings warnings;
  for (const char* const function : {"cuMemFreeAsync", "cuEventDestroy", "cuStreamDestroy", "cuStreamSynchronize"})
    fake_driver().faults[function] = {illegal_address, 0, 100};
  device().release(memory, nullptr);
  device().destroy_event(event);
  device().destroy_stream(stream);
  EXPECT_TRUE(warnings.texts().empty());
  fake_driver().faults.clear();
}

[[noreturn]] void exit_after_a_failed_load() {
  Backend& gpu = backend({DeviceKind::cuda, 0});
  Binary ptx = cubin("does not load");
  ptx.is_ptx = true;
  fake_driver().faults["cuLibraryLoadData"] = {invalid_ptx, 0, 9};
  const std::string text = message_of<DeviceError>([&] { gpu.load(ptx, saxpy_source()); });
  fake_driver().deinitialized = true;
  std::exit(text.find("saxpy") != text.npos ? 0 : 1);
}

/// D01: a module that could not be loaded leaves nothing that is in the way at exit.
TEST(CudaExitTest, AFailedLoadDoesNotDisturbTheExit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exit_after_a_failed_load(), ::testing::ExitedWithCode(0), "^$");
}

struct ReleasedAtExit {
  Storage* storage = nullptr;
  ~ReleasedAtExit() {
    fake_driver().deinitialized = true;
    destroy_storage(storage);
  }
};

TEST(CudaExitTest, StaticArrayIsReleasedDuringExit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static ReleasedAtExit array;
        array.storage = allocate_storage({DeviceKind::cuda, 0}, 64, nullptr);
        note_use(*array.storage, backend({DeviceKind::cuda, 0}).create_stream());
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "^$");
}

TEST_F(CudaBackendTest, CopiesAndStreams) {
  NativeStream stream = device().create_stream();
  EXPECT_EQ(fake_driver().count("cuStreamCreate flags=1"), 1) << "not ordered against the legacy stream";
  void* const a = device().allocate(16, stream);
  void* const b = device().allocate(16, stream);
  const char text[16] = "fifteen letters";
  char back[16] = "";
  device().copy(a, text, 16, Backend::Copy::host_to_device, stream);
  device().copy(b, a, 16, Backend::Copy::device_to_device, stream);
  device().copy(back, b, 16, Backend::Copy::device_to_host, stream);
  device().synchronize(stream);
  EXPECT_STREQ(back, text);
  fake_driver().calls.clear();
  device().copy(a, text, 0, Backend::Copy::host_to_device, stream);
  EXPECT_TRUE(calls().empty()) << "an empty copy asks the driver for nothing";
  device().release(a, stream);
  device().release(b, stream);
  device().destroy_stream(stream);
}

}  // namespace
}  // namespace kiln::runtime
#endif
