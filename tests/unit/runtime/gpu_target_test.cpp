// tests/unit/runtime/gpu_target_test.cpp -- cubin or PTX for invented devices (case C10), reading compiler logs.
#include "runtime/gpu_target.h"

#include <gtest/gtest.h>

#include "runtime/compile_report.h"

namespace kiln::runtime {
namespace {

constexpr int nvrtc_13[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

std::string chosen(const char* arch, std::span<const int> known = nvrtc_13) {
  const auto parsed = parse_gpu_arch(arch);
  if (!parsed) return "not an architecture";
  const auto target = choose_target(*parsed, known);
  return target ? target->arch + (target->is_ptx ? " ptx" : " cubin") : "none";
}

TEST(GpuTargetTest, KnownDevicesGetACubinOthersTheHighestPtxBelow) {
  EXPECT_EQ(chosen("sm_86"), "sm_86 cubin");
  EXPECT_EQ(chosen("sm_90"), "sm_90 cubin");
  EXPECT_EQ(chosen("sm_121"), "sm_121 cubin");
  EXPECT_EQ(chosen("sm_990"), "compute_121 ptx");
  // A cubin of one major version does not run on another: an older NVRTC gives PTX, never sm_90.
  constexpr int nvrtc_12_0[] = {50, 52, 60, 61, 70, 75, 80, 86, 89, 90};
  EXPECT_EQ(chosen("sm_100", nvrtc_12_0), "compute_90 ptx");
  EXPECT_EQ(chosen("sm_121", nvrtc_12_0), "compute_90 ptx");
  EXPECT_EQ(chosen("sm_87", nvrtc_12_0), "compute_86 ptx");
  EXPECT_EQ(chosen("sm_70"), "none") << "nothing at or below is known";
}

TEST(GpuTargetTest, VirtualArchitecturesGivePtxAndSuffixesBind) {
  EXPECT_EQ(chosen("compute_80"), "compute_80 ptx");
  EXPECT_EQ(chosen("compute_85"), "compute_80 ptx");
  EXPECT_EQ(chosen("sm_90a"), "sm_90a cubin");
  EXPECT_EQ(chosen("compute_100f"), "compute_100f ptx");
  EXPECT_EQ(chosen("sm_130a"), "none") << "code for one architecture has no PTX that runs elsewhere";
  for (const char* const bad :
       {"", "90", "sm_", "sm_9", "sm_90x", "sm_90aa", "compute_", "SM_90", "sm_-90", "sm_99999999999"})
    EXPECT_EQ(chosen(bad), "not an architecture") << bad;
  EXPECT_EQ(choose_ptx_target(*parse_gpu_arch("sm_90"), nvrtc_13)->arch, "compute_90");
}

TEST(CompileReportTest, ResourcesOfTheRightKernelAreRead) {
  const char* const log =
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'other' for 'sm_90'\n"
      "ptxas info    : Function properties for other\n"
      "    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 12 registers, used 0 barriers\n"
      "ptxas info    : Compiling entry function 'saxpy' for 'sm_90'\n"
      "ptxas info    : Function properties for saxpy\n"
      "    928 bytes stack frame, 412 bytes spill stores, 500 bytes spill loads\n"
      "ptxas info    : Used 64 registers, used 1 barriers, 928 bytes cumulative stack size, 4224 bytes smem, 40 bytes "
      "cmem[0]\n";
  Binary binary;
  read_resources(log, "saxpy", binary);
  EXPECT_EQ(binary.registers, 64);
  EXPECT_EQ(binary.spill_bytes, 912);
  EXPECT_EQ(binary.local_bytes, 928);
  EXPECT_EQ(binary.shared_bytes, 4224);
  EXPECT_EQ(readable_log(log), "");
  Binary untouched;
  read_resources("", "saxpy", untouched);
  EXPECT_EQ(untouched.registers, -1);
}

TEST(CompileReportTest, ExcerptMarksTheFirstErrorAndFollowsLineDirectives) {
  const std::string source = "one\ntwo\n#line 41 \"user.cpp\"\nfortyone\nfortytwo\n";
  const std::string plain = source_excerpt(source, "k.cu", "k.cu(1): warning: x\nk.cu(2): error: y\n");
  EXPECT_NE(plain.find(">     2 | two"), std::string::npos) << plain;
  EXPECT_NE(plain.find("      1 | one"), std::string::npos) << plain;
  const std::string mapped = source_excerpt(source, "k.cu", "user.cpp(42): error: z\n");
  EXPECT_NE(mapped.find(">     5 | fortytwo"), std::string::npos) << mapped;
  EXPECT_EQ(source_excerpt(source, "k.cu", "elsewhere.h(1): error: w\n"), "");
  EXPECT_EQ(source_excerpt(source, "k.cu", "nvrtc: error: no place\n"), "");
  EXPECT_EQ(source_excerpt(source, "k.cu", "k.cu(900): error: beyond the end\n"), "");
}

}  // namespace
}  // namespace kiln::runtime
