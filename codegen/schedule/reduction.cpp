// codegen/schedule/reduction.cpp -- which kernels reductions share, and how each is mapped to threads.
#include <algorithm>

#include "codegen/schedule/column_reduction.h"
#include "codegen/schedule/row_reduction.h"
#include "codegen/schedule/scan.h"

namespace kiln::codegen {
namespace {

constexpr std::int64_t block_bytes = 128 << 10;  ///< of a row that one block holds in registers
/// Of a row that sixteen blocks hold together, two of them on a multiprocessor: one alone waits for its loads.
constexpr std::int64_t cluster_bytes = 2 << 20;
constexpr std::int64_t turns_bytes =
    4 << 20;  ///< the same, one block on a multiprocessor, which reads the next row as it writes
constexpr std::int64_t lone_bytes = 1 << 20;     ///< of a row that sixteen blocks read faster than two kernels start
constexpr std::int64_t cpu_row_bytes = 1 << 20;  ///< of a row that stays in a core's caches

/// What a row costs. Elements that are computed from their positions cost no less than loads of four bytes.
std::int64_t row_bytes(const ChainFacts& facts) { return facts.length * (facts.bytes > 0 ? facts.bytes : 4); }

/// True for rows that are read once: one block holds them in registers, or a cluster in registers and shared memory,
/// where there are enough clusters for the card.
bool reads_once(const ChainFacts& facts, const DeviceTraits& device) {
  const std::int64_t bytes = row_bytes(facts);
  if (bytes <= block_bytes) return true;
  if (!has_large_clusters(device)) return false;
  if (bytes <= lone_bytes) return true;
  const bool by_vectors = facts.length % 8 == 0;  // else no cluster holds it, and the largest rows are worth kernels
  return bytes <= (by_vectors ? turns_bytes : cluster_bytes) && facts.rows * 32 >= device.multiprocessors;
}

}  // namespace

bool chain_fits(const ChainFacts& facts, const DeviceTraits& device) {
  if (!device.cuda) return facts.length * facts.bytes <= cpu_row_bytes || facts.rows >= device.multiprocessors;
  if (facts.columns) return columns_chain_fits(facts, device);
  return reads_once(facts, device) || facts.rows >= device.multiprocessors;
}

bool holds_rows(const ChainFacts& facts, const DeviceTraits& device) {
  const std::int64_t bytes = row_bytes(facts);
  if (!device.cuda) return facts.length * facts.bytes <= cpu_row_bytes;
  if (facts.columns) return holds_columns(facts, device);
  // Results per row alone take one pass over long rows.
  return facts.elements ? bytes <= block_bytes || reads_once(facts, device) : bytes <= block_bytes / 2;
}

bool joins_exponentials(const ChainFacts& facts, const DeviceTraits& device) {
  return device.cuda && !facts.columns && facts.length * facts.bytes > block_bytes;
}

Schedule choose_reduction(const Kernel& kernel, const Extents& extents, const DeviceTraits& device) {
  const auto nodes = kernel.body.nodes();
  if (std::any_of(nodes.begin(), nodes.end(), [](const Node& node) { return node.kind == NodeKind::scan; }))
    return choose_scan(kernel, extents, device);
  return runs_along_columns(kernel, extents) ? choose_columns(kernel, extents, device)
                                             : choose_rows(kernel, extents, device);
}

LaunchShape reduction_launch_shape(const Kernel& kernel, const Schedule& schedule, const Extents& extents) {
  if (schedule.form == Template::scan) return scan_launch_shape(kernel, schedule, extents);
  return schedule.form == Template::column_reduction ? columns_launch_shape(kernel, schedule, extents)
                                                     : rows_launch_shape(kernel, schedule, extents);
}

}  // namespace kiln::codegen
