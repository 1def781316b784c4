// codegen/schedule/scatter.h -- kernels that scatter into sums of their blocks' own, in shared memory.
#pragma once

#include "codegen/ir/kernel.h"

namespace kiln::codegen {

inline constexpr std::int64_t most_bin_bytes = 48 << 10;   ///< of one block: what every kernel may have
inline constexpr std::int64_t usual_bin_bytes = 24 << 10;  ///< up to here warps have sums of their own
inline constexpr int most_bin_copies = 8;

/// True where every element adds the same number to an integer: then blocks count, and multiply at the end.
bool counts_hits(const Kernel& kernel);

/// Bytes of one sum.
std::int64_t bin_bytes(const Kernel& kernel);

/// Sums that a block has room for: one of two numbers, so that kernels are shared. Where there is room for several
/// copies of all bins, warps have copies of their own.
int bin_capacity(const Kernel& kernel, std::int64_t bins);

/// Should blocks keep sums of their own?
bool wants_bins(const Kernel& kernel, std::int64_t elements, std::int64_t bins);

}  // namespace kiln::codegen
