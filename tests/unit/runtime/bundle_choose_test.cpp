// tests/unit/runtime/bundle_choose_test.cpp -- which image of a bundle a device gets, and why not the others.
#include "runtime/bundle/choose.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

namespace kiln::runtime {
namespace {

class BundleChooseTest : public ::testing::Test {
 protected:
  static std::vector<BundleKernel> candidates(const std::string& targets) {
    std::vector<BundleKernel> kernels;
    std::istringstream words(targets);
    for (std::string word; words >> word;) {
      BundleKernel kernel;
      kernel.target = *names_.insert(word).first;
      kernel.kind = kind_of_target(word).value_or(ImageKind::cubin);
      kernels.push_back(kernel);
    }
    return kernels;
  }
  /// Targets of the usable candidates, the best first.
  static std::string usable(const std::string& targets, const char* arch, bool allow_ptx = true) {
    const auto kernels = candidates(targets);
    const BundleChoice choice = choose(kernels, arch, allow_ptx);
    EXPECT_EQ(choice.usable.size() + choice.rejections.size(), kernels.size()) << "every candidate is accounted for";
    std::string text;
    for (const BundleKernel* const kernel : choice.usable) {
      if (!text.empty()) text += ' ';
      text += kernel->target;
    }
    return text;
  }
  static std::string rejection(const std::string& target, const char* arch, bool allow_ptx = true) {
    const BundleChoice choice = choose(candidates(target), arch, allow_ptx);
    EXPECT_EQ(choice.chosen(), nullptr);
    return choice.rejections.empty() ? "" : choice.rejections.front();
  }

  static inline std::set<std::string> names_;
};

// design.md section 6: exact a, exact sm, lower minor of the same major, PTX.
TEST_F(BundleChooseTest, OrderIsExactThenLowerMinorThenPtx) {
  EXPECT_EQ(usable("ptx_80 sm_90 sm_80 sm_90a ptx_90 ptx_90a", "sm_90"), "sm_90a sm_90 ptx_90a ptx_90 ptx_80");
  EXPECT_EQ(usable("sm_86 ptx_75 sm_80 sm_89 sm_90", "sm_89"), "sm_89 sm_86 sm_80 ptx_75");
  EXPECT_EQ(usable("sm_89", "sm_86"), "");
  EXPECT_EQ(usable("sm_100f sm_100 sm_103a sm_103f sm_100a sm_103", "sm_103"), "sm_103a sm_103f sm_103 sm_100f sm_100");
  EXPECT_EQ(usable("sm_80 sm_90 ptx_90", "sm_120"), "ptx_90");
  EXPECT_EQ(usable("ptx_80 sm_80", "sm_80", false), "sm_80");
  EXPECT_EQ(usable("ptx_80 x86-64-v3", "sm_80", false), "");
  EXPECT_EQ(usable("", "sm_80"), "");
}

// CUDA C++ Programming Guide, binary compatibility: not between integrated and discrete GPUs.
TEST_F(BundleChooseTest, IntegratedGpusRunTheirOwnMachineCodeOnly) {
  EXPECT_EQ(usable("sm_80 sm_86 ptx_80", "sm_87"), "ptx_80");
  EXPECT_EQ(usable("sm_87 sm_80", "sm_87"), "sm_87");
  EXPECT_EQ(usable("sm_87", "sm_89"), "");
}

TEST_F(BundleChooseTest, CpusGetTheWidestTheyHave) {
  const std::string v3 = std::string(cpu_target_features("x86-64-v3"));
  const std::string all = "x86-64-v2 x86-64-v4 aarch64 x86-64-v3 sm_90 ptx_80";
  EXPECT_EQ(usable(all, v3.c_str()), "x86-64-v3 x86-64-v2");
  EXPECT_EQ(usable(all, cpu_target_features("x86-64-v4").data()), "x86-64-v4 x86-64-v3 x86-64-v2");
  EXPECT_EQ(usable(all, "aarch64 neon"), "aarch64");
  EXPECT_EQ(usable(all, "x86-64 sse3"), "");
  EXPECT_EQ(rejection("x86-64-v2", "x86-64 sse3,ssse3,sse4.1,popcnt"), "x86-64-v2: this CPU lacks sse4.2");
  EXPECT_EQ(rejection("aarch64", v3.c_str()), "aarch64: it is for aarch64, this CPU is x86-64");
  EXPECT_EQ(rejection("sm_90", v3.c_str()), "sm_90: it is for GPUs");
}

// The x86-64 psABI: level 3 is level 2 and AVX, AVX2, BMI1, BMI2, F16C, FMA, LZCNT.
TEST_F(BundleChooseTest, LevelsAreThoseOfThePsAbi) {
  const std::string v2 = std::string(cpu_target_features("x86-64-v2"));
  for (const char* const feature : {"sse3", "ssse3", "sse4.1", "sse4.2", "popcnt"})
    EXPECT_NE(v2.find(feature), v2.npos) << feature;
  const std::string v3 = std::string(cpu_target_features("x86-64-v3"));
  for (const char* const feature : {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt"})
    EXPECT_NE(v3.find(std::string(",") + feature), v3.npos) << feature;
  EXPECT_TRUE(v3.starts_with(v2));
  EXPECT_EQ(v3.find("avx512"), v3.npos);
  EXPECT_EQ(cpu_target_features("x86-64-v5"), "");
}

TEST_F(BundleChooseTest, RejectionsNameTheReason) {
  EXPECT_EQ(rejection("sm_80", "sm_90"), "sm_80: machine code of compute capability 8.x does not run on 9.0");
  EXPECT_EQ(rejection("sm_89", "sm_86"),
            "sm_89: it needs compute capability 8.9 or a later one of 8.x, the device has 8.6");
  EXPECT_EQ(rejection("sm_90a", "sm_100"),
            "sm_90a: the suffix a binds it to compute capability 9.0, the device has 10.0");
  EXPECT_EQ(rejection("sm_103f", "sm_100"),
            "sm_103f: the suffix f binds it to compute capability 10.3 and later ones of its major version, the device "
            "has 10.0");
  EXPECT_EQ(rejection("ptx_90a", "sm_100"),
            "ptx_90a: the suffix a binds it to compute capability 9.0, the device has 10.0");
  EXPECT_EQ(rejection("ptx_90", "sm_80"), "ptx_90: PTX for compute capability 9.0 does not run on 8.0");
  EXPECT_EQ(rejection("ptx_80", "sm_90", false), "ptx_80: PTX is not allowed here");
  EXPECT_EQ(rejection("x86-64-v3", "sm_90"), "x86-64-v3: it is for CPUs");
  EXPECT_EQ(rejection("sm_90x", "sm_90"), "sm_90x: its target is unknown to this kiln");
  EXPECT_EQ(rejection("sm_87", "sm_89"),
            "sm_87: machine code of 8.7 does not run on 8.9: one of them is an integrated "
            "GPU");
}

TEST_F(BundleChooseTest, TargetsAreWrittenInOneWay) {
  EXPECT_EQ(kind_of_target("sm_90"), ImageKind::cubin);
  EXPECT_EQ(kind_of_target("sm_121f"), ImageKind::cubin);
  EXPECT_EQ(kind_of_target("ptx_80"), ImageKind::ptx);
  EXPECT_EQ(kind_of_target("aarch64"), ImageKind::object);
  for (const char* const bad : {"", "sm_", "sm_090", "sm_9", "sm_90b", "sm_-90", "sm_+90", "ptx_", "compute_80",
                                "SM_90", "sm_1000", "sm_90 ", "x86-64", "x86_64_v3", "sm90", "sm_99999999999999999999"})
    EXPECT_EQ(kind_of_target(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace kiln::runtime
