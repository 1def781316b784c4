// codegen/emit/entry_name.h -- the name of a kernel's entry point, on both devices.
#pragma once

#include <string>

#include "codegen/ir/kernel.h"
#include "codegen/schedule/schedule.h"

namespace kiln::codegen {

/// The schedule and the last few distinct operations, so that a profiler shows what a kernel does: kiln_rows_gelu_add.
std::string entry_name(const Kernel& kernel, const Schedule& schedule);

}  // namespace kiln::codegen
