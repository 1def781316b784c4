// codegen/schedule/scan.h -- running reductions along one axis.
#pragma once

#include "codegen/schedule/schedule.h"

namespace kiln::codegen {

/// Template::scan. `lanes` 0: threads own columns and walk along a strided axis; up to 32: so many lanes share a row;
/// the block's size: a block per row. `split`: blocks take pieces of rows in turn and look back for what precedes them.
Schedule choose_scan(const Kernel& kernel, const Extents& extents, const DeviceTraits& device);
LaunchShape scan_launch_shape(const Kernel& kernel, const Schedule& schedule, const Extents& extents);

/// The scans of a body, by how many scans they depend on: those of one group run side by side.
std::vector<std::vector<NodeId>> scan_groups(const Graph& body);

}  // namespace kiln::codegen
