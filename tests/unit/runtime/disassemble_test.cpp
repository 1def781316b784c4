// tests/unit/runtime/disassemble_test.cpp -- machine code as text, by a program that may or may not be installed.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "runtime/runtime.h"
#include "tests/unit/temporary.h"

namespace kiln::runtime {
namespace {

Binary binary_of(const std::string& image) {
  Binary binary;
  binary.image.assign(image.begin(), image.end());
  binary.entry = "k";
  return binary;
}

/// A program that tells how it was called and what it was given.
void write_program(const std::string& path, const std::string& body) {
  std::ofstream(path) << "#!/bin/sh\n" << body << '\n';
  ASSERT_EQ(chmod(path.c_str(), 0755), 0);
}

TEST(Disassemble, RunsTheProgramOfThePathOnTheImage) {
  const test::TemporaryDirectory directory;
  const std::string directories = directory.path + ":/usr/bin:/bin";
  const test::Variable path("PATH", directories.c_str());
  write_program(directory.path + "/nvdisasm", "echo \"options $1\"; cat \"$2\"; echo noise >&2");
  EXPECT_EQ(disassembler(), directory.path + "/nvdisasm");
  EXPECT_EQ(disassemble(binary_of("MOV R1, R2\n")), "options -c\nMOV R1, R2\n");
  const std::string large(1 << 20, 'x');  // more than a pipe holds
  EXPECT_EQ(disassemble(binary_of(large)), "options -c\n" + large);
}

TEST(Disassemble, FailuresAndPtxGiveNoText) {
  const test::TemporaryDirectory directory;
  const std::string directories = directory.path + ":/usr/bin:/bin";
  const test::Variable path("PATH", directories.c_str());
  write_program(directory.path + "/nvdisasm", "echo half; exit 3");
  EXPECT_EQ(disassemble(binary_of("image")), "");
  write_program(directory.path + "/nvdisasm", "echo text");
  Binary ptx = binary_of("image");
  ptx.is_ptx = true;
  EXPECT_EQ(disassemble(ptx), "") << "PTX has no machine code";
}

}  // namespace
}  // namespace kiln::runtime
