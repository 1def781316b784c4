// tests/golden/window_cases.h -- kernels of the window form, each with a schedule that fixes its text.
#pragma once

#include "tests/golden/reduction_cases.h"

namespace kiln::golden {

/// Every body is the sum of its operands, each times its number and 1: places of a window in order, then what else it
/// reads, then the coordinate of the last axis where there is an index.
std::vector<ReductionCase> window_cases();
std::vector<Case> golden_windows();

}  // namespace kiln::golden
