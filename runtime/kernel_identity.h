// runtime/kernel_identity.h -- what a kernel is, whatever it is compiled for: how records and bundles name it.
#pragma once

#include "support/hash.h"
#include "support/kernel.h"

namespace kiln::runtime {

/// Raised when the rules below change, or what a kernel's text does not say: the meaning of its launch.
inline constexpr unsigned kernel_identity_version = 1;

/// BLAKE3 over source, headers in memory, entry, launch bounds, ordered options without the architecture, and for CPU
/// kernels the table of functions they call. Two machines that print the same text agree on it. Files that the source
/// includes are not read: a machine without a compiler need not have them.
Digest kernel_identity(const KernelSource& source, const CompileOptions& options);

}  // namespace kiln::runtime
