// tests/unit/launch/fake_gpu.h -- whole calls on the fake driver: kernels are compiled by NVRTC and never run.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <kiln/kiln.h>
#include <stdlib.h>

#include <string>

#include "runtime/cuda/testing.h"
#include "tests/fake_driver/fake_driver.h"
#include "tests/support/messages.h"

namespace kiln {

using messages::message_of;

/// Tests of tuning ask for it; others count what is asked of the driver.
inline const bool fake_in_use =
    (runtime::cuda::use_driver_for_tests(KILN_FAKE_CUDA), setenv("KILN_TUNE", "off", 0), true);

inline fake::FakeDriver& fake_driver() {
  static auto* const library = dlopen(KILN_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  static const auto get = reinterpret_cast<fake::GetFakeDriver>(dlsym(library, "kiln_fake_driver"));
  return *get();
}

/// Skips, with the reason, where no kernel can be compiled.
class FakeGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      Array<float> y({4});
      y = y + 1;
    } catch (const CompileError& error) {
      ASSERT_NE(std::string(error.what()).find("NVRTC"), std::string::npos) << error.what();
      GTEST_SKIP() << error.what();
    }
    fake_driver().argument_bytes = 0;
    clear();
  }
  void TearDown() override {
    fake_driver().capturing = false;
    fake_driver().parameter_bytes.clear();
  }
  static void clear() { fake_driver().calls.clear(); }
  static int count(const char* prefix) { return fake_driver().count(prefix); }
  static std::uint64_t used() { return fake_driver().used; }
  /// The last call of the driver that starts like this; empty where none does.
  static std::string last(const std::string& prefix) {
    const auto& calls = fake_driver().calls;
    for (auto call = calls.rbegin(); call != calls.rend(); ++call)
      if (call->starts_with(prefix)) return *call;
    return "";
  }

  const DeviceGuard guard{Device::cuda(0)};
};

}  // namespace kiln
