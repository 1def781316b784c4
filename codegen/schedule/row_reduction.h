// codegen/schedule/row_reduction.h -- reductions along rows: full reductions, rows, and chains that need their results.
#pragma once

#include <cstddef>
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

LaunchShape rows_launch_shape(const Kernel& kernel, const Schedule& schedule, const Extents& extents);

}  // namespace kiln::codegen
