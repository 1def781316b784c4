// codegen/schedule/reduction.cpp -- which kernels reductions share, and how each is mapped to threads.
#include "codegen/schedule/column_reduction.h"
#include "codegen/schedule/row_reduction.h"

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

Schedule choose_reduction(const Kernel& kernel, const Extents& extents, const DeviceTraits& device) {
  return runs_along_columns(kernel, extents) ? choose_columns(kernel, extents, device)
                                             : choose_rows(kernel, extents, device);
}

LaunchShape reduction_launch_shape(const Kernel& kernel, const Schedule& schedule, const Extents& extents) {
  return schedule.form == Template::column_reduction ? columns_launch_shape(kernel, schedule, extents)
                                                     : rows_launch_shape(kernel, schedule, extents);
}

}  // namespace kiln::codegen
