// codegen/schedule/launch_wish.h -- a schedule changed to the blocks and elements per thread that a caller asks for.
#pragma once

#include <cstdint>
#include <string>

#include "codegen/schedule/schedule.h"

namespace kiln::codegen {

/// What a caller asks for; zeros leave the choice to the schedule.
struct LaunchWish {
  int block[3] = {0, 0, 0};  ///< threads; {n, 0, 0} and {n, 1, 1} leave their arrangement to the schedule
  int items = 0;             ///< elements per thread
  std::uint64_t grid = 0;    ///< blocks

  std::int64_t threads() const {
    std::int64_t count = block[0];
    for (const int extent : {block[1], block[2]}) count *= extent > 0 ? extent : 1;
    return count;
  }
};

/// Changes a schedule that choose_schedule made for CUDA. Returns why it cannot, and what would do; empty when done.
/// Elementwise kernels give the same bits whatever is asked for; reductions and scans of floats may join their elements
/// in another order.
std::string apply_wish(const Kernel& kernel, const Extents& extents, const LaunchWish& wish, Schedule& schedule);

/// The grid of `shape` made as large as asked for, where the kernel's blocks take their work in turn; elementwise
/// kernels of one run become such kernels for a smaller grid than they need. Returns what would do; empty when done.
std::string apply_grid(const LaunchWish& wish, Schedule& schedule, LaunchShape& shape);

}  // namespace kiln::codegen
