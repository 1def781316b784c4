// codegen/emit/cuda_prelude_table.h -- the entries of the prelude.
#pragma once

#include <span>
#include <string_view>

namespace kiln::codegen::cuda {

struct Snippet {
  std::string_view name;
  std::string_view needs;  ///< other snippets, separated by spaces, that stand before it
  std::string_view text;
};

/// What kernels with reduced axes use; printed after the rest.
std::span<const Snippet> running_snippets();
std::span<const Snippet> reduction_snippets();
std::span<const Snippet> column_snippets();

}  // namespace kiln::codegen::cuda
