// dsl/splitting.h -- an elementwise kernel that is too much for one becomes several, with values in memory between
// them.
#pragma once

#include <string>
#include <vector>

#include "codegen/schedule/partition.h"
#include "dsl/segment.h"

namespace kiln::dsl {

/// The kernels of `segment`, whose passes have run, in order; what they pass on is added to `temporaries`, and the
/// reason to `notes`. Values are stored in their own types, so results do not change. One kernel where `segment` is not
/// too long, or has reduced axes.
std::vector<Segment> split(Segment segment, const codegen::PartitionLimits& limits, std::vector<Temporary>& temporaries,
                           std::vector<std::string>& notes);

}  // namespace kiln::dsl
