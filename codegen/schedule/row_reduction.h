// codegen/schedule/row_reduction.h -- reductions along rows: full reductions, rows, and chains that need their results.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "codegen/schedule/schedule.h"

namespace kiln::codegen {

/// Template::row_reduction for any kernel whose loads are not mostly contiguous along a kept axis.
Schedule choose_rows(const Kernel& kernel, const Extents& extents, const DeviceTraits& device);

/// True for devices whose clusters of up to sixteen blocks hold rows together, each block in more than 200 KB of shared
/// memory; later consumer devices have clusters, but neither that many blocks nor that much memory.
constexpr bool has_large_clusters(const DeviceTraits& device) {
  return device.cuda && device.compute_capability >= 90 && device.compute_capability < 120;
}

/// Per access: a load that such a kernel holds where rows are held. Others that all rows share and only results need
/// are read from the caches when their turn comes.
std::vector<char> held_accesses(const Kernel& kernel);

/// The widest operand that is held and lies contiguous along rows of its own: what shifted rows are aligned to.
std::optional<std::size_t> shift_anchor(const Kernel& kernel);

LaunchShape rows_launch_shape(const Kernel& kernel, const Schedule& schedule, const Extents& extents);

}  // namespace kiln::codegen
