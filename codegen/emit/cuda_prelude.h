// codegen/emit/cuda_prelude.h -- the device functions that generated kernels may use; only those used are printed.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace kiln::codegen::cuda {

/// Names of the prelude functions that one kernel uses.
class Prelude {
 public:
  /// Notes the use and returns the name, so that it can stand in an expression.
  std::string_view use(std::string_view name);

  /// Type names, then the used functions and what they need, in the fixed order of the table.
  std::string text() const;

 private:
  std::set<std::string, std::less<>> used_;
};

}  // namespace kiln::codegen::cuda
