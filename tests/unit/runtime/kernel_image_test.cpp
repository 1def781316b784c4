// tests/unit/runtime/kernel_image_test.cpp -- parameters read from cubins and PTX, as the CUDA ABI lays them out.
#include "runtime/kernel_image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "kiln/error.h"
#include "runtime/runtime.h"

namespace kiln::runtime {
namespace {

constexpr const char* source_text = R"(
struct S { double a; char c[20]; };
__global__ void __launch_bounds__(192) many(float* out, const float* in, char a, short b, double c, S s, bool d) {
  out[0] = in[0] + a + b + c + s.a + s.c[3] + d;
}
__global__ void none() {})";

const std::vector<KernelParameter> many_parameters = {{0, 8}, {8, 8}, {16, 1}, {18, 2}, {24, 8}, {32, 32}, {64, 1}};

Binary compiled(const char* name, const char* arch) {
  KernelSource source;
  source.text = source_text;
  source.entry = source.expression = name;
  CompileOptions options;
  options.arch = arch;
  return compile(source, options);
}

class KernelImages : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Arch, KernelImages,
                         testing::Values("sm_75", "sm_80", "sm_90", "sm_100", "sm_120", "compute_80"));

TEST_P(KernelImages, OffsetsAndSizesFollowTheLayoutOfC) {
  try {
    const auto many = read_kernel_image(compiled("many", GetParam()));
    ASSERT_TRUE(many);
    EXPECT_EQ(many->parameters, many_parameters);
    EXPECT_EQ(many->max_threads, 192);
    const auto none = read_kernel_image(compiled("none", GetParam()));
    ASSERT_TRUE(none);
    EXPECT_TRUE(none->parameters.empty());
    EXPECT_EQ(none->max_threads, 0);
  } catch (const CompileError& error) {
    const std::string text = error.what();
    ASSERT_TRUE(text.find("NVRTC") != std::string::npos) << text;
    GTEST_SKIP() << text;
  }
}

/// Rule: a damaged image is refused, never read beyond its end.
TEST(KernelImage, DamagedImagesAreRefusedOrRead) {
  Binary binary;
  try {
    binary = compiled("many", "sm_90");
  } catch (const CompileError& error) {
    GTEST_SKIP() << error.what();
  }
  const std::vector<char> whole = binary.image;
  int refused = 0;
  for (std::size_t length = 0; length < whole.size(); length += 7) {
    binary.image.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    refused += !read_kernel_image(binary);
  }
  EXPECT_GT(refused, 0);
  for (std::size_t at = 0; at < whole.size(); at += 3) {
    binary.image = whole;
    binary.image[at] = static_cast<char>(binary.image[at] ^ 0x5a);
    const auto image = read_kernel_image(binary);
    EXPECT_LE(image ? image->parameters.size() : 0, whole.size());
  }
  binary.image = whole;
  binary.entry = "another";
  EXPECT_FALSE(read_kernel_image(binary));
}

TEST(KernelImage, PtxOfOtherCompilersIsUnderstood) {
  Binary binary;
  binary.is_ptx = true;
  binary.entry = "k";
  const std::string text =
      ".visible .entry kk(.param .u32 a)\n{ret;}\n"
      ".visible .entry k(\n\t.param .u64 .ptr .global .align 4 k_param_0,\n\t.param .f32 k_param_1,\n"
      "\t.param .align 16 .b8 k_param_2[48]\n)\n.maxntid 16, 4, 2\n.minnctapersm 2\n{\n ret;\n}\n";
  binary.image.assign(text.begin(), text.end());
  const auto image = read_kernel_image(binary);
  ASSERT_TRUE(image);
  EXPECT_EQ(image->parameters, (std::vector<KernelParameter>{{0, 8}, {8, 4}, {16, 48}}));
  EXPECT_EQ(image->max_threads, 128);
}

}  // namespace
}  // namespace kiln::runtime
