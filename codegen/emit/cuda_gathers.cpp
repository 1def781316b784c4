// codegen/emit/cuda_gathers.cpp -- elements found by index: one by one, or a row's as vectors where its index is one.
#include <algorithm>

#include "codegen/emit/cuda_columns.h"
#include "codegen/emit/cuda_row_reduction.h"
#include "codegen/emit/cuda_types.h"
#include "codegen/ir/stages.h"

namespace kiln::codegen::cuda {

/// What stands for an element that does not exist.
std::string Writer::missing_text(std::size_t a) const {
  const DType type = kernel_.accesses[a].type, part = real_of(type);
  std::string value = part == DType::f32 || part == DType::f64
                          ? literal(part, missing_bits(part))
                          : fmt::format("{}({:#x})", storage_type(part), missing_bits(part));
  if (!is_complex(type)) return value;
  return fmt::format("{0}({1}({2}, {2}))", storage(a), type == DType::c64 ? "make_float2" : "make_double2", value);
}

/// The element that gather `id` finds. Nothing is read past the end of the loop, or for an index out of range.
std::string Writer::gather_text(const Graph& graph, NodeId id, const std::vector<std::string>& names) const {
  const Node& node = graph[id];
  const auto a = static_cast<std::size_t>(node.payload);
  const std::string& far = names[node.operands[gather_displacement]];
  std::string condition = fmt::format("{} >= 0", far), at = far;
  if (graph[node.operands[gather_affine]].kind != NodeKind::literal) {
    const std::string& affine = names[node.operands[gather_affine]];
    condition += fmt::format(" && u64({}) <= u64({})", affine, names[node.operands[gather_reach]]);
    at += " + " + affine;
  }
  return fmt::format("{} ? {}[{}] : {}", condition, field(ArgumentKind::pointer, a), at, missing_text(a));
}

void Writer::find_row_gathers(std::size_t axis) {
  for (const NodeId id : row_gathers(kernel_, axis)) {
    const Node& node = kernel_.body[id];
    if (is_underaligned(node.payload)) continue;
    row_gathers_.push_back({id, static_cast<std::size_t>(node.payload),
                            static_cast<std::size_t>(kernel_.body[node.operands[gather_affine]].payload),
                            fmt::format("g{}", row_gathers_.size())});
  }
}

int Writer::gather_width(const RowGather& gather) const {
  const Access& access = kernel_.accesses[gather.access];
  return std::clamp(static_cast<int>(access.alignment) / static_cast<int>(size_of(access.type)), 1, schedule_.vector);
}

/// Names the element at place `at` of what was loaded, for the body.
void Writer::name_row_gathers(const std::string& exists, const std::string& at) {
  for (const RowGather& gather : row_gathers_) {
    row_gather_names_[gather.node] =
        fmt::format("({0}_exists{1} ? {0}{2} : {3})", gather.name, exists, at, missing_text(gather.access));
  }
}

/// The rows that the indices of this thread's row name. Where there is none, nothing of what is read there is used.
void Writer::declare_row_gathers() {
  if (row_gathers_.empty()) return;
  const Graph& graph = kernel_.body;
  std::vector<char> needed(graph.size(), 0);
  for (const RowGather& gather : row_gathers_) needed[graph[gather.node].operands[gather_displacement]] = 1;
  for (NodeId id = graph.size(); id-- > 0;) {
    if (!needed[id]) continue;
    for (const NodeId operand : graph[id].inputs()) needed[operand] = 1;
  }
  std::vector<std::string> names(graph.size());
  int next = 0;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const auto place = [&](std::size_t a) { return is_iota(a) ? pointers_[a] : access_name(a); };
    if (needed[id] && name_node(graph, id, names, fmt::format("r{}", next), place)) ++next;
  }
  const std::string shape =
      (schedule_.items > 1 ? fmt::format("[{}]", schedule_.items) : "") + fmt::format("[{}]", schedule_.vector);
  for (const RowGather& gather : row_gathers_) {
    const std::string& far = names[graph[gather.node].operands[gather_displacement]];
    line("const bool {}_exists = {} >= 0;", gather.name, far);
    line("const {0}* const {1}_row = {2} + (({1}_exists ? {3} : 0) + {4});", storage(gather.access), gather.name,
         field(ArgumentKind::pointer, gather.access), far, pointers_[gather.affine]);
    line("{} {}{};", storage(gather.access), gather.name, shape);
  }
}

/// The current vector of every such row: whole, or its first `count` elements.
void Writer::load_row_gathers(const std::string& count, bool vectors) {
  const std::string position = schedule_.items > 1 ? "j" : "i";
  for (const RowGather& gather : row_gathers_) {
    const std::string to = gather.name + piece(), from = fmt::format("{}_row + {}", gather.name, position);
    if (vectors) {
      line("{}<{}>({}, {});", prelude_.use("read"), gather_width(gather), to, from);
    } else {
      line("{}({}, {}, 1, {});", prelude_.use("gather"), to, from, count);
    }
  }
}

std::vector<Writer::RowGather> ColumnWriter::gathers_below(std::span<const NodeId> roots) const {
  const std::vector<char> needed = below(roots);
  std::vector<RowGather> gathers;
  for (const RowGather& gather : row_gathers_)
    if (needed[gather.node]) gathers.push_back(gather);
  return gathers;
}

/// The same for a batch of rows, each with indices of its own.
void ColumnWriter::load_batch_gathers(const std::vector<RowGather>& gathers, const std::string& beyond) {
  std::vector<NodeId> roots;
  for (const RowGather& gather : gathers) roots.push_back(kernel_.body[gather.node].operands[gather_displacement]);
  for (const RowGather& gather : gathers)
    line("{0} {1}[{2}][{3}] = {{}}; bool {1}_exists[{2}] = {{}};", storage(gather.access), gather.name, schedule_.items,
         schedule_.vector);
  if (schedule_.resident) open("if (last > 0)");
  unrolled("u", schedule_.items);
  line("const int k = 0;  // one index for all columns of the thread");
  line("const {} at = {};", index_, row());
  row_coordinates(beyond + " ? last - 1 : at");
  element_values(roots, [this](std::size_t a) { return element_place(a); });
  for (std::size_t g = 0; g < gathers.size(); ++g) {
    const std::string& far = name(roots[g]);
    line("{}_exists[u] = {} >= 0;", gathers[g].name, far);
    line("{}<{}>({}[u], {} + (({} >= 0 ? {} : 0) + {}));", prelude_.use("read"), gather_width(gathers[g]),
         gathers[g].name, field(ArgumentKind::pointer, gathers[g].access), far, far, element_place(gathers[g].affine));
  }
  close();
  if (schedule_.resident) close();
}

void RowWriter::find_gathered_rows() {
  find_row_gathers(last());
  std::erase_if(row_gathers_, [this](const RowGather& gather) {
    const NodeId far = kernel_.body[gather.node].operands[gather_displacement];
    return !stages_.per_element[gather.node] || stages_.per_element[far];
  });
  name_row_gathers("", "[k]");
}

/// Where there is no such row, nothing of what is read there is used.
void RowWriter::load_gathered_rows(std::span<const NodeId> roots, bool predicated) {
  const std::vector<char> needed = below(roots);
  for (const RowGather& gather : row_gathers_) {
    if (!needed[gather.node]) continue;
    const std::string& far = name(kernel_.body[gather.node].operands[gather_displacement]);
    line("const bool {}_exists = {} >= 0;", gather.name, far);
    line("{} {}[{}];", storage(gather.access), gather.name, schedule_.vector);
    const std::string from =
        fmt::format("{} + (({}_exists ? {} : 0) + ({}))", field(ArgumentKind::pointer, gather.access), gather.name, far,
                    place(gather.affine));
    if (predicated && !schedule_.whole_vectors) {
      line("{0}({1}, {2}, 1, {3} - (j < {3} ? j : {3}));", prelude_.use("gather"), gather.name, from, length());
    } else {
      line("{}<{}>({}, {}{});", prelude_.use(predicated ? "read_if" : "read"), gather_width(gather), gather.name, from,
           predicated ? fmt::format(", j < {}", length()) : "");
    }
  }
}

}  // namespace kiln::codegen::cuda
