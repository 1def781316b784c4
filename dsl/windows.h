// dsl/windows.h -- finds operands of a kernel that are one memory read at neighbouring places.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dsl/draft.h"

namespace kiln::dsl {

/// What must be known of an access beside its walk. Only accesses of one memory can share loads, and `address` is that
/// of the first element as the affine walk has it; 0 for memory that the call allocates.
struct AccessMemory {
  std::uint32_t memory = 0;
  std::uint64_t address = 0;
};

/// Groups the loads, and counts the bytes of each group once. Where `marks`, the kernel says which they are if the
/// window form (codegen/schedule/window.h) can compute it.
void find_windows(DraftKernel& draft, std::span<const AccessMemory> memories, bool marks);

}  // namespace kiln::dsl
