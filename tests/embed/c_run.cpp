// tests/embed/c_run.cpp -- raw kernels, recorded launches, profiles and launch control of the C interface, on the CPU
// and on a GPU where there is one.
#include "tests/embed/c_run.h"

namespace c_run {
namespace {

// ------------------------------------------------------------------ launch control
TEST(LaunchControl, ChangesNoBitOfElementwiseKernelsAndRefusesWhatCannotBe) {
  kiln_kernel* const kernel = kernel_of(doubled);
  for (const kiln_dl_device device : devices()) {
    std::vector<float> values(5000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.1f * static_cast<float>(i);
    const Tensor x(device, values), y(device, values);
    const kiln_dl_tensor *in = x.get(), *out = y.get();
    for (const std::uint32_t block : {0u, 32u, 128u, 256u}) {
      kiln_launch_options options{};
      options.struct_size = sizeof options;
      options.block[0] = block;
      options.items = block == 128 ? 2 : 0;
      options.no_tune = 1;
      OK(kiln_launch_with(kernel, &options, nullptr, &in, 1, nullptr, 0, &out, 1));
      const std::vector<float> got = y.values();
      for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(got[i], values[i] + values[i]) << block << ' ' << i;
    }
    kiln_launch_options options{};
    options.struct_size = sizeof options;
    options.cooperative = 2;
    FAILS(KILN_ERROR_ARGUMENT, "cooperative", kiln_launch_with(kernel, &options, nullptr, &in, 1, nullptr, 0, &out, 1));
    options.cooperative = 0;
    options.block[0] = 100000;
    if (is_gpu(device)) {
      EXPECT_EQ(kiln_launch_with(kernel, &options, nullptr, &in, 1, nullptr, 0, &out, 1), KILN_ERROR_SHAPE);
    }
    OK(kiln_launch_with(kernel, nullptr, nullptr, &in, 1, nullptr, 0, &out, 1));
    // The same in one structure, kept and launched again.
    kiln_launch_call call{};
    call.struct_size = sizeof call;
    call.kernel = kernel;
    call.inputs = &in, call.input_count = 1;
    call.outputs = &out, call.output_count = 1;
    for (int i = 0; i < 2; ++i) {
      y.set(std::vector<float>(values.size(), -1.0f));
      OK(kiln_launch_by(&call));
      EXPECT_EQ(y.values()[4999], 2 * values[4999]);
    }
    call.input_count = 2;
    FAILS(KILN_ERROR_ARGUMENT, "2 inputs are given", kiln_launch_by(&call));
    call.struct_size = 8;
    FAILS(KILN_ERROR_ARGUMENT, "struct_size", kiln_launch_by(&call));
    FAILS(KILN_ERROR_ARGUMENT, "call is null", kiln_launch_by(nullptr));
  }
  kiln_kernel_destroy(kernel);
}

// ------------------------------------------------------------------ raw kernels
const char* const scale_source = R"(
#include "factor.h"
extern "C" __global__ void scale(float* out, const float* in, float by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = FACTOR * by * in[i] + OFFSET;
}
)";
kiln_raw_kernel* make_scale() {
  static const char* const names[] = {"factor.h"};
  static const char* const texts[] = {"#define FACTOR 2.0f\n"};
  static const char* const words[] = {"--define-macro=OFFSET=1.0f"};
  kiln_raw_options options{};
  options.struct_size = sizeof options;
  options.options = words;
  options.option_count = 1;
  options.header_names = names;
  options.header_texts = texts;
  options.header_count = 1;
  kiln_raw_kernel* kernel = nullptr;
  EXPECT_EQ(kiln_raw_kernel_create("scale", scale_source, &options, &kernel), KILN_OK) << kiln_last_error();
  return kernel;
}

TEST(RawKernels, AreCompiledAndInspectedForGpusThatAreNotHere) {
  kiln_raw_kernel* const kernel = make_scale();
  kiln_inspection* inspection = nullptr;
  const kiln_status status = kiln_raw_kernel_inspect(kernel, "sm_90", nullptr, &inspection);
  if (status != KILN_OK) {
    kiln_raw_kernel_destroy(kernel);
    GTEST_SKIP() << kiln_last_error();  // no NVRTC here
  }
  const char* text = nullptr;
  OK(kiln_inspection_text(inspection, KILN_TEXT_ptx, 0, &text));
  EXPECT_NE(std::string(text).find(".target sm_90"), std::string::npos);
  kiln_kernel_info info{};
  info.struct_size = sizeof info;
  OK(kiln_inspection_kernel(inspection, 0, &info));
  EXPECT_GT(info.registers, 0);
  kiln_inspection_destroy(inspection);
  const char* const archs[] = {"sm_80", "sm_90"};
  OK(kiln_raw_kernel_compile(kernel, archs, 2));
  kiln_raw_kernel* broken = nullptr;
  OK(kiln_raw_kernel_create("f", "__global__ void f() { no }", nullptr, &broken));
  FAILS(KILN_ERROR_COMPILE, "no", kiln_raw_kernel_compile(broken, archs, 1));
  kiln_raw_kernel_destroy(broken);
  kiln_raw_kernel_destroy(kernel);
}

TEST(RawKernels, RunWithCheckedArguments) {
  kiln_raw_kernel* const kernel = make_scale();
  bool ran = false;
  for (const kiln_dl_device device : devices()) {
    std::vector<float> values(1000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const Tensor x(device, values), y(device, values);
    const float by = 0.5f;
    const std::int32_t n = 1000;
    const double wide = 0.5;
    kiln_argument arguments[] = {{KILN_ARGUMENT_tensor, 0, y.get(), 0},
                                 {KILN_ARGUMENT_tensor, 0, x.get(), 0},
                                 {KILN_ARGUMENT_number, KILN_F32, &by, 0},
                                 {KILN_ARGUMENT_number, KILN_I32, &n, 0}};
    if (!is_gpu(device)) {
      FAILS(KILN_ERROR_DEVICE, "CPU", kiln_raw_kernel_launch(kernel, device, nullptr, nullptr, 1000, arguments, 4));
      continue;
    }
    ran = true;
    OK(kiln_raw_kernel_launch(kernel, device, nullptr, nullptr, 1000, arguments, 4));
    std::vector<float> got = y.values();
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], values[i] + 1.0f);
    y.set(values);
    kiln_launch_options options{};
    options.struct_size = sizeof options;
    options.grid[0] = 10, options.block[0] = 100;
    arguments[1] = {KILN_ARGUMENT_address, 0, x.get()->data, 0};
    OK(kiln_raw_kernel_launch(kernel, device, nullptr, &options, -1, arguments, 4));
    EXPECT_EQ(y.values().back(), 1000.0f);
    arguments[2] = {KILN_ARGUMENT_number, KILN_F64, &wide, 0};
    EXPECT_EQ(kiln_raw_kernel_launch(kernel, device, nullptr, &options, -1, arguments, 4), KILN_ERROR_TYPE);
    EXPECT_EQ(kiln_raw_kernel_launch(kernel, device, nullptr, &options, -1, arguments, 3), KILN_ERROR_TYPE);
  }
  const kiln_argument odd[] = {{99, 0, &odd, 0},
                               {KILN_ARGUMENT_tensor, 0, nullptr, 0},
                               {KILN_ARGUMENT_structure, 0, &odd, 0},
                               {KILN_ARGUMENT_number, -1, &odd, 0},
                               {KILN_ARGUMENT_number, KILN_F32, &odd, 4}};
  for (const kiln_argument& argument : odd)
    EXPECT_EQ(kiln_raw_kernel_launch(kernel, {KILN_DL_CPU, 0}, nullptr, nullptr, 1, &argument, 1), KILN_ERROR_ARGUMENT);
  EXPECT_EQ(kiln_raw_kernel_launch(kernel, {KILN_DL_CPU, 0}, nullptr, nullptr, -2, nullptr, 0), KILN_ERROR_ARGUMENT);
  kiln_raw_kernel_destroy(kernel);
  if (!ran) GTEST_SKIP() << "no GPU here: not launched";
}

// ------------------------------------------------------------------ recorded launches
TEST(Recordings, RunAgainOnNewValuesAndOtherTensors) {
  kiln_kernel* const kernel = kernel_of(doubled);
  for (const kiln_dl_device device : devices()) {
    const Tensor x(device, {1, 2, 3}), y(device, {0, 0, 0}), z(device, {0, 0, 0}), other(device, {10, 20, 30});
    const kiln_dl_tensor *in = x.get(), *middle = y.get(), *out = z.get();
    kiln_capture* capture = nullptr;
    kiln_recording* recording = nullptr;
    OK(kiln_capture_begin(device, nullptr, &capture));
    kiln_capture* nested = nullptr;
    FAILS(KILN_ERROR_DEVICE, "a capture inside of a capture", kiln_capture_begin(device, nullptr, &nested));
    void* const stream = kiln_capture_stream(capture);
    OK(kiln_launch(kernel, stream, &in, 1, nullptr, 0, &middle, 1));
    OK(kiln_launch(kernel, stream, &middle, 1, nullptr, 0, &out, 1));
    OK(kiln_capture_end(capture, &recording));
    EXPECT_EQ(z.values()[0], 0.0f);  // recorded and not run
    EXPECT_EQ(kiln_recording_kernel_count(recording), 2u);
    kiln_kernel_destroy(kernel_of(doubled));  // kernels of others come and go
    OK(kiln_recording_launch(recording, nullptr));
    EXPECT_EQ(z.values(), (std::vector<float>{4, 8, 12}));
    x.set({5, 6, 7});
    OK(kiln_recording_launch(recording, nullptr));
    EXPECT_EQ(z.values(), (std::vector<float>{20, 24, 28}));
    OK(kiln_recording_replace(recording, in, other.get()));
    OK(kiln_recording_launch(recording, nullptr));
    EXPECT_EQ(z.values(), (std::vector<float>{40, 80, 120}));
    FAILS(KILN_ERROR_SHAPE, "uses no element", kiln_recording_replace(recording, in, other.get()));
    OK(kiln_capture_update(recording, &capture));
    OK(kiln_launch(kernel, kiln_capture_stream(capture), &in, 1, nullptr, 0, &out, 1));
    OK(kiln_capture_end(capture, nullptr));
    EXPECT_EQ(kiln_recording_kernel_count(recording), 1u);
    OK(kiln_recording_launch(recording, nullptr));
    EXPECT_EQ(z.values(), (std::vector<float>{10, 12, 14}));
    // Thrown away: nothing runs, and the thread can record again.
    OK(kiln_capture_begin(device, nullptr, &capture));
    OK(kiln_launch(kernel, kiln_capture_stream(capture), &out, 1, nullptr, 0, &middle, 1));
    kiln_capture_destroy(capture);
    OK(kiln_capture_begin(device, nullptr, &capture));
    kiln_capture_destroy(capture);
    OK(kiln_launch(kernel, nullptr, &in, 1, nullptr, 0, &out, 1));
    kiln_recording_destroy(recording);
  }
  kiln_kernel_destroy(kernel);
}

TEST(Recordings, KeepKernelsFunctionsAndNewResults) {
  const kiln_dl_device cpu = {KILN_DL_CPU, 0};
  Host host;
  const kiln_function_description description = smooth(host);
  kiln_function* function = nullptr;
  OK(kiln_function_create(&description, &function));
  kiln_kernel* const kernel = kernel_of(smooth_text, {function});
  kiln_function_destroy(function);
  const Tensor x(cpu, {2, 4, 8});
  const kiln_dl_tensor* const in = x.get();
  const float a = 0, b = 2;
  const void* const scalars[] = {&a, &b};
  kiln_capture* capture = nullptr;
  kiln_recording* recording = nullptr;
  kiln_dl_managed_tensor_versioned* result = nullptr;
  OK(kiln_capture_begin(cpu, nullptr, &capture));
  OK(kiln_launch_new(kernel, nullptr, &in, 1, scalars, 2, &result, 1));
  OK(kiln_capture_end(capture, &recording));
  kiln_kernel_destroy(kernel);
  EXPECT_EQ(host.destroyed, 0);
  OK(kiln_recording_launch(recording, nullptr));
  EXPECT_EQ(static_cast<const float*>(result->dl_tensor.data)[2], 8.0f);
  host.throws = true;
  FAILS(KILN_ERROR_CALLBACK, "smooth threw", kiln_recording_launch(recording, nullptr));
  host.throws = false;
  result->deleter(result);  // the recording still writes there
  OK(kiln_recording_launch(recording, nullptr));
  kiln_recording_destroy(recording);
  EXPECT_EQ(host.destroyed, 1);
}

TEST(Recordings, AreEndedByTheThreadThatBegan) {
  kiln_capture* capture = nullptr;
  kiln_recording* recording = nullptr;
  OK(kiln_capture_begin({KILN_DL_CPU, 0}, nullptr, &capture));
  std::thread([&] {
    FAILS(KILN_ERROR_ARGUMENT, "another thread", kiln_capture_end(capture, &recording));
    kiln_capture_destroy(capture);  // a warning
  }).join();
  EXPECT_EQ(recording, nullptr);
  OK(kiln_capture_end(capture, &recording));
  EXPECT_EQ(kiln_recording_kernel_count(recording), 0u);
  kiln_recording_destroy(recording);
  kiln_recording_destroy(nullptr);
  kiln_capture_destroy(nullptr);
  EXPECT_EQ(kiln_capture_stream(nullptr), nullptr);
  EXPECT_EQ(kiln_recording_launch(nullptr, nullptr), KILN_ERROR_ARGUMENT);
  EXPECT_EQ(kiln_capture_end(nullptr, &recording), KILN_ERROR_ARGUMENT);
}

// ------------------------------------------------------------------ profiles
TEST(Profiles, CountLaunchesOfThisThreadOrOfAll) {
  kiln_kernel* const kernel = kernel_of(doubled);
  const kiln_dl_device cpu = {KILN_DL_CPU, 0};
  const Tensor x(cpu, std::vector<float>(1000, 1.0f)), y(cpu, std::vector<float>(1000, 0.0f));
  const kiln_dl_tensor *in = x.get(), *out = y.get();
  for (const int all : {0, 1}) {
    kiln_profiler* profiler = nullptr;
    OK(kiln_profile_start(all, &profiler));
    for (int i = 0; i < 3; ++i) OK(kiln_launch(kernel, nullptr, &in, 1, nullptr, 0, &out, 1));
    std::thread([&] { EXPECT_EQ(kiln_launch(kernel, nullptr, &in, 1, nullptr, 0, &out, 1), KILN_OK); }).join();
    kiln_profile* profile = nullptr;
    OK(kiln_profile_stop(profiler, &profile));
    kiln_profile_info info{};
    info.struct_size = sizeof info;
    OK(kiln_profile_get_info(profile, &info));
    ASSERT_EQ(info.rows, 1u);
    EXPECT_GE(info.wall_ms, info.device_ms * 0.5);
    kiln_profile_row row{};
    row.struct_size = sizeof row;
    OK(kiln_profile_get_row(profile, 0, &row));
    EXPECT_EQ(row.kind, KILN_PROFILE_kernel);
    EXPECT_EQ(row.count, all ? 4 : 3);
    EXPECT_EQ(row.bytes, row.count * 8000);  // 1000 elements of 4 bytes read and written
    EXPECT_STREQ(row.device, "cpu");
    EXPECT_NE(std::string(row.label).find("doubled"), std::string::npos);
    EXPECT_GT(row.total_ms, 0);
    const char* table = nullptr;
    OK(kiln_profile_table(profile, &table));
    EXPECT_NE(std::string(table).find("doubled"), std::string::npos);
    EXPECT_EQ(std::string(table).find("kl::"), std::string::npos);
    FAILS(KILN_ERROR_ARGUMENT, "row 1 of 1", kiln_profile_get_row(profile, 1, &row));
    kiln_profile_destroy(profile);
  }
  kiln_profiler* dropped = nullptr;
  OK(kiln_profile_start(0, &dropped));
  kiln_profiler_destroy(dropped);
  kiln_profiler_destroy(nullptr);
  kiln_profile_destroy(nullptr);
  kiln_kernel_destroy(kernel);
}

}  // namespace
}  // namespace c_run
