// dsl/compile_places.h -- compile errors with the places of the user's code that they come from.
#pragma once

#include <string>

#include "codegen/ir/kernel.h"
#include "dsl/shapes.h"
#include "support/check.h"

namespace kiln::dsl {

/// The error with `places` at the end of its first line, before a colon.
[[noreturn]] void fail_with_places(const CompileError& error, const std::string& places);

/// Where the texts of the kernel's user functions were given; of several, those that the compiler complains about.
std::string function_places(const codegen::Kernel& kernel, const CompileError& error);

/// `work()`, which compiles `kernel`; its errors name the place of the expression and those of the user's functions.
template <class Work>
auto naming_places(const codegen::Kernel& kernel, Where where, Work work) {
  try {
    return work();
  } catch (const CompileError& error) {
    fail_with_places(error, place(where) + function_places(kernel, error));
  }
}

}  // namespace kiln::dsl
