// tests/support/devices.h -- runs every body on each device; a missing GPU is a visible skip.
#pragma once

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <kiln/kiln.h>

namespace kl = kiln;

/// TEST_P(SomeTest, Rule) bodies run with `device` current. Use KILN_ON_EACH_DEVICE(SomeTest) once per fixture.
class OnEachDevice : public testing::TestWithParam<const char*> {
 protected:
  kl::Device device = GetParam()[1] == 'p' ? kl::Device::cpu() : kl::Device::cuda(0);  // "cpu" or "cuda"
  bool on_gpu() const { return GetParam()[1] == 'u'; }

  void SetUp() override {
#ifdef KILN_WITHOUT_CPU_COMPILER
    if (!on_gpu()) GTEST_SKIP() << "built without the CPU compiler (KILN_CPU_JIT=OFF), which the cpu device needs";
#endif
    if (!device.is_available()) GTEST_SKIP() << "no usable " << GetParam() << " device here";
    guard_.emplace(device);
  }
  void TearDown() override {
    if (device.is_available()) kl::synchronize();
  }

 private:
  std::optional<kl::DeviceGuard> guard_;
};

#define KILN_ON_EACH_DEVICE(Fixture)                                        \
  INSTANTIATE_TEST_SUITE_P(Device, Fixture, testing::Values("cpu", "cuda"), \
                           [](const auto& each) { return std::string(each.param); })
