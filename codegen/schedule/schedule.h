// codegen/schedule/schedule.h -- how a kernel is mapped to threads: decided here, printed by the emitters, never there.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codegen/ir/kernel.h"
#include "support/kernel.h"

namespace kiln::codegen {

/// T1 flat, T2 row-wise (2-d break point), T2 generic n-d, T2 tiled transpose; `serial` is the CPU loop nest. `dense`
/// is flat over all axes: vectors that cross a short innermost axis, with coordinates stepped from element to element.
/// `window`: operands read at neighbouring places are read once per thread, into registers.
/// Kernels with reduced axes: `row_reduction` (T3, T5) where the operands are contiguous along the last reduced axis,
/// `column_reduction` (T4, T6) where they are contiguous along the last kept one, `scan` for running reductions.
enum class Template : std::uint8_t {
  flat,
  rows,
  general,
  transpose,
  serial,
  dense,
  window,
  row_reduction,
  column_reduction,
  scan
};

struct Schedule {
  Template form = Template::flat;
  int block = 256;     ///< threads per block
  int vector = 1;      ///< elements per thread along the innermost axis, accessed as one vector
  int items = 1;       ///< vectors per thread (flat) or rows per thread (rows)
  int tile = 0;        ///< transpose: tile edge in elements
  int min_blocks = 0;  ///< second argument of __launch_bounds__, 0 = none
  bool whole_vectors =
      false;  ///< the innermost extent is known to be a multiple of `vector` (part of the kernel's class)
  // Kernels with reduced axes.
  int lanes = 1;            ///< threads that share a row
  int rows = 1;             ///< rows that a thread works on at a time
  bool resident = false;    ///< rows are held in registers between the passes over them
  bool whole_rows = false;  ///< rows: every thread has whole vectors only. Else positions are compared with the end
  bool shifted = false;     ///< rows: the first vector starts before the row, where its first operand is aligned
  bool split = false;       ///< several blocks share a row (or column): partial results, joined by the last one
  int cluster = 1;          ///< blocks that hold one row together
  int grid = 0;             ///< > 0: so many blocks take rows in turn, and read the next one while they work; or tiles
  int lead = 0;             ///< window: elements by which the first vector starts before the innermost axis
  int columns = 1;      ///< window, column_reduction, scan: threads side by side along the kept axes; not in the text.
                        ///< Elementwise rows: > 1 where the caller says how many stand along the innermost axis
  bool layers = false;  ///< kernels with reduced axes: blocks go on along y and z, for there may be too many along x
  int parts = 1;        ///< column_reduction: blocks that share the rows of a tile (`split`); not in the text
  int bins = 0;         ///< > 0: blocks scatter into sums of their own first, with room for so many
  std::string reason;   ///< one sentence for explain()
  std::string key() const;  ///< every field that changes generated text
};

/// What a schedule may know about the machine.
struct DeviceTraits {
  bool cuda = true;
  int multiprocessors = 132;
  int threads_per_multiprocessor = 2048;
  std::size_t l2_bytes = 0;
  int cpu_vector_bits = 256;
  int compute_capability = 90;  ///< 10 * major + minor; clusters need 90
  int argument_bytes = 32764;   ///< of one kernel; 4096 before CUDA 12.1 and before compute capability 7.0
};

/// Facts of one call that choose among variants; only classes derived from them enter the key.
struct Extents {
  std::vector<std::int64_t> loop;  ///< one per loop axis, outermost first
  std::int64_t bins = 0;           ///< of a kernel with a bins_parameter: its value
};

/// The heuristic choice. Depends on extents only through classes (divisibility, "large enough for the card").
Schedule choose_schedule(const Kernel& kernel, const Extents& extents, const DeviceTraits& device);

/// What the planner knows of a chain of reductions and of the values that need their results, before it builds a
/// kernel.
struct ChainFacts {
  std::int64_t rows = 1;    ///< product of the kept extents
  std::int64_t length = 1;  ///< product of the reduced extents
  std::int64_t bytes = 4;   ///< of all operands, per element
  bool columns = false;     ///< most bytes are contiguous along a kept axis
  bool elements = false;    ///< some results are one per element, not per row
};
/// True where one kernel should compute all of it, reading each row once or, as far as the L2 cache keeps the rows in
/// flight from there, once more; false where the reductions are better computed by kernels of their own.
bool chain_fits(const ChainFacts& facts, const DeviceTraits& device);
/// True where such a kernel holds its rows in registers or shared memory: then a variance takes two passes over what it
/// holds, and not the combination of partial variances.
bool holds_rows(const ChainFacts& facts, const DeviceTraits& device);
/// True where a maximum and a sum of exponentials relative to it should be found in one pass.
bool joins_exponentials(const ChainFacts& facts, const DeviceTraits& device);

/// choose_schedule and launch_shape of kernels with reduced axes (reduction.cpp).
Schedule choose_reduction(const Kernel& kernel, const Extents& extents, const DeviceTraits& device);
LaunchShape reduction_launch_shape(const Kernel& kernel, const Schedule& schedule, const Extents& extents);
/// Can the window form compute the kernel, whose accesses say which of them are windows (window.cpp)?
bool window_fits(const Kernel& kernel, const Extents& extents);
Schedule choose_window(const Kernel& kernel, const Extents& extents);
/// Its blocks along the innermost axis, and over all others.
struct WindowGrid {
  std::int64_t columns = 1, rows = 1;
};
WindowGrid window_grid(const Kernel& kernel, const Schedule& schedule, const Extents& extents);
/// Rows or columns on the CPU (cpu_reduction.cpp).
Schedule choose_cpu_reduction(const Kernel& kernel, const Extents& extents);
/// Units, workspace and finish of a CPU kernel with reduced axes. They depend on the extents and never on the number of
/// threads, so that results do not (cpu_reduction.cpp).
LaunchShape cpu_reduction_shape(const Kernel& kernel, const Extents& extents);

/// Grid, block and shared memory of one call. `block_override` > 0 replaces the schedule's block size where it may
/// vary.
LaunchShape launch_shape(const Kernel& kernel, const Schedule& schedule, const Extents& extents);

}  // namespace kiln::codegen
