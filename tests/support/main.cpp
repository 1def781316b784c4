// tests/support/main.cpp -- entry point of the device tests: says which devices take part, and by its status whether
// any test ran.
#include <cstdio>
#include <cstdlib>

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
  // The status by which ctest knows what was skipped as a whole; of this process, not of children that tests make.
  const char* const wanted = std::getenv("STATUS_OF_SKIPPED");
  const int status_of_skipped = wanted ? std::atoi(wanted) : 0;
  unsetenv("STATUS_OF_SKIPPED");
  const int status = RUN_ALL_TESTS();
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  const bool nothing_ran = all.test_to_run_count() > 0 && all.skipped_test_count() == all.test_to_run_count();
  return status == 0 && nothing_ran ? status_of_skipped : status;
}
