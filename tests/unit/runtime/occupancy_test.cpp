// tests/unit/runtime/occupancy_test.cpp -- resident blocks against NVIDIA's own calculator, which its toolkit brings as
// a header.
#include "runtime/occupancy.h"

#include <gtest/gtest.h>

#include "tests/unit/runtime/fake_cuda.h"

namespace kiln::runtime {
namespace {

/// As listed in the CUDA C++ Programming Guide.
struct Card {
  int capability, threads, shared_kib, optin_kib, reserved;
};
constexpr Card cards[] = {
    {70, 2048, 96, 96, 0},       {75, 1024, 64, 64, 0},       {80, 2048, 164, 163, 1024}, {86, 1536, 100, 99, 1024},
    {87, 1536, 164, 163, 1024},  {89, 1536, 100, 99, 1024},   {90, 2048, 228, 227, 1024}, {100, 2048, 228, 227, 1024},
    {103, 2048, 228, 227, 1024}, {110, 1536, 228, 227, 1024}, {120, 1536, 100, 99, 1024},
};

TEST(Occupancy, IsThatOfNvidiasCalculator) {
  fakes::fake_driver();  // opens the library that has it
  const auto calculator = reinterpret_cast<fake::Calculator>(
      dlsym(dlopen(KILN_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL), "kiln_calculator_blocks"));
  if (calculator({90, 2048, 228, 227, 1024}, 32, 256, 0) < 0)
    GTEST_SKIP() << "cuda_occupancy.h is not among the CUDA headers here";
  for (const Card& card : cards) {
    const GpuLimits& limits = gpu_limits(card.capability);
    ASSERT_EQ(limits.capability, card.capability);
    EXPECT_EQ(limits.threads, card.threads);
    EXPECT_EQ(limits.shared_per_block(), static_cast<std::uint32_t>(card.optin_kib) << 10);
    for (const int registers : {16, 32, 33, 40, 41, 64, 65, 72, 96, 128, 129, 168, 169, 255}) {
      for (const int threads : {1, 32, 33, 64, 96, 128, 160, 192, 256, 288, 384, 512, 640, 768, 1000, 1024}) {
        for (const int shared : {0, 1, 1000, 4096, 8192, 16384, 24000, 49152, 50000, 65536, 99 << 10, 163 << 10}) {
          if (static_cast<std::uint32_t>(shared) > limits.shared_per_block()) continue;
          const BlockUse use{registers, static_cast<unsigned>(threads), static_cast<std::uint64_t>(shared)};
          const fake::CardFacts facts{card.capability, card.threads, card.shared_kib, card.optin_kib, card.reserved};
          ASSERT_EQ(resident_blocks(use, limits), calculator(facts, registers, threads, shared))
              << "sm_" << card.capability << ", " << registers << " registers, " << threads << " threads, " << shared
              << " bytes";
        }
      }
    }
  }
}

TEST(Occupancy, OfKnownKernels) {
  const GpuLimits& h200 = gpu_limits("sm_90");
  EXPECT_DOUBLE_EQ(occupancy({32, 256, 0}, h200), 1.0);
  EXPECT_DOUBLE_EQ(occupancy({64, 256, 0}, h200), 0.5) << "65536 registers";
  EXPECT_DOUBLE_EQ(occupancy({32, 32, 0}, h200), 0.5) << "32 blocks of one warp";
  EXPECT_DOUBLE_EQ(occupancy({32, 1024, 150 << 10}, h200), 0.5) << "shared memory of one block";
  EXPECT_DOUBLE_EQ(occupancy({32, 256, 228 << 10}, h200), 0) << "more than a block can have";
  EXPECT_DOUBLE_EQ(occupancy({-1, 256, 0}, h200), -1) << "unknown";
}

TEST(Occupancy, UnknownArchitecturesTakeTheClosestOlderOne) {
  EXPECT_EQ(gpu_limits("sm_90a").capability, 90);
  EXPECT_EQ(gpu_limits("compute_80").capability, 80);
  EXPECT_EQ(gpu_limits("sm_99").capability, 90);
  EXPECT_EQ(gpu_limits("sm_999").capability, 121);
  EXPECT_EQ(gpu_limits("cpu").capability, 70);
}

TEST(Occupancy, TheBestBlockIsTheClosestTo256OfThoseThatFillMost) {
  EXPECT_EQ(best_block({32, 0, 0}, 1024, gpu_limits("sm_90")), 256u);
  EXPECT_EQ(best_block({32, 0, 0}, 128, gpu_limits("sm_90")), 128u) << "__launch_bounds__";
  EXPECT_EQ(best_block({32, 0, 100 << 10}, 1024, gpu_limits("sm_90")), 1024u) << "two blocks fit, whatever their size";
  EXPECT_EQ(best_block({255, 0, 0}, 1024, gpu_limits("sm_90")), 256u) << "8 warps fit";
  EXPECT_EQ(best_block({32, 0, 0}, 8, gpu_limits("sm_90")), 8u);
  EXPECT_EQ(best_block({32, 0, 300 << 10}, 1024, gpu_limits("sm_90")), 0u);
}

TEST(Occupancy, RegistersLimitTheThreadsOfABlock) {
  EXPECT_EQ(max_threads(32, 0), 1024u);
  EXPECT_EQ(max_threads(65, 0), 896u) << "72 registers after rounding: 28 warps of 2304";
  EXPECT_EQ(max_threads(255, 0), 256u);
  EXPECT_EQ(max_threads(255, 100), 100u);
  EXPECT_EQ(max_threads(-1, 0), 1024u) << "unknown";
}

}  // namespace
}  // namespace kiln::runtime
