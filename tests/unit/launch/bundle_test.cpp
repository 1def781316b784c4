// tests/unit/launch/bundle_test.cpp -- recorded on the CPU, built for GPUs, launched on a GPU without a compiler.
//
// Children are this program again: which devices there are, what is mapped and what was planned a process decides once.
#include <kiln/kiln.h>
#include <unistd.h>

#include <tuple>
#include <vector>

#include "runtime/bundle/bundle.h"
#include "runtime/cuda_interface.h"
#include "runtime/record_file.h"
#include "runtime/runtime.h"
#include "runtime/tool_bundle_build.h"
#include "tests/support/child_process.h"
#include "tests/support/cpu_compiler.h"
#include "tests/unit/launch/fake_gpu.h"
#include "tests/unit/temporary.h"

namespace kiln {
namespace {

constexpr int right = 0, failed = 3, compiler_mapped = 4, compiled = 5;

bool is_mapped(const char* name) { return test::read_text("/proc/self/maps").find(name) != std::string::npos; }

/// Runs a part of the application; parts that the CPU refuses, as CUDA text without a host version, do not end it.
template <class Part>
void attempt(Device device, Part part) {
  try {
    part();
  } catch (const Error& error) {
    if (device.kind() == DeviceKind::cuda) throw;
  }
}

/// Every kind of kernel that the library launches, on one device. The fake GPU computes nothing.
void run_everything(Device device) {
  const DeviceGuard guard(device);
  Array<float> x({1000}), y({1000}), wide({64, 4096});
  Array<half> halves({64, 4096});
  Array<std::int64_t> places({1000});
  x = 1.0f, y = 2.0f, wide = 1.0f, places = 3;
  halves = cast<half>(wide);
  attempt(device, [&] { y = 2.5f * x + y; });                                           // elementwise
  attempt(device, [&] { y(range(1, none)) = x(range(0, -1)) + 1.0f; });                 // unaligned
  attempt(device, [&] { Array<float> turned = wide + wide.reshape({4096, 64}).t(); });  // transpose
  attempt(device, [&] { Array<float> total = sum(x * y); });                            // reductions
  attempt(device, [&] { Array<float> columns = mean(wide, 0), rows = var(wide, -1); });
  attempt(device, [&] { Array<std::int64_t> at = argmax(wide, 1); });
  attempt(device, [&] { Array<float> least = reduce(wide, 1, 1e30f, [](auto a, auto b) { return minimum(a, b); }); });
  attempt(device, [&] { Array<float> running = cumsum(x); });  // scans
  attempt(device, [&] { Array<float> running = cummax(wide, 0); });
  attempt(device, [&] { y = shift(x, {1}, wrap) + shift(x, {-1}, wrap); });  // windows
  attempt(device, [&] { Array<float> taken = take(x, places, 0); });         // gather
  attempt(device, [&] { scatter_add(y, places, x, 0); });                    // sorted
  attempt(device, [&] { scatter_add(y, places, 1.0f, 0); });                 // counted
  attempt(device, [&] { scatter_add(y, places, x, 0, unordered); });         // atomic
  attempt(device, [&] { scatter_max(places, places, places, 0); });
  attempt(device, [&] { Array<std::int64_t> counts = bincount(places, 16); });
  attempt(device, [&] { Array<float> copy = wide(all, range(0, 17)).clone(); });  // gathered by a kernel
  attempt(device, [&] { wide(range(0, 8), range(0, 3)).to_host(); });
  attempt(device, [&] { Array<float> noise = random::normal<float>({100}, 7); });
  const auto softmax = jit([](auto v) {
    auto e = exp(v - max(v, -1, keepdims));
    return e / sum(e, -1, keepdims);
  });
  attempt(device, [&] { Array<half> p = softmax(halves); });
  attempt(device, [&] { Array<float> p = softmax[{.block = 128}](wide); });  // launch control
  const auto smooth = function<float(float, float)>("smooth", {"a", "b"}, "return a + helper(b);")
                          .preamble("__device__ float helper(float v) { return v * v; }");
  attempt(device, [&] { y = smooth(x, y) + 1.0f; });  // CUDA text alone
  const auto product = ufunc([](auto a, auto b) { return a * b; });
  attempt(device, [&] { Array<float> all_of = product.reduce(wide, 0), each = product.outer(x, y); });
  const auto matvec = gufunc<"(m,n),(n)->(m)">([](auto a, auto v) { return sum(a * v, -1); });
  attempt(device, [&] { Array<float> p = matvec(wide, wide(0, all)); });
  const auto scale = raw_kernel("scale<float>", R"(template <class T>
__global__ void scale(T* x, int n) {
  if (threadIdx.x < n) x[threadIdx.x] *= 2;
})");
  attempt(device, [&] { scale[{.grid = {1}, .block = {64}}](x, 64); });
  // C13: scalar values and lengths are arguments, of a record too.
  const auto scaled = jit("scaled", [](auto factor, auto v) { return factor * v; });
  for (int i = 0; i < 50; ++i) {
    Array<float> v({1000 + i});
    v = 1.0f;
    v = scaled(static_cast<float>(i), v);
  }
  synchronize();
}

int failed_with(const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  if (const char* const file = std::getenv("TEST_MESSAGE")) test::write_text(file, error.what());
  return failed;
}

int only_kernels_of_bundles(int major, int minor) {
  fake_driver().major = major;
  fake_driver().minor = minor;
  set_compile_mode(CompileMode::bundle_only);
  try {
    run_everything(Device::cuda(0));
  } catch (const Error& error) {
    return failed_with(error);
  }
  if (runtime::cache_counters().compiles != 0) return compiled;
  return is_mapped("nvrtc") || is_mapped("libkiln_cpu") || is_mapped("libLLVM") ? compiler_mapped : right;
}

// Run by the tests below, as programs of their own.
TEST(BundleChild, DISABLED_Records) {
  run_everything(Device::cpu());
  _exit(right);
}
TEST(BundleChild, DISABLED_LaunchesOnGpu) {
  const int capability = std::atoi(std::getenv("TEST_CAPABILITY"));
  _exit(only_kernels_of_bundles(capability / 10, capability % 10));
}

TEST(BundleChild, DISABLED_RunsOnCpu) {
  set_compile_mode(CompileMode::bundle_only);
  try {
    run_everything(Device::cpu());
  } catch (const Error& error) {
    _exit(failed_with(error));
  }
  if (runtime::cache_counters().bundle_misses != 0 || runtime::cache_counters().compiles != 0) _exit(compiled);
  _exit(is_mapped("libkiln_cpu") || is_mapped("libLLVM") ? compiler_mapped : right);
}

int run_child(const char* name) { return test::run_alone(std::string("BundleChild.DISABLED_") + name); }

class BundleOfRecord : public testing::Test {
 protected:
  void SetUp() override {
    KILN_NEEDS_CPU_COMPILER();
    if (runtime::cuda::report_compiler().version == 0) GTEST_SKIP() << "no NVRTC here";
    const test::Variable recording("KILN_RECORD", record.c_str());
    ASSERT_EQ(run_child("Records"), right);
  }
  void build(const std::vector<std::string>& archs, const std::vector<std::string>& ptx) {
    tool::BundleRequest request;
    request.records = {record};
    request.archs = archs;
    request.ptx = ptx;
    request.output = bundle;
    tool::build_bundle(request);
  }
  int run_on_cpu() {
    const test::Variable file("KILN_BUNDLE", bundle.c_str()), cache("KILN_CACHE", "off");
    return run_child("RunsOnCpu");
  }
  int launch_on(const char* capability) {
    const test::Variable of_child("TEST_CAPABILITY", capability), file("KILN_BUNDLE", bundle.c_str());
    const test::Variable cache("KILN_CACHE", "off");
    return run_child("LaunchesOnGpu");
  }
  /// What the first call that fails on such a card says.
  std::string message_on(const char* capability) {
    const std::string file = directory.path + "/message";
    const test::Variable of_child("TEST_MESSAGE", file.c_str());
    EXPECT_EQ(launch_on(capability), failed);
    return test::read_text(file);
  }
  test::TemporaryDirectory directory;
  std::string record = directory.path + "/trace.kiln", bundle = directory.path + "/app.klb";
};

TEST(CompileModes, NumbersThatAreNoModeAreRefused) {
  for (const int number : {77, 4, -1}) {
    const std::string message = message_of<TypeError>([&] { set_compile_mode(static_cast<CompileMode>(number)); });
    EXPECT_TRUE(message.starts_with("kl::set_compile_mode: " + std::to_string(number) + " is no mode (")) << message;
    EXPECT_NE(message.find("bundle_test.cpp:"), message.npos) << message;
  }
  EXPECT_EQ(compile_mode(), CompileMode::automatic);
}

/// All that the application launched on the CPU, and what a GPU would launch instead, is in the record; a GPU finds
/// every kernel of its own in the bundle and no compiler is mapped (C16).
TEST_F(BundleOfRecord, GpusOfEveryKindFindTheirKernels) {
  build({"sm_80", "sm_90"}, {"sm_80"});
  EXPECT_EQ(launch_on("90"), right) << compiler_mapped << ": a compiler is mapped; " << compiled << ": it compiled";
  EXPECT_EQ(launch_on("80"), right);
  EXPECT_EQ(launch_on("89"), right) << "the plans and the machine code of 8.0";
  EXPECT_EQ(launch_on("100"), right) << "the plans and the PTX of 8.0";
  EXPECT_EQ(launch_on("75"), failed);
}

/// What a call says whose kernel is there, but for no device like this one; types and layouts are not the reason.
TEST_F(BundleOfRecord, AMissNamesTheTargetsThatAreThere) {
  tool::BundleRequest request;
  request.records = {record};
  request.cpus = {"x86-64-v3"};
  request.output = bundle;
  tool::build_bundle(request);
  std::string message = message_on("90");
  EXPECT_NE(message.find(", all for other devices: x86-64-v3: it is for CPUs\n"), message.npos) << message;
  EXPECT_EQ(message.find("other types"), message.npos) << message;
  build({"sm_80"}, {});
  message = message_on("90");
  EXPECT_NE(message.find("sm_80: machine code of compute capability 8.x does not run on 9.0\n"), message.npos)
      << message;
  EXPECT_EQ(message.find("other types"), message.npos) << message;
}

#ifdef __x86_64__
/// An image with a flipped bit is the only reason that is given: the plan for the vectors of this CPU, which the bundle
/// does not have, is none.
TEST_F(BundleOfRecord, AMissOfADamagedImageNamesTheDamageAlone) {
  tool::BundleRequest request;
  request.records = {record};
  request.cpus = {"x86-64-v2"};
  request.output = bundle;
  tool::build_bundle(request);
  std::string bytes = test::read_text(bundle);
  const auto reader = runtime::BundleReader::open(bundle);
  for (const runtime::BundleKernel& kernel : reader->kernels()) {
    const std::size_t at = bytes.find(reader->image(kernel));
    if (at != bytes.npos) bytes[at + 1] ^= 1;  // several kernels may share an image
  }
  test::write_text(bundle, bytes);
  const std::string file = directory.path + "/message";
  const test::Variable of_child("TEST_MESSAGE", file.c_str());
  EXPECT_EQ(run_on_cpu(), failed);
  const std::string message = test::read_text(file);
  EXPECT_NE(message.find("is damaged (its checksum is wrong)"), message.npos) << message;
  EXPECT_EQ(message.find("other types"), message.npos) << message;
  EXPECT_EQ(message.find("no kernel of this name"), message.npos) << message;
}
#endif

/// The kernels of every CPU compile; this one finds those that it runs, in vectors as wide as its baseline's.
TEST_F(BundleOfRecord, CpusFindTheirObjects) {
  tool::BundleRequest request;
  request.records = {record};
  request.cpus = {"aarch64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
  request.output = bundle;
  const tool::BundleBuilt built = tool::build_bundle(request);
  EXPECT_TRUE(built.notes.empty());
#ifdef __x86_64__
  EXPECT_EQ(run_on_cpu(), right) << compiler_mapped << ": a compiler is mapped; " << compiled
                                 << ": a kernel is missing";
#endif
}

TEST_F(BundleOfRecord, ARecordNamesUsersLinesAndHoldsEachKernelOnce) {
  runtime::RecordSet set;
  set.add_file(record);
  EXPECT_EQ(set.unfinished(), 0u);
  bool has_raw = false, has_smooth = false, has_sort = false;
  std::size_t placed = 0, scaled = 0;
  for (const runtime::RecordedKernel& kernel : set.kernels()) {
    has_raw |= kernel.source.expression == "scale<float>";
    has_smooth |= kernel.source.text.find("helper(float v)") != std::string::npos;
    has_sort |= kernel.place.starts_with("scatter (bundle_test.cpp:");
    scaled += kernel.place.starts_with("scaled (");
    placed += kernel.place.find("bundle_test.cpp:") != std::string::npos;
  }
  EXPECT_TRUE(has_raw && has_smooth && has_sort);
  EXPECT_GT(placed, set.kernels().size() / 2);
  // Whole vectors or not, on GPUs and on CPUs of three vector widths.
  EXPECT_GE(scaled, 4u);
  EXPECT_LE(scaled, 10u);
}

}  // namespace
}  // namespace kiln
