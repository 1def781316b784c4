// runtime/occupancy.cpp -- the table of architectures and the rules by which a multiprocessor takes blocks.
#include "runtime/occupancy.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/gpu_target.h"

namespace kiln::runtime {
namespace {

// The same for all these architectures.
constexpr unsigned warp = 32;
constexpr unsigned registers_per_multiprocessor = 65536;  ///< and per block
constexpr unsigned register_unit = 256;                   ///< registers are allotted to warps in multiples of this
constexpr unsigned partitions = 4;                        ///< each with a quarter of the registers
constexpr int most_registers = 255;                       ///< of a thread

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
constexpr GpuLimits table[] = {
    {70, 2048, 32, 96, 0, 256, 0},       {72, 2048, 32, 96, 0, 256, 0},       {75, 1024, 16, 64, 0, 256, 0},
    {80, 2048, 32, 164, 1024, 128, 0},   {86, 1536, 16, 100, 1024, 128, 0},   {87, 1536, 16, 164, 1024, 128, 0},
    {88, 1536, 16, 100, 1024, 128, 0},   {89, 1536, 24, 100, 1024, 128, 0},   {90, 2048, 32, 228, 1024, 128, 16},
    {100, 2048, 32, 228, 1024, 128, 16}, {101, 1536, 24, 228, 1024, 128, 16}, {103, 2048, 32, 228, 1024, 128, 16},
    {110, 1536, 24, 228, 1024, 128, 16}, {120, 1536, 24, 100, 1024, 128, 8},  {121, 1536, 24, 100, 1024, 128, 8},
};

constexpr unsigned round_up(unsigned value, unsigned unit) { return (value + unit - 1) / unit * unit; }

unsigned registers_per_warp(int registers) { return round_up(static_cast<unsigned>(registers) * warp, register_unit); }

unsigned blocks_by_registers(int registers, unsigned warps) {
  if (registers < 1) return ~0u;
  const unsigned per_warp = registers_per_warp(registers);
  // A block is admitted as if it took the same from every partition.
  if (registers > most_registers || per_warp * round_up(warps, partitions) > registers_per_multiprocessor) return 0;
  return registers_per_multiprocessor / partitions / per_warp * partitions / warps;
}

}  // namespace

const GpuLimits& gpu_limits(int capability) {
  const GpuLimits* limits = &table[0];
  for (const GpuLimits& other : table)
    if (other.capability <= capability) limits = &other;
  return *limits;
}

const GpuLimits& gpu_limits(std::string_view arch) {
  const auto parsed = parse_gpu_arch(arch);
  return gpu_limits(parsed ? parsed->number : 0);
}

int resident_blocks(const BlockUse& use, const GpuLimits& limits) {
  if (use.threads == 0 || use.threads > static_cast<unsigned>(max_block_threads)) return 0;
  const std::uint64_t wanted = use.shared_bytes + limits.reserved_bytes;
  const std::uint64_t shared = (wanted + limits.shared_unit - 1) / limits.shared_unit * limits.shared_unit;
  const std::uint64_t available = std::uint64_t{limits.shared_kib} * 1024;
  if (shared > available) return 0;
  const unsigned warps = (use.threads + warp - 1) / warp;
  const auto by_shared = shared == 0 ? ~0u : static_cast<unsigned>(available / shared);
  const unsigned by_warps = static_cast<unsigned>(limits.threads) / warp / warps;
  return static_cast<int>(
      std::min({by_warps, by_shared, blocks_by_registers(use.registers, warps), static_cast<unsigned>(limits.blocks)}));
}

double occupancy(const BlockUse& use, const GpuLimits& limits) {
  if (use.registers < 1 || use.threads == 0) return -1;
  const unsigned warps = (use.threads + warp - 1) / warp;
  return static_cast<double>(resident_blocks(use, limits)) * warps * warp / limits.threads;
}

unsigned best_block(BlockUse use, unsigned max_threads, const GpuLimits& limits) {
  constexpr int preferred = 256;
  const auto distance = [](unsigned threads) { return std::abs(static_cast<int>(threads) - preferred); };
  unsigned best = 0, most = 0;
  for (unsigned threads = warp; threads <= max_threads; threads += warp) {
    use.threads = threads;
    const unsigned resident = static_cast<unsigned>(resident_blocks(use, limits)) * threads;
    if (resident > most || (resident == most && resident > 0 && distance(threads) < distance(best)))
      most = resident, best = threads;
  }
  if (best == 0 && max_threads > 0 && max_threads < warp) {  // __launch_bounds__ of less than a warp
    use.threads = max_threads;
    if (resident_blocks(use, limits) > 0) best = max_threads;
  }
  return best;
}

unsigned max_threads(int registers, int launch_bound) {
  unsigned most = static_cast<unsigned>(max_block_threads);
  if (launch_bound > 0) most = std::min(most, static_cast<unsigned>(launch_bound));
  while (most > warp && blocks_by_registers(registers, (most + warp - 1) / warp) == 0) most = (most - 1) / warp * warp;
  return most;
}

}  // namespace kiln::runtime
