// tests/golden/long_rows.h -- rows of 400,000 elements by which careless sums lose most, and what they must give.
#pragma once

#include <functional>

#include "tests/golden/reduction_run.h"

namespace kiln::golden {

using LaunchRun = std::function<void(ReductionRun&)>;

/// Log-sum-exp in output 0, or (`shares`) the elements of a softmax.
void expect_long_exponentials(const ReductionCase& test, bool shares, const LaunchRun& launch);
/// Mean and variance.
void expect_long_variances(const ReductionCase& test, const LaunchRun& launch);

}  // namespace kiln::golden
