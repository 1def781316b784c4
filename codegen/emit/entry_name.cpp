// codegen/emit/entry_name.cpp -- names kernels after what they compute.
#include "codegen/emit/entry_name.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "codegen/ir/op_info.h"

namespace kiln::codegen {

namespace {

/// Nodes whose operations say what a kernel computes: not those that only find where elements lie.
std::vector<char> telling_nodes(const Kernel& kernel) {
  std::vector<char> telling(kernel.body.size(), 0);
  const std::size_t first = kernel.first_store();
  for (std::size_t o = 0; o < kernel.body.outputs.size(); ++o) {
    const bool is_place = first + o < kernel.accesses.size() && kernel.accesses[first + o].places;
    if (!is_place) telling[kernel.body.outputs[o]] = 1;
  }
  for (NodeId id = kernel.body.size(); id-- > 0;) {
    if (telling[id] == 0 || kernel.body[id].kind == NodeKind::gather) continue;
    for (const NodeId operand : kernel.body[id].inputs()) telling[operand] = 1;
  }
  return telling;
}

const char* form_name(const Kernel& kernel, const Schedule& schedule) {
  static constexpr const char* forms[] = {"flat",  "rows",   "general", "transpose", "serial",
                                          "dense", "window", "row",     "column",    "scan"};
  if (schedule.bins > 0) return "bins";
  const std::size_t store = kernel.first_store();
  if (store < kernel.accesses.size() && kernel.accesses[store].scatter != Scatter::none) return "scatter";
  return forms[static_cast<int>(schedule.form)];
}

}  // namespace

std::string entry_name(const Kernel& kernel, const Schedule& schedule) {
  static constexpr const char* reductions[] = {"sum",     "prod",   "max",    "min",       "any",       "all",
                                               "combine", "argmax", "argmin", "logsumexp", "deviations"};
  std::string name = fmt::format("kiln_{}", form_name(kernel, schedule));
  const std::vector<char> telling = telling_nodes(kernel);
  std::vector<std::string_view> seen;
  for (NodeId id = kernel.body.size(); id-- > 0 && seen.size() < 4;) {
    if (telling[id] == 0) continue;
    const Node& node = kernel.body[id];
    std::string_view operation;
    if (node.kind == NodeKind::operation) operation = kiln::detail::op_info(node.op).name;
    if (node.kind == NodeKind::gather) operation = "take";
    if (node.kind == NodeKind::call) operation = kernel.body.function(node).name;
    if (node.kind == NodeKind::reduce || node.kind == NodeKind::scan)
      operation = reductions[static_cast<int>(kernel.body.reduction(node).kind)];
    if (operation.empty() || std::find(seen.begin(), seen.end(), operation) != seen.end()) continue;
    seen.push_back(operation);
    name += fmt::format("_{}", operation);
  }
  return name;
}

}  // namespace kiln::codegen
