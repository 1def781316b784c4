// codegen/schedule/cpu_reduction.h -- how a kernel with reduced axes is cut into units of work for the CPU.
//
// The cut depends on extents alone, never on the number of threads: results are the same bits on any machine of one
// feature class. The kernel computes the same numbers from its arguments.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/ir/stages.h"
#include "codegen/schedule/schedule.h"
#include "support/kernel.h"

namespace kiln::codegen {

inline constexpr std::int64_t cpu_chunk_elements = 32768;  ///< of one row that a unit joins
inline constexpr std::int64_t cpu_scan_chunks = 128;       ///< of one row at most
inline constexpr std::int64_t cpu_scan_rows = 16;      ///< so many rows are not cut for scans, which read chunks twice
inline constexpr std::int64_t cpu_column_units = 256;  ///< columns: reduced lines are cut no finer than this asks

/// What does not depend on extents.
struct CpuReduction {
  bool columns = false;           ///< vectors run along the last kept axis, not along the last reduced one
  bool splits = false;            ///< long rows are joined chunk by chunk, and the chunks in a second run
  std::int64_t column_block = 0;  ///< columns of a unit
  std::vector<DType> components;  ///< what one state of all reductions holds, in graph order
};

/// Elements that one state may join one after the other before its corrections are settled: they are sums of roundings
/// themselves, and theirs are lost.
inline constexpr std::int64_t cpu_settling_elements = 1 << 16;  ///< along a row
inline constexpr std::int64_t cpu_settling_lines = 4096;        ///< of a column

/// Components of the state of a reduce or scan node. Float sums carry a correction beside the sum, log-sum-exp states
/// the exponents' base and a correction, squared deviations two corrections, f32 extremes what they saw of NaN and
/// zeros.
std::vector<DType> state_components(const Graph& body, NodeId node);
/// `form`: what choose_cpu_reduction gave; any other template than rows and columns: by strides alone.
CpuReduction cpu_reduction(const Kernel& kernel, Template form);

}  // namespace kiln::codegen
