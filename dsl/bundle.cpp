// dsl/bundle.cpp -- the calls of kiln/bundle.h.
#include <kiln/bundle.h>

#include "dsl/shapes.h"
#include "runtime/compile_mode.h"
#include "runtime/loaded_bundles.h"
#include "support/check.h"

namespace kiln::detail {

void load_bundle(const char* path, Where where) {
  if (!path || !*path) fail<IoError>("kl::load_bundle: the path is empty{}", dsl::place(where));
  try {
    runtime::load_bundle(path);
  } catch (const IoError& error) {
    fail<IoError>("kl::load_bundle{}: {}", dsl::place(where), error.what());
  }
}

int compile_mode() noexcept { return static_cast<int>(runtime::compile_mode()); }

void set_compile_mode(int mode) noexcept { runtime::set_compile_mode(static_cast<runtime::CompileMode>(mode)); }

}  // namespace kiln::detail
