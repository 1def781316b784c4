// tests/fuzz/execute_reductions.h -- how the reductions and scans of a program are written.
#pragma once

#include "tests/fuzz/program.h"

namespace fuzz {

/// Axes as a user writes them: from the end where the node says so.
std::vector<std::int64_t> written_axes(const Program& program, const Node& node);
kiln::detail::NodeId record_reduction(kiln::detail::Recorder& recorder, const Program& program, const Node& node,
                                      const std::vector<kiln::detail::NodeId>& inputs);

}  // namespace fuzz
