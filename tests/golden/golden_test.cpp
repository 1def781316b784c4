// tests/golden/golden_test.cpp -- the emitted CUDA text of representative kernels, compared with the files beside this
// one.
//
// `golden_tests --update` rewrites the files; read the difference before committing it.
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "tests/golden/kernels.h"

namespace kiln::golden {
namespace {

bool update = false;

std::string path_of(const Case& test) { return std::string(KILN_GOLDEN_DIR) + "/" + test.name + ".cu"; }

class Golden : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Golden, TextIsUnchanged) {
  const Case test = cases()[GetParam()];
  const std::string text = source_of(test).text;
  if (update) std::ofstream(path_of(test), std::ios::binary) << text;
  std::ifstream file(path_of(test), std::ios::binary);
  ASSERT_TRUE(file.good()) << path_of(test) << " is missing; golden_tests --update writes it";
  const std::string expected((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_EQ(text, expected) << "if the change is wanted: golden_tests --update, and read the difference";
}

INSTANTIATE_TEST_SUITE_P(Kernels, Golden, ::testing::Range<std::size_t>(0, cases().size()),
                         [](const auto& test) { return cases()[test.param].name; });

}  // namespace
}  // namespace kiln::golden

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  kiln::golden::update = argc > 1 && std::string_view(argv[1]) == "--update";
  return RUN_ALL_TESTS();
}
