// runtime/bundle_difference.h -- in what a kernel of a bundle differs from the one that is wanted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/bundle/bundle.h"
#include "support/kernel.h"

namespace kiln::runtime {

/// "contract=true fast_math=false lineinfo=false --maxrregcount=64": as bundles store it.
std::string options_text(const CompileOptions& options);

/// A title in its parts: "saxpy: f32[contiguous] aligned to 16 -> f32[...]; 64-bit index; schedule: flat, 256 threads".
struct TitleParts {
  std::string_view what, operands, results, index, schedule;
};
TitleParts parts_of_title(std::string_view title);

/// "operands f64[contiguous] instead of f32[contiguous]", one per field in which `kernel` is not what is wanted. Titles
/// are compared where `source` has one; nothing is left to say where only the text of the source differs.
std::vector<std::string> differences(const BundleKernel& kernel, const KernelSource& source,
                                     const CompileOptions& options);

}  // namespace kiln::runtime
