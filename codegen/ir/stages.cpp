// codegen/ir/stages.cpp -- levels and passes of a body with reductions.
#include "codegen/ir/stages.h"

#include <algorithm>

namespace kiln::codegen {

bool is_per_element(const Kernel& kernel, const Access& access) {
  const auto first = access.axes.end() - kernel.reduced;
  return std::any_of(first, access.axes.end(), [](AxisClass axis) { return axis != AxisClass::broadcast; });
}

bool is_shared_by_rows(const Kernel& kernel, const Access& access) {
  return kernel.rank > kernel.reduced && std::all_of(access.axes.begin(), access.axes.end() - kernel.reduced,
                                                     [](AxisClass axis) { return axis == AxisClass::broadcast; });
}

std::vector<char> changes_along(const Kernel& kernel, std::size_t axis) {
  const Graph& body = kernel.body;
  std::vector<char> changes(body.size(), 0);
  for (NodeId id = 0; id < body.size(); ++id) {
    const Node& node = body[id];
    for (const NodeId operand : node.inputs()) changes[id] |= changes[operand];
    if (node.kind == NodeKind::load || node.kind == NodeKind::iota)
      changes[id] = kernel.accesses[node.payload].axes[axis] != AxisClass::broadcast ? 1 : 0;
    if (node.kind == NodeKind::reduce && axis >= static_cast<std::size_t>(kernel.rank - kernel.reduced))
      changes[id] = 0;
    if (node.kind == NodeKind::scan) changes[id] = 1;
  }
  return changes;
}

std::vector<NodeId> row_gathers(const Kernel& kernel, std::size_t axis) {
  const Graph& graph = kernel.body;
  const std::vector<char> changes = changes_along(kernel, axis);
  std::vector<NodeId> found;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.kind != NodeKind::gather || changes[node.operands[gather_displacement]]) continue;
    const Node& affine = graph[node.operands[gather_affine]];
    if (affine.kind == NodeKind::iota && kernel.accesses[affine.payload].axes[axis] == AxisClass::contiguous)
      found.push_back(id);
  }
  return found;
}

Stages stages_of(const Kernel& kernel) {
  const Graph& body = kernel.body;
  Stages stages;
  stages.per_element.resize(body.size(), 0);
  stages.depth.resize(body.size(), 0);
  for (NodeId id = 0; id < body.size(); ++id) {
    const Node& node = body[id];
    for (const NodeId operand : node.inputs()) {
      stages.per_element[id] |= stages.per_element[operand];
      stages.depth[id] = std::max(stages.depth[id], stages.depth[operand]);
    }
    if (node.kind == NodeKind::load || node.kind == NodeKind::iota) {
      stages.per_element[id] = is_per_element(kernel, kernel.accesses[node.payload]) ? 1 : 0;
    } else if (node.kind == NodeKind::scan) {
      stages.per_element[id] = 1;
      stages.scans.push_back(id);
    } else if (node.kind == NodeKind::reduce) {
      stages.per_element[id] = 0;
      const auto pass = static_cast<std::size_t>(stages.depth[id]++);
      if (stages.passes.size() <= pass) stages.passes.resize(pass + 1);
      stages.passes[pass].push_back(id);
    }
  }
  for (std::size_t a = kernel.first_store(); a < kernel.accesses.size(); ++a)
    stages.has_element_outputs = stages.has_element_outputs || is_per_element(kernel, kernel.accesses[a]);
  return stages;
}

}  // namespace kiln::codegen
