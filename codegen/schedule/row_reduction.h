// codegen/schedule/row_reduction.h -- reductions along rows: full reductions, rows, and chains that need their results.
#pragma once

#include "codegen/schedule/schedule.h"

namespace kiln::codegen {

/// Template::row_reduction for any kernel whose loads are not mostly contiguous along a kept axis.
Schedule choose_rows(const Kernel& kernel, const Extents& extents, const DeviceTraits& device);
LaunchShape rows_launch_shape(const Kernel& kernel, const Schedule& schedule, const Extents& extents);

}  // namespace kiln::codegen
