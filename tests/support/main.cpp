// tests/support/main.cpp -- entry point of the device tests: says which devices take part.
#include <cstdio>

#include <gtest/gtest.h>

#include <kiln/kiln.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
#ifdef KILN_WITHOUT_CPU_COMPILER
  const char* const cpu = "skipped, built without the CPU compiler";
#else
  const char* const cpu = kiln::Device::cpu().is_available() ? "runs" : "skipped, not usable";
#endif
  std::printf("cpu: %s\ncuda: %s\n", cpu, kiln::Device::cuda(0).is_available() ? "runs" : "skipped, not usable");
  return RUN_ALL_TESTS();
}
