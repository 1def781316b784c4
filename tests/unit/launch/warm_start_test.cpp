// tests/unit/launch/warm_start_test.cpp -- with a warm cache neither NVRTC nor LLVM is loaded, on both devices.
//
// The child is this program again: what a process has mapped, its tests have in common.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <kiln/kiln.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "tests/support/child_process.h"
#include "tests/support/cpu_compiler.h"
#include "tests/unit/temporary.h"

namespace kiln {
namespace {

constexpr int right = 0, wrong_values = 3, compiler_mapped = 4, compiled_again = 5, no_compiler = 6;

bool is_mapped(const char* name) { return test::read_text("/proc/self/maps").find(name) != std::string::npos; }

bool right_on_cpu() {
  const DeviceGuard cpu(Device::cpu());
  Array<float> x = from_host(std::vector<float>{1, 2, 3});
  Array<float> y = 2.0f * x + 1.0f;
  return y.to_host() == std::vector<float>{3, 5, 7} && sum(x * y).item() == 34.0f;
}

/// The fake GPU computes nothing: reaching the launch is what counts.
void launch_on_gpu() {
  const DeviceGuard gpu(Device::cuda(0));
  Array<float> x({1000});
  Array<float> y = 2.0f * x + 1.0f;
  Array<float> total = sum(x * y);
  synchronize();
}

int use_both_devices(bool is_warm) {
  try {
    if (!right_on_cpu()) return wrong_values;
    if (is_warm && (is_mapped("libkiln_cpu") || is_mapped("libLLVM"))) return compiler_mapped;
    launch_on_gpu();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return no_compiler;
  }
  if (!is_warm) return right;
  if (runtime::cache_counters().compiles != 0) return compiled_again;
  return is_mapped("nvrtc") || is_mapped("libkiln_cpu") || is_mapped("libLLVM") ? compiler_mapped : right;
}

// Run by the test below, as a program of its own.
TEST(WarmStartChild, DISABLED_UsesBothDevices) { _exit(use_both_devices(getenv("WARM_START") != nullptr)); }

int run_child(bool is_warm) {
  return test::run_alone("WarmStartChild.DISABLED_UsesBothDevices",
                         is_warm ? test::Environment{{"WARM_START", "1"}} : test::Environment{});
}

TEST(WarmStart, MapsNoCompiler) {
  KILN_NEEDS_CPU_COMPILER();
  const test::TemporaryDirectory cache;
  const test::Variable directory("KILN_CACHE_DIR", cache.path.c_str());
  const int cold = run_child(false);
  if (cold == no_compiler) GTEST_SKIP() << "no NVRTC here";
  ASSERT_EQ(cold, right);
  EXPECT_EQ(run_child(true), right) << compiler_mapped << ": a compiler was loaded; " << compiled_again
                                    << ": it compiled";
}

}  // namespace
}  // namespace kiln
