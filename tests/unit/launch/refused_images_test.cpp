// tests/unit/launch/refused_images_test.cpp -- cases C04 and C10: the driver refuses an image that was made anew or
// came from the cache. The call still runs, by PTX; where that is refused too, the error says what met what, and the
// next call is as good as any.
#include <unistd.h>

#include "runtime/runtime.h"
#include "tests/support/child_process.h"
#include "tests/unit/launch/fake_gpu.h"
#include "tests/unit/temporary.h"

namespace kiln {
namespace {

struct Refusal {
  int code;
  const char* name;
};
const Refusal refusals[] = {{200, "CUDA_ERROR_INVALID_IMAGE"},
                            {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
                            {218, "CUDA_ERROR_INVALID_PTX"},
                            {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
                            {300, "CUDA_ERROR_INVALID_SOURCE"}};

class RefusedImages : public FakeGpuTest {};

/// A kernel of its own for each number: another constant.
Array<float> evaluate(const Array<float>& x, float number) { return eval(x * lit(number) + lit(number)); }

// Rule (C10): a refused cubin is tried as PTX, whichever of the driver's words for "not this image" it was.
TEST_F(RefusedImages, ACubinThatIsRefusedOnceRunsAsPtx) {
  const Array<float> x({1000});
  float number = 100;
  for (const Refusal& refusal : refusals) {
    clear();
    fake_driver().faults["cuLibraryLoadData"] = {refusal.code, 0, 1};
    EXPECT_NO_THROW(evaluate(x, ++number)) << refusal.name;
    EXPECT_EQ(count("cuLibraryLoadData"), 2) << refusal.name;
    EXPECT_EQ(count("cuLaunchKernel"), 1) << refusal.name;
    clear();
    EXPECT_NO_THROW(evaluate(x, number)) << refusal.name;
    EXPECT_EQ(count("cuLibraryLoadData"), 0) << "kept";
  }
}

TEST_F(RefusedImages, WhatIsRefusedAltogetherIsAnErrorOfThatCallAlone) {
  const Array<float> x({1000});
  float number = 200;
  for (const Refusal& refusal : refusals) {
    clear();
    fake_driver().faults["cuLibraryLoadData"] = {refusal.code, 0, 100};
    ++number;
    const std::string text = message_of<DeviceError>([&] { evaluate(x, number); });
    EXPECT_TRUE(messages::has(text, ("(" + std::to_string(refusal.code) + ",").c_str())) << text;
    for (const char* const part : {"Fake GPU", "sm_90", "CUDA 13.0", "NVRTC", "PTX"})
      EXPECT_TRUE(messages::has(text, part)) << part << "\n" << text;
    EXPECT_EQ(count("cuLaunchKernel"), 0) << refusal.name;
    fake_driver().faults.clear();
    EXPECT_NO_THROW(evaluate(x, number)) << refusal.name << ": a failure is not remembered";
    EXPECT_EQ(count("cuLaunchKernel"), 1) << refusal.name;
  }
}

/// Other faults say nothing about the image: no other one is made of it.
TEST_F(RefusedImages, OtherFaultsAreNotTriedAsPtx) {
  constexpr int illegal_address = 700, out_of_memory = 2;
  const Array<float> x({1000});
  fake_driver().faults["cuLibraryLoadData"] = {illegal_address, 0, 1};
  EXPECT_THROW(evaluate(x, 301), DeviceError);
  fake_driver().faults["cuLibraryLoadData"] = {out_of_memory, 0, 1};
  EXPECT_THROW(evaluate(x, 302), OutOfMemory);
  fake_driver().faults.clear();
  EXPECT_NO_THROW(evaluate(x, 301));
  EXPECT_NO_THROW(evaluate(x, 302));
}

constexpr int right = 0, wrong = 1;

/// `refused`: the code that loads give; `times` of them.
int use_the_cache(int refused, int times) {
  const DeviceGuard gpu(Device::cuda(0));
  const Array<float> x({1000});
  if (refused) fake_driver().faults["cuLibraryLoadData"] = {refused, 0, times};
  try {
    evaluate(x, 400);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return wrong;
  }
  return fake_driver().count("cuLaunchKernel") == 1 ? right : wrong;
}

TEST(RefusedImagesChild, DISABLED_Scenario) {
  _exit(use_the_cache(std::atoi(getenv("REFUSED_CODE")), std::atoi(getenv("REFUSED_TIMES"))));
}

int run_child(int code, int times) {
  return test::run_alone("RefusedImagesChild.DISABLED_Scenario",
                         {{"REFUSED_CODE", std::to_string(code)}, {"REFUSED_TIMES", std::to_string(times)}});
}

// Rule (C04): an image of the cache that cannot be loaded is made again, by every process that meets it.
TEST_F(RefusedImages, ImagesOfTheCacheAreMadeAgain) {
  for (const Refusal& refusal : refusals) {
    const test::TemporaryDirectory cache;
    const test::Variable directory("KILN_CACHE_DIR", cache.path.c_str());
    ASSERT_EQ(run_child(0, 0), right) << "cold";
    EXPECT_EQ(run_child(refusal.code, 1), right) << refusal.name << ", the cubin of the cache";
    EXPECT_EQ(run_child(refusal.code, 1), right) << refusal.name << ", again, now with the PTX in the cache too";
    EXPECT_EQ(run_child(0, 0), right) << refusal.name << ": nothing of the cache is spoilt";
    EXPECT_EQ(run_child(refusal.code, 9), wrong) << refusal.name << ": an error, and no crash";
    EXPECT_EQ(run_child(0, 0), right);
  }
}

}  // namespace
}  // namespace kiln
