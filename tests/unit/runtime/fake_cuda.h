// tests/unit/runtime/fake_cuda.h -- the CUDA backend on the fake driver, for tests.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/cuda/testing.h"
#include "runtime/cuda_interface.h"
#include "runtime/runtime.h"
#include "tests/fake_driver/fake_driver.h"
#include "tests/support/messages.h"

namespace kiln::runtime::fakes {

using messages::message_of;

// All of unit_runtime sees the fake driver, on machines with a GPU too.
inline const bool fake_in_use = (cuda::use_driver_for_tests(KILN_FAKE_CUDA), true);

inline fake::FakeDriver& fake_driver() {
  static auto* const library = dlopen(KILN_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  static const auto get = reinterpret_cast<fake::GetFakeDriver>(dlsym(library, "kiln_fake_driver"));
  return *get();
}

inline KernelSource saxpy_source() {
  KernelSource source;
  source.text = "extern \"C\" __global__ void saxpy(long long) {}";
  source.entry = "saxpy";
  source.argument_bytes = 16;
  source.max_threads = 256;
  return source;
}

inline Binary cubin(const std::string& image = "cubin") {
  Binary binary;
  binary.image.assign(image.c_str(), image.c_str() + image.size() + 1);
  binary.entry = "saxpy";
  binary.options.arch = "sm_90";
  return binary;
}

class CudaBackendTest : public ::testing::Test {
 protected:
  CudaBackendTest() { reset(1); }
  ~CudaBackendTest() override { reset(1); }

  void reset(int devices) {
    fake::FakeDriver& driver = fake_driver();
    driver.driver_version = 13000;
    driver.device_count = devices;
    driver.major = 9;
    driver.minor = 0;
    driver.has_pools = true;
    driver.deinitialized = false;
    driver.capturing = false;
    driver.memory_bytes = std::uint64_t{1} << 30;
    driver.held = 0;
    driver.faults.clear();
    driver.argument_bytes = 16;
    cuda::use_driver_for_tests(KILN_FAKE_CUDA);
    backends_ = cuda::make_backends(reason_);
    driver.calls.clear();
  }
  Backend& device(int index = 0) { return *backends_.at(static_cast<std::size_t>(index)); }
  std::vector<std::string> calls() { return fake_driver().calls; }

  std::vector<std::unique_ptr<Backend>> backends_;
  std::string reason_;
};

}  // namespace kiln::runtime::fakes
