// codegen/emit/entry_name.cpp -- names kernels after what they compute.
#include "codegen/emit/entry_name.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "codegen/ir/op_info.h"

namespace kiln::codegen {

std::string entry_name(const Kernel& kernel, const Schedule& schedule) {
  static constexpr const char* forms[] = {"flat",  "rows", "general", "transpose", "serial",
                                          "dense", "row",  "column",  "scan"};
  static constexpr const char* reductions[] = {"sum",     "prod",   "max",    "min",       "any",       "all",
                                               "combine", "argmax", "argmin", "logsumexp", "deviations"};
  std::string name = fmt::format("kiln_{}", forms[static_cast<int>(schedule.form)]);
  std::vector<std::string_view> seen;
  for (NodeId id = kernel.body.size(); id-- > 0 && seen.size() < 4;) {
    const Node& node = kernel.body[id];
    std::string_view operation;
    if (node.kind == NodeKind::operation) operation = kiln::detail::op_info(node.op).name;
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
