// tests/support/main.cpp -- entry point of the device tests: says which devices take part.
#include <cstdio>

#include <gtest/gtest.h>

#include <kiln/kiln.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::printf("cpu: %s\ncuda: %s\n", kiln::Device::cpu().is_available() ? "runs" : "skipped, not usable",
              kiln::Device::cuda(0).is_available() ? "runs" : "skipped, not usable");
  return RUN_ALL_TESTS();
}
