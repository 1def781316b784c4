// codegen/schedule/row_mapping.h -- threads of a warp, a block or a cluster on one row: what the choice of a schedule
// and a caller's wish have in common.
#pragma once

#include <cstdint>

#include "codegen/schedule/schedule.h"

namespace kiln::codegen {

inline constexpr int warp_threads = 32;

/// Products of the kept and of the reduced extents.
struct RowExtents {
  std::int64_t rows = 1, length = 1;
};
RowExtents row_extents(const Kernel& kernel, const Extents& extents);

/// Lanes of one warp hold a row, each so many vectors: at least two lanes or elements, for there is always something to
/// join.
void hold_by_lanes(Schedule& schedule, int lanes, int items);

/// A block holds a row, or walks along it, `items` vectors of each thread at a time.
void take_by_block(Schedule& schedule, int block, int items, bool resident);

/// Blocks of a cluster hold a row of so many vectors together: `in_registers` of each thread, the others in shared
/// memory. `least_items`: vectors that a thread takes in any case.
void hold_by_cluster(Schedule& schedule, int block, int cluster, std::int64_t vectors, int in_registers,
                     int least_items = 1);

/// To be called last: whether every thread has whole vectors only.
void set_whole_rows(Schedule& schedule, std::int64_t length);

/// True where the grid may need more blocks than it has along x, whatever the threads of a block: Schedule::layers.
bool may_need_layers(const Kernel& kernel, const Extents& extents);
/// So many blocks along x, or in layers: x is a multiple of `cluster`, and kernels return from blocks beyond the end.
void set_grid(LaunchShape& shape, std::int64_t blocks, int cluster = 1);

/// Vectors that a row of `length` elements takes, wherever it starts.
std::int64_t row_vectors(const Schedule& schedule, std::int64_t length);

}  // namespace kiln::codegen
