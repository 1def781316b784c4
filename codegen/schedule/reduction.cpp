// codegen/schedule/reduction.cpp -- which kernels reductions share, and how each is mapped to threads.
#include <algorithm>

#include "codegen/schedule/schedule.h"
#include "support/check.h"

namespace kiln::codegen {
namespace {

constexpr std::int64_t block_bytes = 64 << 10;   ///< of a row that one block holds in registers
constexpr std::int64_t cluster_bytes = 4 << 20;  ///< of a row that sixteen blocks hold
constexpr std::int64_t cpu_row_bytes = 1 << 20;  ///< of a row that stays in a core's caches

}  // namespace

bool chain_fits(const ChainFacts& facts, const DeviceTraits& device) {
  const std::int64_t bytes = facts.length * facts.bytes;
  if (!device.cuda) return bytes <= cpu_row_bytes || facts.rows >= device.multiprocessors;
  if (facts.columns) return facts.rows * 4 >= std::int64_t{device.multiprocessors} * 128 || facts.length <= 1024;
  return bytes <= block_bytes || facts.rows * 4 >= device.multiprocessors;
}

bool holds_rows(const ChainFacts& facts, const DeviceTraits& device) {
  const std::int64_t bytes = facts.length * facts.bytes;
  if (!device.cuda) return bytes <= cpu_row_bytes;
  return !facts.columns && bytes <= cluster_bytes;
}

Schedule choose_reduction(const Kernel&, const Extents&, const DeviceTraits&) {
  internal_failure("a schedule for reductions", __FILE__, __LINE__, "being written");
}
LaunchShape reduction_launch_shape(const Kernel&, const Schedule&, const Extents&) {
  internal_failure("a schedule for reductions", __FILE__, __LINE__, "being written");
}

}  // namespace kiln::codegen
