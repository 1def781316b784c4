// codegen/schedule/scatter.cpp -- when blocks keep sums of their own, and how many.
#include "codegen/schedule/scatter.h"

#include <algorithm>
#include <vector>

namespace kiln::codegen {

bool counts_hits(const Kernel& kernel) {
  const std::size_t store = kernel.first_store();
  if (kernel.accesses[store].scatter != Scatter::add || !is_integer(kernel.accesses[store].type)) return false;
  std::vector<char> needed(kernel.body.size(), 0);
  needed[kernel.body.outputs[0]] = 1;
  for (NodeId id = kernel.body.size(); id-- > 0;) {
    if (needed[id] == 0) continue;
    const Node& node = kernel.body[id];
    const bool is_uniform = node.kind == NodeKind::parameter || node.kind == NodeKind::literal ||
                            node.kind == NodeKind::operation || node.kind == NodeKind::cast;
    if (!is_uniform) return false;
    for (const NodeId operand : node.inputs()) needed[operand] = 1;
  }
  return true;
}

std::int64_t bin_bytes(const Kernel& kernel) {
  return counts_hits(kernel) ? 4 : static_cast<std::int64_t>(size_of(kernel.accesses[kernel.first_store()].type));
}

int bin_capacity(const Kernel& kernel, std::int64_t bins) {
  const std::int64_t usual = usual_bin_bytes / bin_bytes(kernel);
  return static_cast<int>(bins <= usual ? usual : most_bin_bytes / bin_bytes(kernel));
}

bool wants_bins(const Kernel& kernel, std::int64_t elements, std::int64_t bins) {
  const Access& store = kernel.accesses[kernel.first_store()];
  const bool is_small = is_complex(store.type) || store.type == DType::b1 || store.scatter != Scatter::add;
  return kernel.rank == 1 && !is_small && bins > 0 && bins * bin_bytes(kernel) <= most_bin_bytes &&
         elements >= (1 << 14) && elements >= 8 * bins;
}

}  // namespace kiln::codegen
