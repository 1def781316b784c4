// runtime/compile_mode.h -- where kernels may come from; a switch of the process.
#pragma once

#include <cstdint>

namespace kiln::runtime {

/// In the order of kl::CompileMode.
enum class CompileMode : std::uint8_t {
  automatic,    ///< bundles, then the disk cache, then a compiler
  bundle_only,  ///< bundles; a kernel that is in none is an error
  cache_only,   ///< the disk cache; a kernel that is not there is an error
  jit_only,     ///< a compiler
};

/// Applies to kernels that this process has not loaded yet.
CompileMode compile_mode();
void set_compile_mode(CompileMode mode);
inline bool may_compile(CompileMode mode) { return mode == CompileMode::automatic || mode == CompileMode::jit_only; }
inline bool reads_bundles(CompileMode mode) {
  return mode == CompileMode::automatic || mode == CompileMode::bundle_only;
}

}  // namespace kiln::runtime
