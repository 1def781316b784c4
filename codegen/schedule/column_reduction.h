// codegen/schedule/column_reduction.h -- reductions whose operands are contiguous along the last kept axis.
#pragma once

#include "codegen/schedule/schedule.h"

namespace kiln::codegen {

/// True where most of what is read per element is contiguous along the last kept axis, and not along the last reduced
/// one.
bool runs_along_columns(const Kernel& kernel, const Extents& extents);

/// Column and middle-axis reductions, alone or in chains: Template::column_reduction.
Schedule choose_columns(const Kernel& kernel, const Extents& extents, const DeviceTraits& device);
LaunchShape columns_launch_shape(const Kernel& kernel, const Schedule& schedule, const Extents& extents);

/// Shared memory through which the threads of a block join their states, each pass in a place of its own.
std::uint64_t columns_shared_bytes(const Kernel& kernel, const Schedule& schedule);

/// The parts of chain_fits and holds_rows for chains whose operands are contiguous along a kept axis.
bool columns_chain_fits(const ChainFacts& facts, const DeviceTraits& device);
bool holds_columns(const ChainFacts& facts, const DeviceTraits& device);

}  // namespace kiln::codegen
