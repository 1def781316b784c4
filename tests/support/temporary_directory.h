// tests/support/temporary_directory.h -- a directory that goes away with its test.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace kiln::test {

class TemporaryDirectory {
 public:
  TemporaryDirectory() : TemporaryDirectory(std::filesystem::temp_directory_path()) {}
  explicit TemporaryDirectory(const std::filesystem::path& parent) {
    std::string name = (parent / "kiln-test-XXXXXX").string();
    if (!mkdtemp(name.data())) std::abort();
    path = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

}  // namespace kiln::test
