// dsl/bundle.cpp -- the calls of kiln/bundle.h.
#include <kiln/bundle.h>

#include "dsl/out_of_memory.h"
#include "dsl/shapes.h"
#include "runtime/compile_mode.h"
#include "runtime/loaded_bundles.h"
#include "support/check.h"

namespace kiln::detail {

void load_bundle(const char* path, Where where) try {
  if (!path || !*path) fail<IoError>("kl::load_bundle: the path is empty{}", dsl::place(where));
  try {
    runtime::load_bundle(path);
  } catch (const IoError& error) {
    fail<IoError>("kl::load_bundle{}: {}", dsl::place(where), error.what());
  }
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("load a bundle", where);
}

int compile_mode() noexcept { return static_cast<int>(runtime::compile_mode()); }

void set_compile_mode(int mode, Where where) {
  constexpr int last = static_cast<int>(runtime::CompileMode::jit_only);
  if (mode < 0 || mode > last) {
    fail<TypeError>(
        "kl::set_compile_mode: {} is no mode{}; the modes are automatic (0), bundle_only, cache_only and jit_only ({})",
        mode, dsl::place(where), last);
  }
  runtime::set_compile_mode(static_cast<runtime::CompileMode>(mode));
}

}  // namespace kiln::detail
