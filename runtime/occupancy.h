// runtime/occupancy.h -- how many blocks of a kernel a multiprocessor holds, by the driver's rules and without a GPU.
#pragma once

#include <cstdint>
#include <string_view>

namespace kiln::runtime {

/// What one multiprocessor of an architecture has, and what one block may use of it.
struct GpuLimits {
  int capability = 0;  ///< 10 * major + minor
  int threads = 0;
  int blocks = 0;
  std::uint32_t shared_kib = 0;      ///< of the multiprocessor
  std::uint32_t reserved_bytes = 0;  ///< of shared memory, taken by the system from each block
  std::uint32_t shared_unit = 0;     ///< shared memory is allotted in multiples of this many bytes
  int cluster = 0;                   ///< most blocks of a cluster that must be asked for; 0: there are none

  /// Most shared memory of one block, static and dynamic, after opting in.
  std::uint32_t shared_per_block() const { return shared_kib * 1024 - reserved_bytes; }
};
inline constexpr int max_block_threads = 1024;

/// The limits of "sm_90", "sm_90a", "compute_90"; those of the closest older architecture for one that is not known.
const GpuLimits& gpu_limits(std::string_view arch);
const GpuLimits& gpu_limits(int capability);

/// What one block of a kernel uses.
struct BlockUse {
  int registers = 0;  ///< per thread
  unsigned threads = 0;
  std::uint64_t shared_bytes = 0;  ///< static and dynamic
};

/// Blocks that are resident on one multiprocessor at a time; 0 where one block alone is too large.
int resident_blocks(const BlockUse& use, const GpuLimits& limits);
/// Resident threads over the multiprocessor's maximum. -1 for an unknown number of registers (below 1).
double occupancy(const BlockUse& use, const GpuLimits& limits);

/// The block size, a multiple of 32 up to `max_threads`, that keeps most threads resident; of equal ones, the closest
/// to 256. `use.threads` is not read. 0 where none fits.
unsigned best_block(BlockUse use, unsigned max_threads, const GpuLimits& limits);

/// The most threads that one block may have: __launch_bounds__ (0: none) and the registers of a block allow no more.
unsigned max_threads(int registers, int launch_bound);

}  // namespace kiln::runtime
