// tests/device/bundle_test.cpp -- recorded on the CPU, built for this machine, run from the bundle alone: the same
// values.
//
// Children are this program again: a process decides once what it records and which kernels it has loaded.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "runtime/tool_bundle_build.h"
#include "tests/support/child_process.h"
#include "tests/support/devices.h"
#include "tests/support/temporary_directory.h"

namespace {

class BundleOnDevice : public OnEachDevice {};
KILN_ON_EACH_DEVICE(BundleOnDevice);

using Floats = std::vector<float>;

constexpr std::size_t size = 3000;

/// Whole numbers: sums are exact in any order, whichever plan computes them.
Floats numbers(std::size_t first) {
  Floats values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<float>((i + first) % 17);
  return values;
}

/// Each kind of kernel, compared with plain loops. False, with a line on stderr, for a wrong value.
bool application_is_right() {
  const Floats a = numbers(0), b = numbers(5);
  std::vector<std::int64_t> at(size);
  for (std::size_t i = 0; i < size; ++i) at[i] = static_cast<std::int64_t>(i * 7 % 100);
  const kl::Array<float> x = kl::from_host(a);
  const kl::Array<std::int64_t> places = kl::from_host(at);
  kl::Array<float> y = kl::from_host(b);
  kl::Array<float> bins = kl::zeros<float>({100});
  y = 3.0f * x + y;
  const kl::Array<float> running = kl::cumsum(x), shifted = kl::shift(x, {1}, kl::wrap) + x,
                         taken = kl::take(x, places, 0);
  kl::scatter_add(bins, places, x, 0);
  const float total = kl::sum(x * y).item();
  const auto centred = kl::jit([](auto v) { return v - kl::max(v, -1, kl::keepdims); });
  const kl::Array<float> rows = centred(x.reshape({30, 100}));
  const Floats got_y = y.to_host(), got_running = running.to_host(), got_shifted = shifted.to_host(),
               got_taken = taken.to_host(), got_bins = bins.to_host(), got_rows = rows.to_host();
  Floats expected_bins(100);
  float sum = 0, dot = 0;
  bool right = true;
  for (std::size_t i = 0; i < size; ++i) {
    const float value = 3.0f * a[i] + b[i];
    sum += a[i];
    dot += a[i] * value;
    expected_bins[i * 7 % 100] += a[i];
    float greatest = 0;
    for (std::size_t k = i / 100 * 100; k < i / 100 * 100 + 100; ++k) greatest = std::max(greatest, a[k]);
    right &= got_y[i] == value && got_running[i] == sum && got_shifted[i] == a[i] + a[(i + size - 1) % size] &&
             got_taken[i] == a[i * 7 % 100] && got_rows[i] == a[i] - greatest;
  }
  right &= got_bins == expected_bins && total == dot;
  if (!right) std::fprintf(stderr, "wrong values on %s\n", kl::Device::current().name());
  return right;
}

constexpr int right = 0, wrong = 3, missing = 4, compiler_is_mapped = 5;

bool is_mapped(const char* name) {
  std::ifstream file("/proc/self/maps");
  const std::string maps{std::istreambuf_iterator<char>(file), {}};
  return maps.find(name) != std::string::npos;
}

int run_application(bool from_bundle) {
  if (from_bundle) kl::set_compile_mode(kl::CompileMode::bundle_only);
  try {
    if (!application_is_right()) return wrong;
  } catch (const kl::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return missing;
  }
  return from_bundle && (is_mapped("libkiln_cpu") || is_mapped("libnvrtc")) ? compiler_is_mapped : right;
}

// Run by the test below, as programs of their own.
TEST(BundleApplication, DISABLED_records_itself) { _exit(run_application(false)); }
TEST(BundleApplication, DISABLED_runs_from_its_bundle) { _exit(run_application(true)); }

int run_child(const char* name, const kl::test::Environment& environment) {
  return kl::test::run_alone(std::string("BundleApplication.DISABLED_") + name, environment);
}

/// The record of a run on the CPU is enough for the GPU; nothing is compiled, and no compiler is mapped.
TEST_P(BundleOnDevice, computes_the_same_as_compiled_kernels) {
#ifdef KILN_WITHOUT_CPU_COMPILER
  GTEST_SKIP() << "built without the CPU compiler (KILN_CPU_JIT=OFF), which the recording run needs";
#endif
  const kiln::test::TemporaryDirectory directory;
  const std::string record = directory.path + "/trace.kiln", bundle = directory.path + "/app.klb";
  EXPECT_EQ(run_child("records_itself", {{"KILN_RECORD", record}, {"KILN_DEVICE", "cpu"}}), right);
  kl::tool::BundleRequest request;
  request.records = {record};
  request.output = bundle;
  if (on_gpu())
    request.archs = {device.arch()};
  else
    request.cpus = {std::strstr(device.arch(), "avx2") ? "x86-64-v3" : "x86-64-v2"};
  kl::tool::build_bundle(request);
  EXPECT_EQ(run_child("runs_from_its_bundle",
                      {{"KILN_BUNDLE", bundle}, {"KILN_CACHE", "off"}, {"KILN_DEVICE", on_gpu() ? "cuda:0" : "cpu"}}),
            right)
      << wrong << ": wrong values; " << missing << ": a kernel is not in the bundle; " << compiler_is_mapped
      << ": a compiler is mapped";
}

/// Nothing is compiled where only bundles are allowed; afterwards everything works again.
TEST_P(BundleOnDevice, misses_are_errors_in_bundle_only_mode) {
  kl::Array<double> x = kl::from_host(std::vector<double>{1, 2, 3});
  const auto cube = kl::jit("cube_for_no_bundle", [](auto v) { return v * v * v - 0.5; });
  kl::set_compile_mode(kl::CompileMode::bundle_only);
  EXPECT_EQ(kl::compile_mode(), kl::CompileMode::bundle_only);
  std::string message;
  try {
    x = cube(x);
  } catch (const kl::CompileError& error) {
    message = error.what();
  }
  kl::set_compile_mode(kl::CompileMode::automatic);
  EXPECT_NE(message.find("of cube_for_no_bundle (bundle_test.cpp:"), std::string::npos) << message;
  EXPECT_NE(message.find("is in no bundle for "), std::string::npos) << message;
  x = cube(x);
  EXPECT_EQ(x.to_host(), (std::vector<double>{0.5, 7.5, 26.5}));
  EXPECT_THROW(kl::load_bundle("/no/such/bundle.klb"), kl::IoError);
}

}  // namespace
