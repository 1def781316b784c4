// tests/embed/c_run.cpp -- functions of CUDA text, raw kernels, recorded launches, profiles and launch control of the C
// interface, on the CPU and on a GPU where there is one.
#include <kiln/kiln_c.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace {

#define OK(call) ASSERT_EQ((call), KILN_OK) << kiln_last_error()
#define FAILS(status, part, call)                   \
  EXPECT_EQ((call), (status)) << kiln_last_error(); \
  EXPECT_NE(std::string(kiln_last_error()).find(part), std::string::npos) << kiln_last_error()

std::vector<kiln_dl_device> devices() {
  std::size_t count = 0;
  EXPECT_EQ(kiln_device_count(&count), KILN_OK);
  std::vector<kiln_dl_device> all;
  for (std::size_t i = 0; i < count; ++i) {
    kiln_device_info info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(kiln_device_at(i, &info), KILN_OK);
    all.push_back(info.device);
  }
  return all;
}
bool is_gpu(kiln_dl_device device) { return device.device_type == KILN_DL_CUDA; }

/// A tensor of kiln's memory with its elements.
class Tensor {
 public:
  Tensor(kiln_dl_device device, std::vector<float> values) : size_(static_cast<std::int64_t>(values.size())) {
    EXPECT_EQ(kiln_tensor_create(device, nullptr, KILN_F32, &size_, 1, &managed_), KILN_OK) << kiln_last_error();
    set(values);
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor() { managed_->deleter(managed_); }
  const kiln_dl_tensor* get() const { return &managed_->dl_tensor; }
  void set(const std::vector<float>& values) const {
    EXPECT_EQ(kiln_tensor_upload(get(), nullptr, values.data(), 4 * values.size()), KILN_OK) << kiln_last_error();
  }
  std::vector<float> values() const {
    std::vector<float> all(static_cast<std::size_t>(size_));
    EXPECT_EQ(kiln_tensor_download(get(), nullptr, all.data(), 4 * all.size()), KILN_OK) << kiln_last_error();
    return all;
  }

 private:
  std::int64_t size_;
  kiln_dl_managed_tensor_versioned* managed_ = nullptr;
};

/// The kernel of a text; functions by their names.
kiln_kernel* kernel_of(const char* text, std::vector<const kiln_function*> functions = {}) {
  kiln_graph* graph = nullptr;
  EXPECT_EQ(kiln_graph_parse_with(text, SIZE_MAX, functions.data(), functions.size(), &graph), KILN_OK)
      << kiln_last_error();
  kiln_kernel* kernel = nullptr;
  EXPECT_EQ(kiln_kernel_create(graph, nullptr, &kernel), KILN_OK) << kiln_last_error();
  kiln_graph_destroy(graph);
  return kernel;
}
const char* const doubled = "kiln graph 1\nname \"doubled\"\n%0 = input type=f32 rank=1\n%1 = add %0, %0\noutput %1\n";

// ------------------------------------------------------------------ functions
/// smooth(a, b, x), with a host's version that counts its calls.
struct Host {
  std::atomic<long> elements{0};
  std::atomic<int> destroyed{0};
  bool throws = false;
};
void smooth_on_host(void* context, void* results, const void* const* arguments, std::int64_t count) {
  Host& host = *static_cast<Host*>(context);
  if (host.throws) throw 7;
  const auto* const a = static_cast<const float*>(arguments[0]);
  const auto* const b = static_cast<const float*>(arguments[1]);
  const auto* const x = static_cast<const float*>(arguments[2]);
  for (std::int64_t i = 0; i < count; ++i) {
    const float t = std::fmin(std::fmax((x[i] - a[i]) / (b[i] - a[i]), 0.0f), 1.0f);
    static_cast<float*>(results)[i] = t * t * (3.0f - 2.0f * t);
  }
  host.elements += count;
}
kiln_function_description smooth(Host& host) {
  static const char* const names[] = {"a", "b", "x"};
  static const std::int32_t types[] = {KILN_F32, KILN_F32, KILN_F32};
  kiln_function_description d{};
  d.struct_size = sizeof d;
  d.name = "smooth";
  d.parameter_names = names;
  d.parameter_types = types;
  d.parameter_count = 3;
  d.result_type = KILN_F32;
  d.text = "float t = fminf(fmaxf((x - a) / (b - a), zero()), 1.f); return t * t * (3.f - 2.f * t);";
  d.preamble = "inline __device__ float zero() { return 0.f; }";
  d.host = &smooth_on_host;
  d.context = &host;
  d.destroy = [](void* context) { ++static_cast<Host*>(context)->destroyed; };
  return d;
}
const char* const smooth_text =
    "kiln graph 1\n%0 = input type=f32 rank=1\n%1 = scalar type=f32\n%2 = scalar type=f32\n"
    "%3 = call %1, %2, %0 function=\"smooth\"\n%4 = mul %3, %0\noutput %4\n";

/// In double precision, independently.
double expected_smooth(double x) {
  const double t = x < 0 ? 0 : x > 2 ? 1 : x / 2;
  return t * t * (3 - 2 * t) * x;
}

TEST(Functions, ComputeOnEveryDeviceFromTextAndFromCalls) {
  Host host;
  const kiln_function_description description = smooth(host);
  kiln_function* function = nullptr;
  OK(kiln_function_create(&description, &function));
  kiln_kernel* const kernel = kernel_of(smooth_text, {function});
  kiln_function_destroy(function);  // the kernel keeps what it needs
  EXPECT_EQ(host.destroyed, 0);
  for (const kiln_dl_device device : devices()) {
    std::vector<float> values(1000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = -1.0f + 0.004f * static_cast<float>(i);
    const Tensor x(device, values), y(device, values);
    const float a = 0, b = 2;
    const void* const scalars[] = {&a, &b};
    const kiln_dl_tensor *in = x.get(), *out = y.get();
    OK(kiln_launch(kernel, nullptr, &in, 1, scalars, 2, &out, 1));
    const std::vector<float> got = y.values();
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_NEAR(got[i], expected_smooth(static_cast<double>(values[i])), 1e-5) << i;
  }
  EXPECT_GE(host.elements, 1000);
  kiln_kernel_destroy(kernel);
  EXPECT_EQ(host.destroyed, 1);
}

TEST(Functions, TextsCallThemByNameAndHoldNoCode) {
  Host host;
  const kiln_function_description description = smooth(host);
  kiln_function* function = nullptr;
  OK(kiln_function_create(&description, &function));
  kiln_graph *graph = nullptr, *again = nullptr;
  FAILS(KILN_ERROR_PARSE, "line 5: there is no function 'smooth'", kiln_graph_parse(smooth_text, SIZE_MAX, &graph));
  OK(kiln_graph_parse_with(smooth_text, SIZE_MAX, &function, 1, &graph));
  std::string text(1000, '\0');
  std::size_t length = 0;
  OK(kiln_graph_text(graph, text.data(), text.size(), &length));
  text.resize(length);
  EXPECT_EQ(text, smooth_text);
  EXPECT_EQ(text.find("fminf"), text.npos);
  OK(kiln_graph_parse_with(text.data(), text.size(), &function, 1, &again));
  // A call by hand: one operand too few, and one of a kind that is too high.
  kiln_value v = 0, c = 0;
  const kiln_value two[] = {1, 2};
  FAILS(KILN_ERROR_ARGUMENT, "takes 3 operands, not 2", kiln_graph_call(graph, function, two, 2, &v));
  OK(kiln_graph_input(graph, KILN_C64, 1, &c));
  const kiln_value complex[] = {1, 2, c};
  FAILS(KILN_ERROR_TYPE, "its parameter of type f32", kiln_graph_call(graph, function, complex, 3, &v));
  const kiln_value right[] = {1, 2, 0};
  OK(kiln_graph_call(graph, function, right, 3, &v));
  kiln_graph_destroy(again);
  kiln_graph_destroy(graph);
  kiln_function_destroy(function);
  EXPECT_EQ(host.destroyed, 1);
}

TEST(Functions, WhatIsWrongIsRefusedAndTheContextFreedOnce) {
  kiln_function* function = nullptr;
  const auto refused = [&](kiln_status status, auto spoil) {
    Host host;
    kiln_function_description d = smooth(host);
    spoil(d);
    EXPECT_EQ(kiln_function_create(&d, &function), status) << kiln_last_error();
    EXPECT_EQ(host.destroyed, 1);
    EXPECT_EQ(function, nullptr);
  };
  refused(KILN_ERROR_ARGUMENT, [](auto& d) { d.name = nullptr; });
  refused(KILN_ERROR_ARGUMENT, [](auto& d) { d.name = "sm\xff"; });
  refused(KILN_ERROR_TYPE, [](auto& d) { d.name = "two words"; });
  refused(KILN_ERROR_TYPE, [](auto& d) { d.name = "while"; });
  refused(KILN_ERROR_TYPE, [](auto& d) { d.text = "x + 1;"; });  // returns nothing
  refused(KILN_ERROR_ARGUMENT, [](auto& d) { d.text = nullptr; });
  refused(KILN_ERROR_ARGUMENT, [](auto& d) { d.parameter_count = 9; });
  refused(KILN_ERROR_ARGUMENT, [](auto& d) { d.parameter_count = 0; });
  refused(KILN_ERROR_ARGUMENT, [](auto& d) { d.result_type = 99; });
  refused(KILN_ERROR_ARGUMENT, [](auto& d) { d.reserved = 1; });
}

TEST(Functions, AHostsVersionThatThrowsFailsTheLaunch) {
  Host host;
  const kiln_function_description description = smooth(host);
  kiln_function* function = nullptr;
  OK(kiln_function_create(&description, &function));
  kiln_kernel* const kernel = kernel_of(smooth_text, {function});
  const kiln_dl_device cpu = {KILN_DL_CPU, 0};
  const Tensor x(cpu, std::vector<float>(10, 1.0f));
  const kiln_dl_tensor* const tensor = x.get();
  const float a = 0, b = 2;
  const void* const scalars[] = {&a, &b};
  host.throws = true;
  FAILS(KILN_ERROR_CALLBACK, "function smooth threw", kiln_launch(kernel, nullptr, &tensor, 1, scalars, 2, &tensor, 1));
  host.throws = false;
  OK(kiln_launch(kernel, nullptr, &tensor, 1, scalars, 2, &tensor, 1));
  kiln_kernel_destroy(kernel);
  kiln_function_destroy(function);
}

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
