// tests/unit/runtime/bundle_difference_test.cpp -- a miss names the fields in which the nearest kernel differs.
#include "runtime/bundle_difference.h"

#include <gtest/gtest.h>

namespace kiln::runtime {
namespace {

using Texts = std::vector<std::string>;

constexpr const char* saxpy =
    "s0 * x + y: f32[contiguous] aligned to 16, f32[contiguous] aligned to 16, f32 scalar -> f32[contiguous] aligned "
    "to 16; schedule: flat, 256 threads per block, vectors of 4";

BundleKernel kernel_of(std::string_view title, std::string_view options) {
  BundleKernel kernel;
  kernel.title = title;
  kernel.options = options;
  return kernel;
}

KernelSource source_of(const std::string& title) {
  KernelSource source;
  source.title = title;
  return source;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(BundleDifference, equal_titles_and_options_have_none) {
  const CompileOptions options;
  EXPECT_EQ(differences(kernel_of(saxpy, options_text(options)), source_of(saxpy), options), Texts{});
}

TEST(BundleDifference, a_title_has_five_parts) {
  const TitleParts parts = parts_of_title(
      "f: g(x): f32[strided,contiguous] aligned to 4 -> bf16[contiguous] aligned to 16; 64-bit index; schedule: rows, "
      "128 threads per block");
  EXPECT_EQ(parts.what, "f: g(x)");
  EXPECT_EQ(parts.operands, "f32[strided,contiguous] aligned to 4");
  EXPECT_EQ(parts.results, "bf16[contiguous] aligned to 16");
  EXPECT_EQ(parts.index, "64-bit");
  EXPECT_EQ(parts.schedule, "rows, 128 threads per block");
}

TEST(BundleDifference, each_field_is_named_with_both_values) {
  const CompileOptions options;
  const std::string same = options_text(options);
  const auto only = [&](const std::string& theirs) {
    const Texts found = differences(kernel_of(theirs, same), source_of(saxpy), options);
    return found.size() == 1 ? found[0] : std::to_string(found.size()) + " differences";
  };
  EXPECT_EQ(
      only(replaced(saxpy, "256 threads", "128 threads")),
      "the schedule flat, 128 threads per block, vectors of 4 instead of flat, 256 threads per block, vectors of 4");
  EXPECT_EQ(only(replaced(saxpy, "-> f32", "-> f64")),
            "results f64[contiguous] aligned to 16 instead of f32[contiguous] aligned to 16");
  EXPECT_EQ(only(replaced(saxpy, ", f32 scalar", ", f64 scalar")),
            "operands f32[contiguous] aligned to 16, f32[contiguous] aligned to 16, f64 scalar instead of "
            "f32[contiguous] aligned to 16, f32[contiguous] aligned to 16, f32 scalar");
  EXPECT_EQ(only(replaced(saxpy, "; schedule", "; 64-bit index; schedule")), "index 64-bit instead of 32-bit");
  EXPECT_EQ(only(replaced(saxpy, "s0 * x + y", "x + y")), "the expression x + y instead of s0 * x + y");
}

TEST(BundleDifference, options_name_the_words_that_differ) {
  CompileOptions theirs, wanted;
  theirs.extra = {"--std=c++17", "--define-macro=N=4"};
  wanted.extra = {"--std=c++17", "--define-macro=N=8"};
  wanted.contract = false;
  EXPECT_EQ(differences(kernel_of("raw kernel k", options_text(theirs)), source_of("raw kernel k"), wanted),
            Texts{"options contract=true --define-macro=N=4 instead of contract=false --define-macro=N=8"});
}

}  // namespace
}  // namespace kiln::runtime
