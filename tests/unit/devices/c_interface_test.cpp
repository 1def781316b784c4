// tests/unit/devices/c_interface_test.cpp -- what calls of the C interface ask of the driver: which device and stream,
// which shape of launch, when owners are told. On the fake driver, with two devices.
#include <kiln/kiln_c.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "tests/unit/launch/fake_gpu.h"

namespace kiln {
namespace {

[[maybe_unused]] const bool two_gpus = (fake_driver().device_count = 2, fake_in_use);  // before the first call

constexpr kiln_dl_device first_gpu = {KILN_DL_CUDA, 0}, second_gpu = {KILN_DL_CUDA, 1}, cpu = {KILN_DL_CPU, 0};

/// 4096 elements of a device.
class Tensor {
 public:
  explicit Tensor(kiln_dl_device device) {
    EXPECT_EQ(kiln_tensor_create(device, nullptr, KILN_F32, &size_, 1, &managed_), KILN_OK) << kiln_last_error();
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor() { managed_->deleter(managed_); }
  const kiln_dl_tensor* get() const { return &managed_->dl_tensor; }

 private:
  std::int64_t size_ = 4096;
  kiln_dl_managed_tensor_versioned* managed_ = nullptr;
};

class CInterfaceLaunch : public FakeGpuTest {
 protected:
  void SetUp() override {
    FakeGpuTest::SetUp();
    if (IsSkipped()) return;
    kiln_graph* graph = nullptr;
    ASSERT_EQ(
        kiln_graph_parse("kiln graph 1\n%0 = input type=f32 rank=1\n%1 = add %0, %0\noutput %1\n", SIZE_MAX, &graph),
        KILN_OK);
    ASSERT_EQ(kiln_kernel_create(graph, nullptr, &kernel_), KILN_OK);
    kiln_graph_destroy(graph);
  }
  void TearDown() override {
    kiln_kernel_destroy(kernel_);
    fake_driver().unfinished_queries = 0;
    FakeGpuTest::TearDown();
  }
  kiln_status launch(const Tensor& from, const Tensor& to, void* stream, const kiln_launch_options* options = nullptr) {
    const kiln_dl_tensor *in = from.get(), *out = to.get();
    return kiln_launch_with(kernel_, options, stream, &in, 1, nullptr, 0, &out, 1);
  }
  kiln_kernel* kernel_ = nullptr;
};

std::string text_of(void* stream) { return std::to_string(*static_cast<const int*>(stream)); }

TEST_F(CInterfaceLaunch, LaunchesGoToTheStreamAndShapeThatAreGiven) {
  const Tensor x(first_gpu), y(first_gpu);
  void* stream = nullptr;
  ASSERT_EQ(kiln_stream_create(first_gpu, &stream), KILN_OK);
  ASSERT_EQ(launch(x, y, stream), KILN_OK) << kiln_last_error();
  clear();
  ASSERT_EQ(launch(x, y, stream), KILN_OK);
  EXPECT_EQ(count(("cuLaunchKernel stream=" + text_of(stream)).c_str()), 1);
  EXPECT_EQ(count("cuStreamSynchronize") + count("cuCtxSynchronize") + count("cuMemAlloc"), 0);
  kiln_launch_options options{};
  options.struct_size = sizeof options;
  options.block[0] = 64;
  options.items = 4;
  ASSERT_EQ(launch(x, y, stream, &options), KILN_OK) << kiln_last_error();
  EXPECT_NE(last("cuLaunchKernel").find("grid=16,1,1 block=64,1,1"), std::string::npos) << last("cuLaunchKernel");
  ASSERT_EQ(kiln_stream_destroy(first_gpu, stream), KILN_OK);
}

/// D06: several devices in one process.
TEST_F(CInterfaceLaunch, EachDeviceHasItsKernelAndTheThreadKeepsItsContext) {
  std::size_t devices = 0;
  ASSERT_EQ(kiln_device_count(&devices), KILN_OK);
  ASSERT_EQ(devices, 3u) << "the CPU and two GPUs";
  const Tensor a(first_gpu), b(first_gpu), c(second_gpu), d(second_gpu);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(launch(a, b, nullptr), KILN_OK) << kiln_last_error();
    ASSERT_EQ(launch(c, d, nullptr), KILN_OK) << kiln_last_error();
  }
  EXPECT_EQ(launch(a, d, nullptr), KILN_ERROR_DEVICE);
  EXPECT_NE(std::string(kiln_last_error()).find("cuda:1"), std::string::npos) << kiln_last_error();
  EXPECT_EQ(std::string(kiln_last_error()).find(".to("), std::string::npos) << kiln_last_error();
  std::thread([&] {  // without a context, and with data on the second while the first is the default
    EXPECT_EQ(launch(c, d, nullptr), KILN_OK) << kiln_last_error();
    EXPECT_EQ(launch(a, b, nullptr), KILN_OK) << kiln_last_error();
  })
      .join();
  int kind = -1, index = -1;
  detail::current_device(kind, index);
  EXPECT_EQ(index, 0) << "calls leave the thread's device alone";
  const Tensor host(cpu);
  EXPECT_EQ(launch(host, b, nullptr), KILN_ERROR_DEVICE);
  kiln_tensor raw{};  // an index beyond those that are here
  const std::int64_t size = 4096;
  raw.data = a.get()->data, raw.shape = &size, raw.rank = 1, raw.dtype = KILN_F32;
  EXPECT_EQ(kiln_launch_raw(kernel_, {KILN_DL_CUDA, 2}, nullptr, &raw, 1, nullptr, 0, &raw, 1), KILN_ERROR_DEVICE);
  ASSERT_EQ(launch(a, b, nullptr), KILN_OK);
}

struct Owner {
  std::atomic<int> released{0};
  static void release(void* self) { ++static_cast<Owner*>(self)->released; }
  bool is_released_soon() const {
    for (int i = 0; i < 2000 && released == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return released == 1;
  }
};

/// E03: what a launch reads stays until the stream is done, and nobody waits.
TEST_F(CInterfaceLaunch, OwnersAreToldOnceWhenTheStreamIsDone) {
  const Tensor x(first_gpu), y(first_gpu);
  for (const bool own_stream : {false, true}) {
    void* stream = nullptr;
    if (own_stream) {
      ASSERT_EQ(kiln_stream_create(first_gpu, &stream), KILN_OK);
    }
    Owner owner;
    ASSERT_EQ(launch(x, y, stream), KILN_OK);
    fake_driver().unfinished_queries = 20;
    clear();
    ASSERT_EQ(kiln_release_after(first_gpu, stream, &Owner::release, &owner), KILN_OK) << kiln_last_error();
    EXPECT_EQ(owner.released, 0);
    EXPECT_EQ(count("cuEventRecord"), 1);
    EXPECT_EQ(count("cuEventSynchronize") + count("cuStreamSynchronize") + count("cuCtxSynchronize"), 0);
    EXPECT_TRUE(owner.is_released_soon());
    if (own_stream) {
      ASSERT_EQ(kiln_stream_destroy(first_gpu, stream), KILN_OK);
    }
  }
  Owner at_once;
  ASSERT_EQ(kiln_release_after(cpu, nullptr, &Owner::release, &at_once), KILN_OK);
  EXPECT_EQ(at_once.released, 1);
  Owner kept;
  EXPECT_EQ(kiln_release_after({KILN_DL_METAL, 0}, nullptr, &Owner::release, &kept), KILN_ERROR_DEVICE);
  EXPECT_EQ(kiln_release_after(cpu, nullptr, nullptr, &kept), KILN_ERROR_ARGUMENT);
  EXPECT_EQ(kept.released, 0) << "it stays the caller's";
}

TEST_F(CInterfaceLaunch, RecordingsAreOneLaunchAndPatchedInPlace) {
  const Tensor x(first_gpu), y(first_gpu), z(first_gpu);
  ASSERT_EQ(launch(x, y, nullptr), KILN_OK);
  kiln_capture* capture = nullptr;
  kiln_recording* recording = nullptr;
  ASSERT_EQ(kiln_capture_begin(first_gpu, nullptr, &capture), KILN_OK) << kiln_last_error();
  void* const stream = kiln_capture_stream(capture);
  ASSERT_NE(stream, nullptr) << "one of its own";
  ASSERT_EQ(launch(x, y, stream), KILN_OK);
  ASSERT_EQ(launch(y, z, stream), KILN_OK);
  ASSERT_EQ(kiln_capture_end(capture, &recording), KILN_OK) << kiln_last_error();
  EXPECT_EQ(kiln_recording_kernel_count(recording), 2u);
  clear();
  ASSERT_EQ(kiln_recording_launch(recording, nullptr), KILN_OK) << kiln_last_error();
  EXPECT_EQ(count("cuGraphLaunch"), 1);
  EXPECT_EQ(count("cuLaunchKernel"), 0);
  const Tensor other(first_gpu);
  clear();
  ASSERT_EQ(kiln_recording_replace(recording, x.get(), other.get()), KILN_OK) << kiln_last_error();
  EXPECT_EQ(count("cuGraphExecKernelNodeSetParams"), 1);
  kiln_recording_destroy(recording);
}

/// A raw kernel's arguments arrive as they are given, in order.
TEST_F(CInterfaceLaunch, RawKernelsGetTheirArguments) {
  kiln_raw_kernel* kernel = nullptr;
  ASSERT_EQ(kiln_raw_kernel_create(
                "f", "struct S { int a[3]; }; __global__ void f(float* x, double d, S s, const void* p) {}", nullptr,
                &kernel),
            KILN_OK);
  const Tensor x(second_gpu);
  const double d = 2.5;
  const int s[3] = {7, 8, 9};
  const kiln_argument arguments[] = {{KILN_ARGUMENT_tensor, 0, x.get(), 0},
                                     {KILN_ARGUMENT_number, KILN_F64, &d, 0},
                                     {KILN_ARGUMENT_structure, 0, s, sizeof s},
                                     {KILN_ARGUMENT_address, 0, x.get()->data, 0}};
  fake_driver().parameter_bytes = {8, 8, 12, 8};
  kiln_launch_options options{};
  options.struct_size = sizeof options;
  options.grid[0] = 3, options.grid[1] = 2, options.block[0] = 32;
  const kiln_status status = kiln_raw_kernel_launch(kernel, second_gpu, nullptr, &options, -1, arguments, 4);
  ASSERT_EQ(status, KILN_OK) << kiln_last_error();
  EXPECT_NE(last("cuLaunchKernel").find("grid=3,2,1 block=32,1,1"), std::string::npos) << last("cuLaunchKernel");
  unsigned char expected[36];
  const void* const address = x.get()->data;
  std::memcpy(expected, &address, 8);
  std::memcpy(expected + 8, &d, 8);
  std::memcpy(expected + 16, s, 12);
  std::memcpy(expected + 28, &address, 8);
  ASSERT_EQ(fake_driver().arguments.size(), sizeof expected);
  EXPECT_EQ(std::memcmp(fake_driver().arguments.data(), expected, sizeof expected), 0);
  kiln_raw_kernel_destroy(kernel);
}

}  // namespace
}  // namespace kiln
