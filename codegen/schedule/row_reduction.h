// codegen/schedule/row_reduction.h -- reductions along rows: full reductions, rows, and chains that need their results.
#pragma once

#include "codegen/schedule/schedule.h"

namespace kiln::codegen {

/// Template::row_reduction for any kernel whose loads are not mostly contiguous along a kept axis.
Schedule choose_rows(const Kernel& kernel, const Extents& extents, const DeviceTraits& device);

/// Per access: a load that such a kernel holds where rows are held. Others that all rows share and only results need are
/// read from the caches when their turn comes.
std::vector<char> held_accesses(const Kernel& kernel);

LaunchShape rows_launch_shape(const Kernel& kernel, const Schedule& schedule, const Extents& extents);

}  // namespace kiln::codegen
