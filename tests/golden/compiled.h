// tests/golden/compiled.h -- compiles a kernel with NVRTC, or says why this machine cannot.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <kiln/error.h>

#include "runtime/runtime.h"

namespace kiln::golden {

/// Null where NVRTC is missing; a test that gets null skips with the reason.
inline std::unique_ptr<runtime::Binary> compiled(const KernelSource& source, const std::string& arch,
                                                 std::string& why) {
  CompileOptions options;
  options.arch = arch;
  try {
    return std::make_unique<runtime::Binary>(runtime::compile(source, options, true));
  } catch (const Error& error) {
    why = error.what();
    if (why.find("was not found") == std::string::npos && why.find("built without") == std::string::npos) throw;
    return nullptr;
  }
}

#define KILN_COMPILED_OR_SKIP(binary, source, arch)                \
  std::string why;                                                 \
  const auto binary = ::kiln::golden::compiled(source, arch, why); \
  if (!binary) GTEST_SKIP() << "no NVRTC here: " << why

}  // namespace kiln::golden
