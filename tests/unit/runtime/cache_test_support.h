// tests/unit/runtime/cache_test_support.h -- a private cache directory and a counting stand-in for the compilers.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "runtime/binary_cache.h"
#include "runtime/cache_key.h"
#include "runtime/disk_cache.h"
#include "support/check.h"
#include "support/file_faults.h"
#include "support/files.h"
#include "tests/unit/temporary.h"

namespace kiln::runtime::test_support {

inline std::atomic<int> compiles{0};

/// The image says what was compiled, so that a wrong kernel cannot pass for the right one.
inline std::string expected_image(const KernelSource& source, const CompileOptions& options) {
  return "image of " + source.text + " for " + options.arch + (options.contract ? " contracted" : "");
}

inline Binary fake_compile(const KernelSource& source, const CompileOptions& options) {
  ++compiles;
  if (source.text.find("broken") != std::string::npos) fail<CompileError>("{} does not compile", source.entry);
  Binary binary;
  const std::string image = expected_image(source, options);
  binary.image.assign(image.begin(), image.end());
  binary.entry = source.entry;
  binary.registers = 32;
  binary.spill_bytes = 8;
  binary.shared_bytes = 1024;
  binary.local_bytes = 16;
  return binary;
}

inline std::string image_of(const Binary& binary) { return {binary.image.begin(), binary.image.end()}; }

inline KernelSource make_source(const std::string& text, const std::string& entry = "saxpy") {
  KernelSource source;
  source.text = text;
  source.entry = entry;
  source.argument_bytes = 24;
  source.max_threads = 256;
  return source;
}

inline CompileOptions make_options(const std::string& arch = "sm_90") {
  CompileOptions options;
  options.arch = arch;
  return options;
}

class CacheTest : public ::testing::Test {
 protected:
  CacheTest() : CacheTest(test::fast_place()) {}
  explicit CacheTest(const std::filesystem::path& place) : directory_(place) { fresh_process(); }
  ~CacheTest() override {
    files::set_fault_hook(nullptr);
    use_compiler_for_tests(nullptr);
    truncate_digests(256);
    reset_binary_cache();
  }

  /// Forgets what this process knows, as a new process would.
  void fresh_process() {
    reset_binary_cache();
    reset_log();
    use_compiler_for_tests(fake_compile);
    compiles = 0;
  }
  /// All files of the cache but the notes about compilers: entries, and whatever should not be there.
  std::vector<std::string> entries() {
    std::vector<std::string> found = test::files_below(directory_.path);
    std::erase(found, directory_.path + "/nvrtc");
    std::erase(found, directory_.path + "/llvm");
    return found;
  }
  /// An empty directory and a new process.
  void fresh_cache() {
    std::filesystem::remove_all(directory_.path);
    std::filesystem::create_directory(directory_.path);
    std::filesystem::permissions(directory_.path, std::filesystem::perms::owner_all);
    fresh_process();
  }
  /// Runs one look-up and checks that the result is the right kernel.
  std::shared_ptr<const Binary> lookup(const KernelSource& source, const CompileOptions& options) {
    auto binary = cached_binary(source, options);
    EXPECT_EQ(image_of(*binary), expected_image(source, options));
    return binary;
  }

  test::TemporaryDirectory directory_;
  test::Variable cache_directory_{"KILN_CACHE_DIR", directory_.path.c_str()};
  test::Variable cache_mode_{"KILN_CACHE", nullptr};
  test::Warnings warnings_;
};

}  // namespace kiln::runtime::test_support
