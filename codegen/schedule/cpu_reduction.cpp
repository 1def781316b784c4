// codegen/schedule/cpu_reduction.cpp -- units of work of CPU kernels with reduced axes.
#include "codegen/schedule/schedule.h"
#include "support/check.h"

namespace kiln::codegen {

LaunchShape cpu_reduction_shape(const Kernel&, const Extents&) {
  internal_failure("units of CPU reductions", __FILE__, __LINE__, "being written");
}

}  // namespace kiln::codegen
